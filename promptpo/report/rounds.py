"""The rounds of a run, ready to show: tables, sources, diffs, plots and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from promptpo.policies import CoverageRun
from promptpo.prompts.history import SECOND
from promptpo.report import texts
from promptpo.report.code import DiffRow, highlighted, side_by_side
from promptpo.report.coverage import Coverage, SourceLine, covered
from promptpo.report.others import OtherView, best_after, others
from promptpo.report.standings import paired_words
from promptpo.report.tables import Table, headline
from promptpo.report.texts import Text, kind_words
from promptpo.report.traces import (
    FEWEST_POINTS,
    MOST_POINTS,
    Trace,
    Traces,
    read_traces,
)
from promptpo.report.trials import trials_table
from promptpo.report.variables import field_columns
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run
from promptpo.store.standings import meeting
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Note

#: A coloured source and its two sides of a diff take about this many bytes for a character.
_BYTES_PER_CHARACTER = 20

#: Bytes of one point of a line in a plot.
_BYTES_PER_POINT = 5


@dataclass(frozen=True)
class Budget:
    """Bytes that the parts of a page may take; see ``page`` for the whole."""

    texts: int
    sources: int
    plots: int

    def shared(self, parts: int) -> Budget:
        """The same for each of ``parts`` parts."""
        return Budget(self.texts // parts, self.sources // parts, self.plots // parts)


@dataclass(frozen=True)
class TrialView:
    """A candidate, its score and what it is in words, and its texts."""

    trial: Trial
    words: str
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class NoteView:
    """A note, or several with one title and a number each; ``by`` says who wrote them."""

    title: str
    texts: tuple[str, ...]
    by: str = ""


@dataclass(frozen=True)
class RoundView:
    """A round, ready to show. ``before`` names the winner that ``diff`` compares with.

    ``second`` names the second line of attack that was found after it, with its strategy.
    """

    record: RoundRecord
    table: Table
    trials: tuple[TrialView, ...]
    texts: tuple[Text, ...]
    notes: tuple[NoteView, ...] = ()
    feedback: NoteView | None = None
    described: tuple[Note, ...] = ()
    others: tuple[OtherView, ...] = ()
    second: tuple[str, str] = ("", "")
    met: str = ""
    headline: str = ""
    strategy: str = ""
    source: tuple[SourceLine, ...] = ()
    coverage: Coverage | None = None
    before: str = ""
    diff: tuple[DiffRow, ...] = ()
    traces: Traces | None = None
    plots: tuple[Trace, ...] = ()
    traced: tuple[Trace, ...] = ()

    @property
    def kept_of(self) -> str:
        """How many of the winner's episodes were kept, where it is not all of them."""
        winner = self.record.winner
        rollout = winner.candidate.pooled if winner else None
        if rollout is None or self.traces is None or self.traces.kept >= len(rollout.seeds):
            return ""
        return f", of {self.traces.kept} kept of {len(rollout.seeds)}"


def round_views(run: Run, budget: Budget, room: int, prefix: str) -> list[RoundView]:
    """All rounds, in order; no text longer than ``room``, ids beginning with ``prefix``."""
    traces = _traces(run)
    lines = sum(found.lines for found in traces.values() if found)
    points = budget.plots // (_BYTES_PER_POINT * max(lines, 1))
    points = min(max(points, FEWEST_POINTS), MOST_POINTS)
    sources = max(budget.sources // (_BYTES_PER_CHARACTER * max(len(run.round_records), 1)), 2000)
    differences = max(budget.sources // (2 * max(len(run.policies), 1)), 3000)
    views = []
    before: Trial | None = None
    for record in run.round_records:
        view = _view(run, record, room, prefix)
        if record.winner is not None:
            view = _with_source(view, record.winner, before, sources)
            view = _with_coverage(view, record.winner, _coverage(run, record.winner))
            found = traces.get(record.number)
            plots = tuple(found.plots(points)) if found else ()
            own = tuple(found.traced_plots(points)) if found else ()
            view = replace(view, traces=found, plots=plots, traced=own)
        view = replace(view, others=others(run, record, differences))
        views.append(replace(view, headline=_round_words(run, record, before)))
        before = record.winner or before
    return views


def _view(run: Run, record: RoundRecord, room: int, prefix: str) -> RoundView:
    feedback = _feedback(run, record)
    notes = [*_grouped(tuple(n for n in record.notes if n.title != SECOND))]
    return RoundView(
        record=record,
        table=trials_table(run, record, prefix),
        trials=tuple(_trial(t, room) for t in record.trials if texts.has_details(run, t)),
        texts=tuple(t.within(room) for t in texts.round_texts(record)),
        notes=tuple(n for n in notes if feedback is None or n.texts != feedback.texts),
        feedback=feedback,
        described=record.winner.candidate.notes if record.winner else (),
        second=_second(run, record),
        met=_met(run, record),
    )


def _second(run: Run, record: RoundRecord) -> tuple[str, str]:
    """The second line of attack, and its strategy."""
    named = next((note.text for note in record.notes if note.title == SECOND), "")
    trial = run.trials.get(named)
    return (named, texts.strategy(trial.candidate.source)) if trial else ("", "")


def _met(run: Run, record: RoundRecord) -> str:
    """Whom the round's candidates met on the same episodes."""
    found = next((m for t in record.trials if (m := meeting(run, t)) is not None), None)
    if found is None:
        return ""
    return (
        f"All met {found.incumbent.name}, the best before them, on the same fresh episodes:"
        " differences are means over pairs ± standard errors, and better or worse is what lies"
        " beyond noise (95%). Scores pool all search episodes that a policy has played."
    )


def _grouped(notes: tuple[Note, ...]) -> Iterator[NoteView]:
    """Notes whose titles differ in their number only, such as those of episodes, together."""
    for _, group in groupby(notes, lambda note: re.sub(r" *[0-9]+$", "", note.title)):
        first, *others = group
        last = re.search("[0-9]+$", others[-1].title) if others else None
        title = f"{first.title} to {last[0]}" if last else first.title
        yield NoteView(title, tuple(note.text for note in (first, *others)))


def _feedback(run: Run, record: RoundRecord) -> NoteView | None:
    """Those of the notes that a Feedback class made of the winner's episodes."""
    written = run.feedback.get(record.winner.name) if record.winner else None
    if record.winner is None or written is None or not written.texts:
        return None
    by = "the built-in summary" if written.by == "built-in" else "by the model's own class"
    noted = {note.text for note in record.notes}
    if not noted.issuperset(written.texts):
        return None
    return NoteView(f"Feedback on {record.winner.name}", written.texts, by)


def _trial(trial: Trial, room: int) -> TrialView:
    found = tuple(t.within(room) for t in texts.trial_texts(trial))
    score = headline(trial) if trial.ended else "under way"
    return TrialView(trial, ", ".join(filter(None, (kind_words(trial), score))), found)


def _with_source(view: RoundView, winner: Trial, before: Trial | None, limit: int) -> RoundView:
    """The winner's source, and what has changed since the winner ``before``."""
    source = _source(winner, limit)
    diff: tuple[DiffRow, ...] = ()
    if before is not None and before.candidate.source != winner.candidate.source:
        diff = side_by_side(_source(before, limit), source)
    return replace(
        view,
        strategy=texts.strategy(winner.candidate.source),
        source=tuple(map(SourceLine, highlighted(source))),
        before=before.name if before else "",
        diff=diff,
    )


def _with_coverage(view: RoundView, winner: Trial, run: CoverageRun | None) -> RoundView:
    """How often the lines of the winner's source ran, where that was counted."""
    html = [line.html for line in view.source]
    source, coverage = covered(html, winner.candidate.source or "", run)
    return replace(view, source=source, coverage=coverage)


def _coverage(run: Run, trial: Trial) -> CoverageRun | None:
    """Of equal policies the first one's."""
    return run.coverage_of.get(trial.name) or run.coverage_of.get(run.folder_of(trial))


def _source(trial: Trial, limit: int) -> str:
    source = trial.candidate.source or ""
    if len(source) <= limit:
        return source
    return source[:limit] + f"\n# ... cut: candidates/{trial.name}/policy.py has all of it"


def _traces(run: Run) -> Mapping[int, Traces | None]:
    folder, fields = RunFolder(run.folder), field_columns(run.header)
    winners = {r.number: run.folder_of(r.winner) for r in run.round_records if r.winner}
    return {number: read_traces(folder, name, fields) for number, name in winners.items()}


def _round_words(run: Run, record: RoundRecord, before: Trial | None) -> str:
    if not record.done:
        done = sum(t.ended for t in record.trials)
        return f"under way: {done} of {len(record.trials)} candidates are done"
    if record.winner is None:
        return "no candidate got through its episodes"
    words = f"{record.winner.name} wins, {headline(record.winner)}"
    words += _change(run, record.winner, before)
    best = best_after(run, record)
    if best is None or best is record.winner:
        return words
    return f"{words}; {best.name} stays the best so far"


def _change(run: Run, winner: Trial, before: Trial | None) -> str:
    """How a winner compares with the best before it where they have met, else with the last."""
    if winner.candidate.parents and winner.candidate.kind == "policy":
        return f"; the same text as {winner.candidate.parents[0]}"
    if (met := meeting(run, winner)) is not None:
        return f"; against {met.incumbent.name}: {paired_words(met.difference)}"
    if before is None:
        return ""
    new, old = winner.score, before.score
    if new == old:
        return f"; the same score as {before.name}"
    return f"; {'higher' if new > old else 'lower'} than {before.name}, on its own episodes"
