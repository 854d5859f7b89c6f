"""The rounds of a run, ready to show: tables, sources, diffs, plots and texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from markupsafe import Markup

from promptpo.report import texts
from promptpo.report.code import DiffRow, highlighted, side_by_side
from promptpo.report.records import RoundRecord, RunRecord, Trial
from promptpo.report.tables import Table, headline, trials_table
from promptpo.report.texts import Text
from promptpo.report.traces import FEWEST_POINTS, MOST_POINTS, Trace, Traces, read_traces
from promptpo.store.folder import RunFolder

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
    """A candidate and its texts."""

    trial: Trial
    words: str
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class RoundView:
    """A round, ready to show. ``before`` names the winner that ``diff`` compares with."""

    record: RoundRecord
    table: Table
    trials: tuple[TrialView, ...]
    texts: tuple[Text, ...]
    headline: str = ""
    strategy: str = ""
    source: tuple[Markup, ...] = ()
    before: str = ""
    diff: tuple[DiffRow, ...] = ()
    traces: Traces | None = None
    plots: tuple[Trace, ...] = ()


def round_views(run: RunRecord, budget: Budget, room: int, prefix: str) -> list[RoundView]:
    """All rounds, in order; no text longer than ``room``, ids beginning with ``prefix``."""
    traces = _traces(run)
    lines = sum(found.lines for found in traces.values() if found)
    points = budget.plots // (_BYTES_PER_POINT * max(lines, 1))
    points = min(max(points, FEWEST_POINTS), MOST_POINTS)
    sources = max(budget.sources // (_BYTES_PER_CHARACTER * max(len(run.rounds), 1)), 2000)
    views = []
    before: Trial | None = None
    for record in run.rounds:
        view = _view(run, record, room, prefix)
        if record.winner is not None:
            view = _with_source(view, record.winner, before, sources)
            found = traces.get(record.number)
            plots = tuple(found.plots(points)) if found else ()
            view = replace(view, traces=found, plots=plots)
        views.append(replace(view, headline=_round_words(record, before)))
        before = record.winner or before
    return views


def _view(run: RunRecord, record: RoundRecord, room: int, prefix: str) -> RoundView:
    return RoundView(
        record=record,
        table=trials_table(run, record, prefix),
        trials=tuple(_trial(t, room) for t in record.trials),
        texts=tuple(t.within(room) for t in texts.round_texts(record)),
    )


def _trial(trial: Trial, room: int) -> TrialView:
    found = tuple(t.within(room) for t in texts.trial_texts(trial))
    return TrialView(trial, headline(trial.candidate), found)


def _with_source(view: RoundView, winner: Trial, before: Trial | None, limit: int) -> RoundView:
    """The winner's source, and what has changed since the winner ``before``."""
    source = _source(winner, limit)
    diff: tuple[DiffRow, ...] = ()
    if before is not None and before.candidate.source != winner.candidate.source:
        diff = side_by_side(_source(before, limit), source)
    return replace(
        view,
        strategy=texts.strategy(winner.candidate.source),
        source=highlighted(source),
        before=before.name if before else "",
        diff=diff,
    )


def _source(trial: Trial, limit: int) -> str:
    source = trial.candidate.source or ""
    if len(source) <= limit:
        return source
    return source[:limit] + f"\n# ... cut: candidates/{trial.name}/policy.py has all of it"


def _traces(run: RunRecord) -> Mapping[int, Traces | None]:
    folder = RunFolder(run.folder)
    winners = {r.number: r.winner for r in run.rounds if r.winner}
    return {n: read_traces(folder, w.name, run.fields) for n, w in winners.items()}


def _round_words(record: RoundRecord, before: Trial | None) -> str:
    if not record.done:
        done = sum(t.ended for t in record.trials)
        return f"under way: {done} of {len(record.trials)} candidates are done"
    if record.winner is None:
        return "no candidate got through its episodes"
    return (
        f"{record.winner.name} wins, {headline(record.winner.candidate)}{_change(record, before)}"
    )


def _change(record: RoundRecord, before: Trial | None) -> str:
    """How the winner compares with the one before it; they met different episodes."""
    if before is None or record.winner is None:
        return ""
    new, old = record.winner.score, before.score
    if new == old:
        return f"; the same as {before.name}"
    return f"; {'better' if new > old else 'worse'} than {before.name}"
