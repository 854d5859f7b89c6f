"""``index.html``: a suite's comparison on one self-contained page, in the style of a run's."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote

from promptpo.common import text
from promptpo.common.blocks import Cell, Chart, Line, Mark, Scores, Table, num
from promptpo.comparison.curves import AXES, Axis
from promptpo.comparison.scores import Measure, in_words, levels
from promptpo.matrix.results import BenchResults, BenchRun
from promptpo.matrix.statistics import Estimate
from promptpo.matrix.suite import Scale, Suite
from promptpo.report.page import render
from promptpo.report.tables import cost_cell
from promptpo.stats import Interval

#: Limits of a run in words, by the names of settings.
_LIMITS = {
    "max_env_steps": "environment steps of search",
    "max_calls": "calls of the model",
    "max_tokens": "tokens",
    "max_cost": "US dollars",
}

#: Captions of aggregates.
_CAPTIONS = {
    "IQM": "Interquartile mean",
    "median": "Median over specs",
    "mean": "Mean",
    "optimality gap": "Optimality gap (lower is better)",
}


@dataclass(frozen=True)
class MatrixCell:
    """A method on a spec, or a pair of methods: texts and looks."""

    text: str
    interval: str = ""
    missing: tuple[str, ...] = ()
    lead: bool = False
    css: str = ""


@dataclass(frozen=True)
class PublishedTable:
    """Numbers of one source and kind, by method; ``href`` is the source's address on arXiv."""

    source: str
    href: str
    what: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SpecView:
    """A spec: a line on its scale, a cell for each method, charts, published numbers.

    ``missing`` names the runs without a score, each with its reason.
    """

    name: str
    measure: Measure
    words: str
    cells: tuple[MatrixCell, ...]
    missing: tuple[str, ...]
    scores: Scores | None
    curves: dict[Axis, Chart]
    published: tuple[PublishedTable, ...]

    @property
    def measured(self) -> str:
        """The measure within a phrase."""
        return in_words(self.measure)

    @property
    def unit(self) -> str:
        """Name of what its numbers are."""
        return "success rate" if self.measure == "success" else self.measured


@dataclass(frozen=True)
class PageView:
    """Parts of the page."""

    results: BenchResults

    def render(self, notes: Sequence[str], files: Sequence[str]) -> str:
        """Return the page; ``notes`` are on how to read it, ``files`` lie beside it."""
        styles, title = ("report.css", "bench.css"), f"Benchmark {self.results.suite.name}"
        return render("bench.html", styles=styles, title=title, view=self, notes=notes, files=files)

    @cached_property
    def css(self) -> dict[str, str]:
        """Classes of the methods' lines; there are eight, and then they begin again."""
        return {label: f"s{i % 8 + 1}" for i, label in enumerate(self.results.suite.labels)}

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        """Names, figures and a remark on each."""
        suite, count = self.results.suite, len(self.results.runs)
        scored = count - self.results.missing
        limits = [(f"{limit:,g}", _LIMITS.get(n, n)) for n, limit in suite.budget.items()]
        first, *others = limits or [("none", "")]
        return [
            ("Methods", str(len(suite.entrants)), ""),
            ("Specs", str(len(suite.specs)), ""),
            ("Runs", str(count), self.results.runs_words),
            ("With a score", f"{scored} of {count}", "on held-out episodes"),
            ("Budget of a run", first[0], ", ".join([first[1], *map(" ".join, others)])),
        ]

    @cached_property
    def aggregates(self) -> dict[str, Scores]:
        """A chart of each average over specs, by caption."""
        methods = self.results.aggregates.methods
        charts = {}
        for name in next(iter(methods.values()), {}):
            estimates = {label: values[name] for label, values in methods.items()}
            marks = tuple(
                Mark(label, e.value, f"{e.value:.2f}", e.interval, ours=True)
                for label, e in estimates.items()
            )
            caption = _CAPTIONS[name]
            best = (min if name == "optimality gap" else max)(mark.value for mark in marks)
            charts[caption] = Scores(f"{caption} of normalized scores", marks, best=best)
        return charts

    @property
    def runs_of_aggregates(self) -> list[int]:
        """Numbers of runs of a method on each spec that averages are taken over, ascending."""
        return sorted({len(scores) for scores in self.results.aggregates.scores.values()})

    @cached_property
    def profile(self) -> Chart:
        """The performance profiles of all methods."""
        lines = (
            _line(m, self.css[m], (p.thresholds, p.share, p.low, p.high), p.thresholds[-1])
            for m, p in self.results.aggregates.profiles.items()
        )
        title, words = "Share of runs above a normalized score", "normalized score"
        return Chart(title, words, tuple(lines), bounds=(0.0, 1.02))

    @property
    def odds(self) -> list[tuple[str, list[MatrixCell]]]:
        """For each method a row with its probabilities of improvement upon the others."""
        improvements, labels = self.results.aggregates.improvements, self.results.aggregates.methods
        if len(labels) < 2:
            return []
        return [(a, [_odds(improvements.get((a, b))) for b in labels]) for a in labels]

    @cached_property
    def specs(self) -> list[SpecView]:
        """All specs."""
        return [self._spec(spec) for spec in self.results.suite.specs]

    def _spec(self, spec: str) -> SpecView:
        results, measure = self.results, self.results.measure(spec)
        missing = {m: missing_words(results.of(spec, m)) for m in results.suite.labels}
        panel = results.panels.get(spec)
        references = levels(panel.references, measure) if panel else {}
        return SpecView(
            spec,
            measure,
            _scale_words(results.suite.scales.get(spec), measure),
            tuple(self._cells(spec, missing)),
            tuple(f"{label}, {words}" for label in missing for words in missing[label]),
            self._scores(spec, references),
            dict(self._curves(spec)),
            tuple(published_tables(results.suite, spec, measure)),
        )

    def _cells(self, spec: str, missing: dict[str, list[str]]) -> Iterator[MatrixCell]:
        scores = {label: self.results.scores.get((spec, label)) for label in missing}
        best = max((s.mean for s in scores.values() if s is not None), default=None)
        measure = self.results.measure(spec)
        for label, score in scores.items():
            reasons = tuple(missing[label])
            if score is None:
                yield MatrixCell("", "" if reasons else "not planned", reasons)
                continue
            lead = len(scores) > 1 and score.mean == best
            interval = interval_words(score.interval, measure)
            yield MatrixCell(number_words(score.mean, measure), interval, reasons, lead)

    def _scores(self, spec: str, references: dict[str, float]) -> Scores | None:
        """Return a chart of the methods in their order, then of reference values."""
        measure = self.results.measure(spec)
        bounds = (-0.02, 1.02) if measure == "success" else None
        marks = [
            Mark(label, s.mean, number_words(s.mean, measure), s.interval, ours=True)
            for label in self.results.suite.labels
            if (s := self.results.scores.get((spec, label))) is not None
        ]
        if not marks:
            return None
        marks += [Mark(k, v, number_words(v, measure)) for k, v in references.items()]
        return Scores(f"Held-out {in_words(measure)} on {spec}", tuple(marks), bounds)

    def _curves(self, spec: str) -> Iterator[tuple[Axis, Chart]]:
        """Yield a chart of learning curves for each axis that anything lies on."""
        for axis in AXES:
            if chart := self.results.chart(spec, axis):
                lines = (replace(line, css=self.css[line.name]) for line in chart.lines)
                yield axis, replace(chart, lines=tuple(lines))

    @property
    def cells(self) -> Table:
        """A table of all runs, with or without a score."""
        columns = ("Run", "Held-out", "95% interval", "Normalized", "Search steps", "Calls",
                   "Cost", "How it ended")  # fmt: skip
        caption = "Method, spec and seed of every run; the interval is over its held-out episodes"
        return Table(caption, columns, tuple(map(_row, self.results.runs)))


def _line(name: str, css: str, arrays: Iterable[Iterable[float]], end: float) -> Line:
    x, y, low, high = ([*map(float, values)] for values in arrays)
    return Line(name, x, y, low, high, end=float(end), css=css)


def _odds(estimate: Estimate | None) -> MatrixCell:
    if estimate is None:
        return MatrixCell("", css="self")
    interval = estimate.interval
    sure = interval is not None and not interval.low <= 0.5 <= interval.high
    words = f"{interval.low:.2f} to {interval.high:.2f}" if interval else ""
    css = f"o{min(int(estimate.value * 5), 4)}{' sure' if sure else ''}"
    return MatrixCell(f"{estimate.value:.2f}", words, css=css)


def _row(run: BenchRun) -> tuple[Cell, ...]:
    """Return the row of a run."""
    name = f"{run.label} · {run.spec} · {run.seed}"
    score = interval = scaled = steps = calls = cost = Cell()
    if held_out := run.held_out:
        score = num(held_out.mean, number_words(held_out.mean, run.measure))
        if bounds := held_out.interval:
            interval = num(bounds.low, interval_words(bounds, run.measure))
    if run.normalized is not None:
        scaled = num(run.normalized, f"{run.normalized:.2f}")
    if run.record is not None:
        usage = run.record.usage
        steps = num(usage.searched)
        if run.record.asks_model:
            calls, cost = num(usage.calls), cost_cell(usage.cost)
    return (
        Cell(name, href=f"{quote(run.folder)}/report.html" if run.record else ""),
        score, interval, scaled, steps, calls, cost,
        Cell(text.gist(run.ended), run.ended, kind="" if held_out else "failed"),
    )  # fmt: skip


def number_words(number: float, measure: str) -> str:
    """Return a score as tables have it: ``0.87`` of a success rate; ``3,079``, ``61.5``."""
    size = abs(number)
    if measure == "success" or not math.isfinite(number):
        return f"{number:.2f}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.1f}" if size >= 10 else f"{number:.2f}"


def interval_words(interval: Interval | None, measure: str) -> str:
    """Return ``40 to 70``; empty without an interval."""
    if interval is None:
        return ""
    return f"{number_words(interval.low, measure)} to {number_words(interval.high, measure)}"


def missing_words(runs: Iterable[BenchRun]) -> list[str]:
    """Return ``seeds 0, 1, 2: not begun``: the runs without a score, by reason."""
    reasons: dict[str, list[str]] = {}
    for run in runs:
        if run.score is None:
            reasons.setdefault(text.gist(run.why_missing), []).append(str(run.seed))
    return [
        f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)}: {reason}"
        for reason, seeds in reasons.items()
    ]


def _scale_words(scale: Scale | None, measure: Measure) -> str:
    if scale is None:
        return "No scale is known; its scores are not normalized."
    random, best = (
        "unknown" if end is None else number_words(end, measure)
        for end in (scale.random, scale.best)
    )
    source = f" ({scale.source})" if scale.source else ""
    return f"Normalized scores: 0 is random actions, {random}; 1 the best known, {best}{source}."


def published_tables(suite: Suite, spec: str, measure: Measure) -> Iterator[PublishedTable]:
    """Yield published numbers on a spec, those of one source and kind together.

    A number in another measure has its name.
    """
    kinds: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for row in suite.published:
        if row.spec != spec:
            continue
        number = number_words(row.value, row.measure)
        if row.spread is not None:
            number += f" ± {row.spread:,.{len(number.partition('.')[2])}f}"
        if row.measure != measure:
            number += f" ({row.measure})"
        kinds.setdefault((row.source, row.what, row.note), []).append((row.method, number))
    for (source, what, note), rows in kinds.items():
        arxiv = re.search(r"\d{4}\.\d{4,5}", source)
        href = f"https://arxiv.org/abs/{arxiv[0]}" if arxiv else ""
        yield PublishedTable(source, href, "; ".join(filter(None, (what, note))), tuple(rows))
