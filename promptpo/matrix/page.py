"""``index.html``: a suite's comparison on one self-contained page, in the style of a run's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from promptpo.common import text
from promptpo.matrix.charts import Frame, css_of, line_charts, profile_line
from promptpo.matrix.results import BenchResults, BenchRun
from promptpo.matrix.specs_view import (
    SpecView,
    keep_apart,
    missing_words,
    number_words,
    spec_view,
)
from promptpo.matrix.statistics import Estimate
from promptpo.report.page import render
from promptpo.report.score_chart import Mark, score_chart
from promptpo.report.svg import NARROW, WIDE, Charts
from promptpo.report.tables import Cell, Table, blank, cost_cell
from promptpo.stats import Interval

#: What settings limit, in words.
_LIMITS = {
    "max_env_steps": "environment steps of search",
    "max_calls": "calls of the model",
    "max_tokens": "tokens",
    "max_cost": "US dollars",
    "max_time": "seconds",
}

#: What is said of an aggregate beside its name.
_ABOUT = {
    "IQM": "Interquartile mean",
    "median": "Median over specs",
    "mean": "Mean",
    "optimality gap": "Optimality gap (lower is better)",
}


@dataclass(frozen=True)
class MatrixCell:
    """A method on a spec, or a pair of methods: what is shown and how."""

    text: str
    interval: str = ""
    missing: tuple[str, ...] = ()
    lead: bool = False
    css: str = ""


@dataclass(frozen=True)
class MatrixRow:
    """A spec, what its numbers are, and a cell for each method."""

    spec: str
    unit: str
    cells: tuple[MatrixCell, ...]


def render_page(results: BenchResults, remarks: Sequence[str], files: Sequence[str]) -> str:
    """Return the page; ``remarks`` are on how to read it, ``files`` lie beside it."""
    view = PageView(results, tuple(remarks), tuple(files))
    styles = ("report.css", "bench.css")
    return render("bench.html", styles=styles, title=f"Benchmark {view.name}", view=view)


@dataclass(frozen=True)
class PageView:
    """What the template asks for."""

    played: BenchResults
    remarks: tuple[str, ...]
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """The suite's."""
        return self.played.suite.name

    @property
    def title(self) -> str:
        """The suite in a line."""
        return self.played.suite.title

    @property
    def labels(self) -> tuple[str, ...]:
        """The methods."""
        return self.played.suite.labels

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The methods with the classes of their lines."""
        return list(css_of(self.labels).items())

    @property
    def missing(self) -> str:
        """How many runs have no score; empty where all have."""
        count = self.played.missing
        return f"{count} of {text.plural(len(self.played.runs), 'run')}" if count else ""

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        """Name, figure and a word on it."""
        suite, cells = self.played.suite, self.played.runs
        scored = len(cells) - self.played.missing
        limits = [(f"{limit:,g}", _LIMITS.get(n, n)) for n, limit in suite.budget.items()]
        first, *others = limits or [("none", "")]
        return [
            ("Methods", str(len(suite.entrants)), ""),
            ("Specs", str(len(suite.specs)), ""),
            ("Runs", str(len(cells)), self.played.runs_words),
            ("With a score", f"{scored} of {len(cells)}", "on held-out episodes"),
            ("Budget of a run", first[0], ", ".join([first[1], *map(" ".join, others)])),
        ]

    @property
    def matrix(self) -> list[MatrixRow]:
        """A row for each spec."""
        return [self._row(spec) for spec in self.played.suite.specs]

    def _row(self, spec: str) -> MatrixRow:
        scores = {label: self.played.scores.get((spec, label)) for label in self.labels}
        best = max((s.mean for s in scores.values() if s is not None), default=None)
        measure = self.played.measure(spec)
        cells = []
        for label, score in scores.items():
            missing = tuple(missing_words(self.played.of(spec, label)))
            if score is None:
                cells.append(MatrixCell("", "" if missing else "not planned", missing))
                continue
            shown = number_words(score.mean, measure)
            interval = interval_words(score.interval, measure)
            lead = len(scores) > 1 and score.mean == best
            cells.append(MatrixCell(shown, interval, missing, lead))
        unit = "success rate" if measure == "success" else "return"
        return MatrixRow(spec, unit, tuple(cells))

    @cached_property
    def aggregates(self) -> list[tuple[str, Charts]]:
        """A chart of each average over specs."""
        if not self.played.aggregates.methods:
            return []
        first = next(iter(self.played.aggregates.methods.values()))
        return [(_ABOUT.get(name, name), self._aggregate(name)) for name in first]

    def _aggregate(self, name: str) -> Charts:
        marks = [
            _mark_of(label, values[name])
            for label, values in self.played.aggregates.methods.items()
        ]
        title = f"{_ABOUT.get(name, name)} of normalized scores"
        marks = keep_apart(marks)
        return Charts(
            score_chart(marks, title, width=WIDE), score_chart(marks, title, width=NARROW + 90)
        )

    @property
    def aggregates_words(self) -> str:
        """What the averages are taken over."""
        specs, of = len(self.played.aggregates.specs), len(self.played.suite.specs)
        runs = sorted({len(scores) for scores in self.played.aggregates.scores.values()})
        words = text.plural(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
        return (
            f"Normalized scores: 0 is random actions, 1 the best known of the spec; not clipped."
            f" {specs} of {text.plural(of, 'spec')}, {words} of a method on each."
            + ("" if runs[0] > 1 else " One run gives no interval.")
        )

    @property
    def why_no_aggregates(self) -> str:
        """Why no average could be taken."""
        reasons = [f"{spec} ({why})" for spec, why in self.played.aggregates.left_out.items()]
        return "; ".join(reasons[:3]) or "no run has a score"

    @property
    def profile(self) -> Charts:
        """The performance profiles of all methods."""
        css, profiles = css_of(self.labels), self.played.aggregates.profiles
        lines = [profile_line(m, css[m], curve) for m, curve in profiles.items()]
        frame = Frame(
            "Share of runs above a normalized score",
            "normalized score",
            right=max(line.end for line in lines),
            bounds=(0.0, 1.02),
        )
        return line_charts(lines, frame)

    @property
    def odds(self) -> list[tuple[str, list[MatrixCell]]]:
        """For each method a row with its probabilities of improvement upon the others."""
        known = self.played.aggregates.improvements
        labels = list(self.played.aggregates.methods)
        if len(labels) < 2:
            return []
        return [(a, [_odds(known.get((a, b))) for b in labels]) for a in labels]

    @cached_property
    def specs(self) -> list[SpecView]:
        """What is told of each spec."""
        return [spec_view(self.played, spec) for spec in self.played.suite.specs]

    @property
    def has_curves(self) -> bool:
        """Whether any learning curve is shown."""
        return any(spec.curves for spec in self.specs)

    @property
    def cells(self) -> Table:
        """One row for each cell, whatever became of it."""
        columns = [("Run", False), ("Held-out", True), ("95% interval", True)]
        columns += [("Normalized", True), ("Search steps", True), ("Calls", True), ("Cost", True)]
        columns += [("How it ended", False)]
        caption = "Method, spec and seed of every run; the interval is over its held-out episodes"
        return Table(caption, tuple(columns), tuple(map(_cell_row, self.played.runs)))


def _mark_of(label: str, found: Estimate) -> Mark:
    return Mark(label, found.value, f"{found.value:.2f}", found.interval, ours=True)


def _odds(found: Estimate | None) -> MatrixCell:
    if found is None:
        return MatrixCell("", css="self")
    bin_ = min(int(found.value * 5), 4)
    interval = found.interval
    sure = interval is not None and not interval.low <= 0.5 <= interval.high
    words = f"{interval.low:.2f} to {interval.high:.2f}" if interval else ""
    return MatrixCell(f"{found.value:.2f}", words, css=f"o{bin_}{' sure' if sure else ''}")


def interval_words(interval: Interval | None, measure: str) -> str:
    """``40 to 70``; empty where there is none."""
    if interval is None:
        return ""
    return f"{number_words(interval.low, measure)} to {number_words(interval.high, measure)}"


def _cell_row(played: BenchRun) -> tuple[Cell, ...]:
    found, history = played.held_out, played.history
    name = f"{played.label} · {played.spec} · {played.seed}"
    href = f"{quote(played.run)}/report.html" if history is not None else ""
    score = interval = scaled = steps = calls = cost = blank()
    if found is not None:
        score = Cell(number_words(found.mean, played.measure), found.mean)
        words = interval_words(found.interval, played.measure)
        interval = Cell(words, found.interval.low) if found.interval else blank()
    if played.normalized is not None:
        scaled = Cell(f"{played.normalized:.2f}", played.normalized)
    if history is not None:
        usage = history.run.usage
        steps = Cell(f"{usage.searched:,}", usage.searched)
        if history.run.asks_model:
            calls, cost = Cell(str(usage.calls), usage.calls), cost_cell(usage.cost)
    return (
        Cell(name, name, href=href),
        score, interval, scaled, steps, calls, cost,
        Cell(text.gist(played.ended), played.ended, kind="failed" if found is None else ""),
    )  # fmt: skip
