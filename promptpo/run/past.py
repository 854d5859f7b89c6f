"""A run that lies in a folder, as one object: what it was set to, what it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from promptpo.config import RunConfig, flat
from promptpo.errors import RunError, UsageError
from promptpo.run.settings import build, without_removed
from promptpo.store.evals import KeptEvaluation
from promptpo.store.reading import RunRecord, read_record
from promptpo.store.tally import Usage
from promptpo.types import Candidate, Rollout, Round, Score, best_of
from promptpo.ui import results


@dataclass(frozen=True, repr=False)
class Run:
    """A run as its folder tells it, at any moment; nothing is written.

    Attributes:
        folder: where it lies.
        spec: name of the task; ``title`` says it in one line.
        status: "running", "finished", "stopped" (by a limit), "interrupted", "failed", or "killed".
        reason: why it ended, in a phrase; empty while it goes on.
        settings: what it was set to, by the names of the options; of the latest session.
        rounds: the rounds that have ended.
        candidates: all candidates so far, those of a round under way included.
        best: the policy that stands, so far or in the end; None where no candidate ran.
        test: the held-out episodes of ``best``; None where there are none.
        usage: calls, tokens, dollars and environment steps of all sessions.
        references: what known behaviours score on the task.
        evaluations: what ``promptpo eval --keep`` found since, the oldest first.
        unread: what could not be read of its files and is left out here, a line each.
        record: all else that is known: model calls, attempts, notes, spending over time.
    """

    folder: Path
    spec: str
    title: str
    status: str
    reason: str
    settings: Mapping[str, object]
    rounds: tuple[Round, ...]
    candidates: tuple[Candidate, ...]
    best: Candidate | None
    test: Rollout | None
    usage: Usage
    references: Mapping[str, Score]
    evaluations: tuple[KeptEvaluation, ...]
    unread: tuple[str, ...]
    record: RunRecord = field(compare=False)

    @property
    def config(self) -> RunConfig:
        """The settings as a record, without options that are gone.

        Raises RunError for those of another version.
        """
        try:
            return build(without_removed(flat(self.settings)))
        except UsageError as e:
            raise RunError(f"{self.folder}: {e}; `settings` has them as they are written") from None

    @property
    def policy(self) -> str | None:
        """The source of ``best``."""
        return self.best.source if self.best is not None else None

    def __str__(self) -> str:
        return "\n".join(f"{label:11}  {words}" for label, words in results.rows(self))

    def __repr__(self) -> str:
        return f"<Run {results.words(self)}>"

    def _repr_html_(self) -> str:
        return results.page(self)


def load_run(path: str | PathLike[str]) -> Run:
    """The run in a folder, finished or not, of this version or an older one.

    Raises RunError where there is no run, FileError where its log cannot be read.
    """
    record = read_record(Path(path))
    trial = record.best_trial
    return Run(
        folder=record.folder,
        spec=record.spec,
        title=record.title,
        status=record.status,
        reason=record.reason,
        settings=record.settings,
        rounds=tuple(_rounds(record)),
        candidates=tuple(t.candidate for t in record.policies if t.ended),
        best=trial.candidate if trial is not None else None,
        test=record.held_out,
        usage=record.usage,
        references=record.references,
        evaluations=record.evaluations,
        unread=record.unread,
        record=record,
    )


def _rounds(record: RunRecord) -> list[Round]:
    """The rounds that have ended; of one without a winner, the best of those that failed."""
    found = []
    for r in record.rounds:
        if r.done:
            candidates = tuple(trial.candidate for trial in r.trials)
            winner = r.winner.candidate if r.winner is not None else best_of(candidates)
            found.append(Round(r.number, candidates, winner, r.notes))
    return found
