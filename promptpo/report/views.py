"""What the templates show: a run turned into words, tables, plots and lines of source."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup

from promptpo.report import texts
from promptpo.report.code import DiffRow, highlighted, side_by_side
from promptpo.report.curve_chart import curve_chart, panels
from promptpo.report.facts import Fact, facts, settings
from promptpo.report.records import RoundRecord, RunRecord, Trial
from promptpo.report.score_chart import Mark, return_marks, score_chart, success_marks
from promptpo.report.tables import Table, headline, selection_table, trials_table
from promptpo.report.texts import Text
from promptpo.report.traces import FEWEST_POINTS, MOST_POINTS, Trace, Traces, read_traces
from promptpo.store.folder import RunFolder
from promptpo.ui import text

#: Widths of the charts, in CSS pixels, for a wide screen and for a phone.
WIDE, NARROW = 952, 360


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
class Charts:
    """One chart for a wide screen and for a phone."""

    wide: Markup
    narrow: Markup


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
    headline: str
    table: Table
    trials: tuple[TrialView, ...]
    texts: tuple[Text, ...]
    strategy: str = ""
    source: tuple[Markup, ...] = ()
    before: str = ""
    diff: tuple[DiffRow, ...] = ()
    traces: Traces | None = None
    plots: tuple[Trace, ...] = ()


@dataclass(frozen=True)
class Video:
    """A video's name and address."""

    name: str
    src: str


class RunView:
    """A run, ready to show.

    ``prefix`` keeps element ids of several runs apart; ``page`` is the folder that the page lies
    in (None: the run's own), from which videos are addressed.
    """

    def __init__(
        self,
        run: RunRecord,
        budget: Budget,
        *,
        prefix: str = "",
        page: Path | None = None,
        inline_videos: bool = False,
    ) -> None:
        self.run = run
        self.prefix = prefix
        self._budget = budget
        self._page = page or run.folder
        self._inline_videos = inline_videos

    @cached_property
    def facts(self) -> list[Fact]:
        """The tiles at the top."""
        return facts(self.run)

    @cached_property
    def settings(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """How the run was made, by group."""
        return settings(self.run)

    @cached_property
    def best_strategy(self) -> str:
        """What the best policy says of itself."""
        best = self.run.best_trial
        return texts.strategy(best.candidate.source) if best else ""

    @cached_property
    def score_words(self) -> list[tuple[str, str, str]]:
        """The held-out score: number, what it is, how sure."""
        test = self.run.test
        if test is None or test.error is not None:
            return []
        shown = []
        for words in (text.success_words(test.successes), text.return_words(test.returns)):
            name, _, rest = words.partition(" ")
            if name == "mean":
                name, rest = "mean return", rest.removeprefix("return ")
            number, _, sure = rest.partition(" ")
            label = "success rate" if name == "success" else name
            shown += [(number.rstrip(","), label, sure)] if words else []
        return shown

    @cached_property
    def score_charts(self) -> list[Charts]:
        """The held-out score beside the reference values."""
        test = self.run.test
        if test is None or test.error is not None:
            return []
        references = self.run.references
        rates, returns = success_marks(test, references), return_marks(test, references)
        charts = []
        if rates:
            charts.append(_score_charts(rates, "Success rate on held-out episodes", (0.0, 1.0)))
        if returns:
            charts.append(_score_charts(returns, "Mean return on held-out episodes", None))
        return charts

    @cached_property
    def curves(self) -> list[tuple[str, Charts]]:
        """The learning curves by name."""
        if not any(t.ended for t in self.run.trials):
            return []
        return [
            (
                p.title,
                Charts(
                    curve_chart(self.run, p, width=WIDE, height=320),
                    curve_chart(self.run, p, width=NARROW, height=280),
                ),
            )
            for p in panels(self.run)
        ]

    @cached_property
    def selection(self) -> Table | None:
        """How the winners of the rounds met again."""
        return selection_table(self.run)

    @cached_property
    def opening(self) -> list[Text]:
        """The calls before the first round."""
        found = [t for call in self.run.opening for t in texts.call_texts(call)]
        return [t.within(self._room) for t in found]

    @cached_property
    def videos(self) -> list[Video]:
        """Beside the page, or inside it."""
        return [Video(v.stem.replace("_", " "), self._video(v)) for v in self.run.videos]

    @cached_property
    def policy_link(self) -> str:
        """Address of the exported policy; empty where there is none."""
        file = self.run.folder / "best" / "policy.py"
        return self._address(file) if file.is_file() else ""

    @cached_property
    def rounds(self) -> list[RoundView]:
        """All rounds, in order."""
        views = []
        before: Trial | None = None
        traces = self._traces
        lines = sum(t.lines for t in traces.values() if t)
        points = self._budget.plots // (5 * max(lines, 1))
        points = min(max(points, FEWEST_POINTS), MOST_POINTS)
        for record in self.run.rounds:
            view = self._round(record, before)
            found = traces.get(record.number)
            if found:
                view = replace(view, traces=found, plots=tuple(found.plots(points)))
            views.append(view)
            before = record.winner or before
        return views

    def _round(self, record: RoundRecord, before: Trial | None) -> RoundView:
        winner = record.winner
        view = RoundView(
            record=record,
            headline=_round_words(record, before),
            table=trials_table(self.run, record, self.prefix),
            trials=tuple(self._trial(t) for t in record.trials),
            texts=tuple(t.within(self._room) for t in texts.round_texts(record)),
        )
        if winner is None:
            return view
        source = self._source(winner)
        diff: tuple[DiffRow, ...] = ()
        if before is not None and before.candidate.source != winner.candidate.source:
            diff = side_by_side(self._source(before), source)
        return replace(
            view,
            strategy=texts.strategy(winner.candidate.source),
            source=highlighted(source),
            before=before.name if before else "",
            diff=diff,
        )

    def _trial(self, trial: Trial) -> TrialView:
        found = tuple(t.within(self._room) for t in texts.trial_texts(trial))
        return TrialView(trial, headline(trial.candidate), found)

    def _source(self, trial: Trial) -> str:
        source = trial.candidate.source or ""
        limit = max(self._budget.sources // (20 * max(len(self.run.rounds), 1)), 2000)
        if len(source) <= limit:
            return source
        return source[:limit] + f"\n# ... cut: candidates/{trial.name}/policy.py has all of it"

    @cached_property
    def _traces(self) -> Mapping[int, Traces | None]:
        folder = RunFolder(self.run.folder)
        winners = {r.number: r.winner for r in self.run.rounds if r.winner}
        return {n: read_traces(folder, w.name, self.run.fields) for n, w in winners.items()}

    @cached_property
    def _room(self) -> int:
        found = [len(t.body) for c in self.run.opening for t in texts.call_texts(c)]
        for record in self.run.rounds:
            found += [len(t.body) for t in texts.round_texts(record)]
            found += [len(t.body) for trial in record.trials for t in texts.trial_texts(trial)]
        return texts.room(found, self._budget.texts)

    def _video(self, file: Path) -> str:
        if self._inline_videos:
            return "data:video/mp4;base64," + base64.b64encode(file.read_bytes()).decode()
        return self._address(file)

    def _address(self, file: Path) -> str:
        return quote(Path(os.path.relpath(file, self._page)).as_posix())


def _score_charts(marks: Sequence[Mark], title: str, bounds: tuple[float, float] | None) -> Charts:
    wide = score_chart(marks, title, width=640, bounds=bounds)
    return Charts(wide, score_chart(marks, title, width=NARROW, bounds=bounds))


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
