"""``index.html``: a suite's comparison on one self-contained page, in the style of a run's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from promptpo.bench.aggregates import Aggregates, runs_words
from promptpo.bench.cells import Played, PlayedCell
from promptpo.bench.charts import css_of, profile_line
from promptpo.bench.specs_view import (
    SpecView,
    missing_words,
    number_words,
    spec_view,
)
from promptpo.bench.statistics import Estimate
from promptpo.common import text
from promptpo.common.blocks import Cell, Chart, Figure, Mark, Scores, Table, num
from promptpo.report.page import render
from promptpo.report.tables import cost_cell
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


def render_page(
    played: Played, found: Aggregates, remarks: Sequence[str], files: Sequence[str]
) -> str:
    """The page; ``remarks`` is what must be known to read it, ``files`` lie beside it."""
    view = PageView(played, found, tuple(remarks), tuple(files))
    styles = ("report.css", "bench.css")
    return render("bench.html", styles=styles, title=f"Benchmark {view.name}", view=view)


@dataclass(frozen=True)
class PageView:
    """What the template asks for."""

    played: Played
    found: Aggregates
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
        return self.played.labels

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The methods with the classes of their lines."""
        return list(css_of(self.labels).items())

    @property
    def missing(self) -> str:
        """How many runs have no score; empty where all have."""
        count = sum(cell.score is None for cell in self.played.cells)
        return f"{count} of {text.plural(len(self.played.cells), 'run')}" if count else ""

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        """Name, figure and a word on it."""
        suite, cells = self.played.suite, self.played.cells
        scored = sum(cell.score is not None for cell in cells)
        limits = [(f"{limit:,g}", _LIMITS.get(n, n)) for n, limit in suite.budget.items()]
        first, *others = limits or [("none", "")]
        return [
            ("Methods", str(len(suite.entrants)), ""),
            ("Specs", str(len(suite.specs)), ""),
            ("Runs", str(len(cells)), runs_words(self.played)),
            ("With a score", f"{scored} of {len(cells)}", "on held-out episodes"),
            ("Budget of a run", first[0], ", ".join([first[1], *map(" ".join, others)])),
        ]

    @property
    def matrix(self) -> list[MatrixRow]:
        """A row for each spec."""
        return [self._row(spec) for spec in self.played.suite.specs]

    def _row(self, spec: str) -> MatrixRow:
        scores = {label: self.played.score(spec, label) for label in self.labels}
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
    def aggregates(self) -> list[Figure]:
        """A chart of each average over specs."""
        if not self.found.methods:
            return []
        return [self._aggregate(name) for name in next(iter(self.found.methods.values()))]

    def _aggregate(self, name: str) -> Figure:
        about = _ABOUT.get(name, name)
        marks = (_mark_of(label, values[name]) for label, values in self.found.methods.items())
        return Figure(about, Scores(f"{about} of normalized scores", tuple(marks)))

    @property
    def aggregates_words(self) -> str:
        """What the averages are taken over."""
        specs, of = len(self.found.specs), len(self.played.suite.specs)
        runs = sorted(set(self.found.runs.values()))
        words = text.plural(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
        return (
            f"Normalized scores: 0 is random actions, 1 the best known of the spec; not clipped."
            f" {specs} of {text.plural(of, 'spec')}, {words} of a method on each."
            + ("" if runs[0] > 1 else " One run gives no interval.")
        )

    @property
    def why_no_aggregates(self) -> str:
        """Why no average could be taken."""
        reasons = [f"{spec} ({why})" for spec, why in self.found.left_out.items()]
        return "; ".join(reasons[:3]) or "no run has a score"

    @property
    def profile(self) -> Figure:
        """The performance profiles of all methods."""
        css = css_of(self.labels)
        lines = (profile_line(m, css[m], curve) for m, curve in self.found.profiles.items())
        title, words = "Share of runs above a normalized score", "normalized score"
        return Figure("", Chart(title, words, tuple(lines), bounds=(0.0, 1.02)))

    @property
    def odds(self) -> list[tuple[str, list[MatrixCell]]]:
        """For each method a row with its probabilities of improvement upon the others."""
        known = {(i.a, i.b): i.estimate for i in self.found.improvements}
        labels = list(self.found.methods)
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
        columns = ("Run", "Held-out", "95% interval", "Normalized", "Search steps", "Calls",
                   "Cost", "How it ended")  # fmt: skip
        caption = "Method, spec and seed of every run; the interval is over its held-out episodes"
        return Table(caption, columns, tuple(map(_cell_row, self.played.cells)))


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


def _cell_row(played: PlayedCell) -> tuple[Cell, ...]:
    cell, found, history = played.cell, played.held_out, played.history
    name = f"{cell.label} · {cell.spec} · {cell.seed}"
    href = f"{quote(cell.run)}/report.html" if history is not None else ""
    score = interval = scaled = steps = calls = cost = Cell()
    if found is not None:
        score = num(found.mean, number_words(found.mean, played.measure))
        words = interval_words(found.interval, played.measure)
        interval = num(found.interval.low, words) if found.interval else Cell()
    if played.normalized is not None:
        scaled = num(played.normalized, f"{played.normalized:.2f}")
    if history is not None:
        usage = history.run.usage
        steps = num(usage.searched)
        if history.run.asks_model:
            calls, cost = num(usage.calls), cost_cell(usage.cost)
    return (
        Cell(name, href=href),
        score, interval, scaled, steps, calls, cost,
        Cell(text.gist(played.ended), played.ended, kind="failed" if found is None else ""),
    )  # fmt: skip
