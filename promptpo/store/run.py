"""A run and its results: the one object that whatever shows or compares runs reads."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from markupsafe import escape

from promptpo import config
from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.config import RunConfig, flat
from promptpo.errors import RunError, UsageError
from promptpo.llm.messages import BUILTIN
from promptpo.store.codec import decode, score_of
from promptpo.store.evals import KeptEvaluation, load_evaluations
from promptpo.store.events import Event, read_log
from promptpo.store.fold import Fold
from promptpo.store.folder import RunFolder
from promptpo.store.luck import Corrected, corrected
from promptpo.store.trials import Call, Point, RoundRecord, Trial, Usage
from promptpo.types import Candidate, Note, Rollout, Round, Score, best_of

#: The method whose name is left out.
USUAL_METHOD = "promptpo"

#: The status of a run that is going on; "killed" is one that has not ended and that no process has.
LIVE = "running"


class Run(Fold):
    """A run, as its events tell it; ``apply`` takes one event more.

    Attributes:
        folder: where it lies.
        info: ``run.json``; empty where it is missing or cannot be read.
        evaluations: results of ``promptpo eval --keep``, the oldest first.
        unread: a line for each part of its files that cannot be read and is left out here.
        carried: whether a process carries it on.
    """

    def __init__(self, events: Iterable[Event] = (), folder: Path = Path()) -> None:
        self.folder = folder
        self.info: Mapping[str, Any] = {}
        self.evaluations: tuple[KeptEvaluation, ...] = ()
        self.unread: tuple[str, ...] = ()
        self.carried = False
        self._rounds: tuple[RoundRecord, ...] | None = None
        self._corrected: Mapping[str, Corrected] | None = None
        super().__init__(events)

    def apply(self, event: Event) -> None:
        """Take note of one event, transient ones included."""
        super().apply(event)
        self._rounds = self._corrected = None

    # What it was set to.

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the latest session by their names, the method's own among them.

        ``facts`` is one of them only where the spec states facts.
        """
        settings = flat(self.configs[-1]) if self.configs else {}
        if not self._spec.get("facts"):
            settings.pop("facts", None)
        return settings

    @property
    def config(self) -> RunConfig:
        """The same as a record. Raises RunError for those of another version."""
        settings = flat(self.configs[-1]) if self.configs else {}
        general = {
            name: settings.pop(name) for name in config.fields(RunConfig) if name in settings
        }
        try:
            return RunConfig(**general, options=SimpleNamespace(**settings))
        except UsageError as e:
            raise RunError(f"{self.folder}: {e}; `settings` has them as they are written") from None

    @property
    def _spec(self) -> Mapping[str, Any]:
        spec: Mapping[str, Any] = self.header.get("spec", {})
        return spec

    @property
    def spec(self) -> str:
        """Name of the task."""
        return str(self._spec.get("name") or self.folder.parent.name)

    @property
    def name(self) -> str:
        """The name that it was given; empty where it has none."""
        return clean_line(str(self.settings.get("name") or ""))[:80]

    @property
    def label(self) -> str:
        """Its name in quotes, and its tags, each after a #; empty where it has neither."""
        words = clean_line(str(self.settings.get("tags") or ""))[:200].split(",")
        tags = [f"#{word.strip()}" for word in words if word.strip()]
        return " ".join([f"'{self.name}'"] * bool(self.name) + tags)

    @property
    def twin_of(self) -> str:
        """Name of the task that this one is a twin of; empty for all others."""
        return str(self._spec.get("twin_of") or "")

    @property
    def title(self) -> str:
        """The task in one line."""
        return str(self._spec.get("title") or "")

    @property
    def references(self) -> dict[str, Score]:
        """Scores of known behaviours on the task."""
        references = self._spec.get("references") or {}
        return {name: score_of(value) for name, value in references.items()}

    @property
    def facts_withheld(self) -> bool:
        """True where the spec states facts of the body and no prompt contains them."""
        return self.settings.get("facts") is False

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self.settings.get("method") or "")

    @property
    def model(self) -> str:
        """The model's name; empty for a method that asks none."""
        return str(self.settings.get("model") or "")

    @property
    def asks_model(self) -> bool:
        """True where a language model is asked, or was."""
        return bool(self.model or self.replies)

    @property
    def replayed(self) -> bool:
        """True where replies come from a recording, so that no model is paid."""
        return self.model.partition(":")[0] == "recorded"

    @property
    def synthesized(self) -> bool:
        """True where the builtin synthesizer answers, and no language model."""
        return self.model == BUILTIN

    @property
    def policy_file(self) -> str:
        """The file of the policy that stands for a model's reply; empty where there is none."""
        kind, _, path = self.model.partition(":")
        return path if kind == "file" else ""

    @property
    def made_by(self) -> str:
        """The method, unless it is the usual one, the model, and whether facts were withheld."""
        method = self.method if self.method != USUAL_METHOD else ""
        synthesized = "no language model: builtin synthesizer" if self.synthesized else ""
        facts = "without facts" if self.facts_withheld else ""
        model = Path(self.policy_file).name or synthesized or self.model
        return " · ".join(filter(None, (method, model, facts)))

    # How it stands.

    @property
    def status(self) -> str:
        """ "running", "finished", "stopped", "interrupted", "failed", or "killed"."""
        status = str(self.info.get("status") or (self.finished or {}).get("status") or LIVE)
        return "killed" if status == LIVE and not self.carried else status

    @property
    def is_over(self) -> bool:
        """True once it came to its own end or a limit, so that its best stays what it is."""
        return self.status in ("finished", "stopped")

    @property
    def reason(self) -> str:
        """Why it ended, in a phrase; empty where it has not."""
        return str(self.info.get("reason") or (self.finished or {}).get("reason") or "")

    @property
    def elapsed(self) -> float:
        """Seconds that the run took; of one that goes on, up to now."""
        if self.status == LIVE:
            return max(self.seconds, time.time() - self.latest + self.seconds)
        return float(self.info["seconds"]) if self.info.get("ended") else self.seconds

    @property
    def usage(self) -> Usage:
        """Calls, tokens, dollars and environment steps of all its sessions."""
        return self.reported_usage or self.tally.usage

    @property
    def awaited(self) -> tuple[Call, ...]:
        """The calls of rounds under way to which no reply has come."""
        return tuple(
            call
            for key, call in self.calls.items()
            if call.reply is None and key.round not in self.ends and key not in self.refused
        )

    @property
    def cost_words(self) -> str:
        """``12 calls, 34,120 (20,000 cached) + 8,200 tokens, $0.12``."""
        usage = self.usage
        if self.replayed or self.synthesized:
            noun = "reply" if usage.calls == 1 else "replies"
            by = "replayed" if self.replayed else "by the synthesizer"
            return f"{usage.calls:,} {noun} {by}, no tokens, {text.money(0.0)}"
        tokens = "tokens unknown"
        if usage.has_tokens:
            cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
            tokens = f"{usage.prompt_tokens:,}{cached} + {usage.completion_tokens:,} tokens"
        return f"{text.plural(usage.calls, 'call')}, {tokens}, {text.money(usage.cost)}"

    # Candidates and rounds.

    @property
    def probes(self) -> tuple[Trial, ...]:
        """The trials before the first round, which show what happens without a policy."""
        return tuple(t for t in self.trials.values() if not t.key.round)

    @property
    def policies(self) -> tuple[Trial, ...]:
        """The trials of all rounds, in the order in which they were begun."""
        return tuple(t for t in self.trials.values() if t.key.round)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The candidates that were scored or failed, those of a round under way included."""
        return tuple(t.candidate for t in self.policies if t.ended)

    @property
    def round_records(self) -> tuple[RoundRecord, ...]:
        """All rounds that have begun, in order, with their trials."""
        if self._rounds is None:
            begun = sorted(self.policies, key=lambda t: t.key)
            groups = groupby(begun, key=lambda t: t.key.round)
            self._rounds = tuple(self._round(number, tuple(group)) for number, group in groups)
        return self._rounds

    def _round(self, number: int, trials: tuple[Trial, ...]) -> RoundRecord:
        end = self.ends.get(number)
        return RoundRecord(
            number=number,
            trials=trials,
            done=end is not None,
            winner=self.trials.get(end["winner"]) if end and end["score"] else None,
            notes=decode(tuple[Note, ...], end["notes"]) if end else (),
            calls=self.shared_calls(number),
        )

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds that have ended; where all failed, the winner is the best of those."""
        rounds = []
        for r in self.round_records:
            if r.done:
                candidates = tuple(trial.candidate for trial in r.trials)
                winner = r.winner.candidate if r.winner is not None else best_of(candidates)
                rounds.append(Round(r.number, candidates, winner, r.notes))
        return tuple(rounds)

    @property
    def corrected(self) -> Mapping[str, Corrected]:
        """Search scores without the luck of each round's episodes, by candidate, where known."""
        if self._corrected is None:
            self._corrected = corrected(self.candidates)
        return self._corrected

    @property
    def rounds_so_far(self) -> tuple[Round, ...]:
        """The rounds that have ended, and of the one under way the candidates that have."""
        rounds = list(self.rounds)
        for r in self.round_records[len(rounds) :]:
            if candidates := tuple(t.candidate for t in r.trials if t.ended):
                rounds.append(Round(r.number, candidates, best_of(candidates)))
        return tuple(rounds)

    def shared_calls(self, round_: int) -> tuple[Call, ...]:
        """Return the calls of a round (0: before the first) that belong to no single candidate."""
        return tuple(c for k, c in self.calls.items() if (k.round, k.candidate) == (round_, 0))

    def folder_of(self, trial: Trial) -> str:
        """Return the name of the candidate in whose folder a trial's search episodes are."""
        played = self.played_by.get(trial.digest)
        return played.name if played else trial.name

    # Its result.

    @property
    def best_so_far(self) -> tuple[str, Score] | None:
        """The best candidate by search score once the last round was done, and that score."""
        best = self.ends.get(self.rounds_done, {}).get("best") or {}
        return (best["name"], score_of(best["score"])) if best.get("score") else None

    @property
    def best_name(self) -> str | None:
        """The name of the run's policy, so far or in the end; None where no candidate ran."""
        if test := self._test_event or self._test_played:
            return str(test["name"])
        finished, selection = self.finished or {}, self.selection or {}
        so_far = self.best_so_far
        return finished.get("best") or selection.get("winner") or (so_far[0] if so_far else None)

    @property
    def best_trial(self) -> Trial | None:
        """The trial of the run's policy."""
        return self.trials.get(self.best_name or "")

    @property
    def best(self) -> Candidate | None:
        """The run's policy, so far or in the end; None where no candidate ran."""
        return self.best_trial.candidate if self.best_trial is not None else None

    @property
    def policy(self) -> str | None:
        """The source of ``best``."""
        return self.best.source if self.best is not None else None

    @property
    def best_score(self) -> Score | None:
        """The search score of ``best``."""
        if (trial := self.best_trial) is not None and trial.ended:
            return trial.score
        so_far = self.best_so_far
        if so_far and so_far[0] == self.best_name:
            return so_far[1]
        score = (self.finished or {}).get("score")
        return score_of(score) if score and self.best_name else None

    @property
    def test(self) -> Rollout | None:
        """The held-out episodes of ``best``; None where there are none."""
        test = self._test_event or self._test_played
        return self.rollouts.get(test["digest"]) if test else None

    @property
    def evidence(self) -> Rollout | None:
        """The episodes behind the score of ``best``, wherever that is shown.

        Held-out ones, else those of the selection that chose it, else all of its search.
        """
        if self.test is not None or self.best is None:
            return self.test
        if (self.selection or {}).get("winner") == self.best.name:
            played = [
                run for of, run in self.rollouts.items()
                if run.stream == "selection" and self.played_by[of].name == self.best.name
            ]  # fmt: skip
            if played:
                return Rollout.pooled(played)
        return self.best.pooled

    def score_rows(self) -> list[tuple[str, str]]:
        """Return the score of ``best`` as labelled lines, with the episodes that it is of."""
        run = self.evidence
        if run is not None and run.stream == "test":
            return text.held_out_rows(run)
        score = self.best_score if run is None else run.score
        if score is None or score.failed:
            return []
        count = f"{text.plural(len(run.whole), 'episode')}; " if run is not None else ""
        label = "search" if run is None else run.stream
        return [(label, f"{score}  ({count}no held-out episodes played)")]

    @property
    def held_out(self) -> Rollout | None:
        """The same, where none of them failed."""
        test = self.test
        return None if test is None or test.error is not None or not test.returns else test

    @property
    def points(self) -> tuple[Point, ...]:
        """Its learning curve, by corrected scores.

        It has a point for each candidate that got through its episodes.
        """
        best, points = Score(failed=True), []
        scored = [trial for trial in self.trials.values() if not trial.score.failed]
        for trial in sorted(scored, key=lambda t: (t.at_steps, t.at.calls)):
            score = trial.score
            if (own := self.corrected.get(trial.name)) is not None:
                score = replace(score, mean_return=own.mean)
            best = max(best, score)
            points.append(Point(trial.at_steps, trial.at.calls, trial.at.cost, best))
        return tuple(points)

    # In short.

    def __repr__(self) -> str:
        parts = [self.status]
        if self.best is not None:
            parts.append(self.best.name)
            if (run := self.evidence) is not None:
                stream = "held-out" if run.stream == "test" else run.stream
                parts.append(f"{run.score} in {text.plural(len(run.seeds), f'{stream} episode')}")
        return f"<Run {text.near_path(self.folder)}: {', '.join(parts)}>"

    def __str__(self) -> str:
        return "\n".join(f"{label:11}  {words}" for label, words in self.rows())

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(label)}</td>"
            f'<td style="text-align: left">{escape(clean_line(words))}</td></tr>'
            for label, words in self.rows()
        )
        code = f"<pre><code>{escape(self.policy)}</code></pre>" if self.policy else ""
        policy = f"<details><summary>the policy</summary>{code}</details>" if code else ""
        return f"<table><tbody>{rows}</tbody></table>{policy}"

    def rows(self) -> list[tuple[str, str]]:
        """Return its result, its usage and why it ended, as labelled lines."""
        name, scores = self.best_name, self.score_rows()
        if name is None or not scores:
            rows = [("best policy", "none: no candidate has got through its episodes")]
        else:
            file = self.folder / "best" / "policy.py"
            place = text.near_path(file) if file.is_file() else "not written yet"
            rows = [("best policy", f"{place}  ({name})")]
            rows += scores
        rows += text.reference_rows(self.references)
        if self.reported_usage is not None or self.usage.calls or any(self.usage.steps.values()):
            if self.asks_model and not self.policy_file:
                rows.append(("cost", self.cost_words))
            rows.append(("env steps", text.steps(self.usage.steps)))
        if self.preparations:
            count = len({key.name for key in self.prepared_by.values()})
            seconds = sum(done.seconds for done in self.preparations.values())
            words = f"{text.plural(count, 'candidate')}, {seconds:.3g} s of computing"
            rows.append(("prepare", words))
        tables = [by_round[max(by_round)] for by_round in self.tables.values()]
        rows += [(table.title.lower(), table.text) for table in tables if table.text]
        page = self.folder / "report.html"
        if page.is_file():
            rows.append(("report", text.near_path(page)))
        return [*rows, ("ended", self.reason)] if self.reason else rows


def load_run(path: str | PathLike[str]) -> Run:
    """Return the run in a folder, finished or not; nothing is written.

    Raises RunError where there is no run, or one of another format, FileError where its log cannot
    be read.
    """
    folder = RunFolder.open(Path(path))
    contents = read_log(folder.events)
    run = Run(contents.events, folder.path.resolve())
    run.carried = folder.is_running
    problems = [contents.words(folder.events.name)]
    try:
        run.info = folder.read_info()
    except RunError as e:
        problems.append(f"{e}; this is from the log")
    if not run.header and run.info.get("config"):  # the first event is lost: run.json has its data
        spec = {**run.info, "name": run.info.get("spec", ""), "sha": ""}
        run.header = {**run.info, "spec": spec}
        run.configs = run.configs or [run.info["config"]]
    if not run.header:  # killed before its first line was whole
        raise contents.unbegun(folder.events)
    remedy = f"`promptpo --resume {folder.path}` sets it aside and does again what is lost"
    run.evaluations, damaged = load_evaluations(run.folder)
    run.unread = (*(f"{words}; {remedy}" for words in problems if words), *damaged)
    return run
