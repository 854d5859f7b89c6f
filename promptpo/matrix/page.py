"""``index.html``: a suite's comparison, on the page that shows several runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Cell,
    Chart,
    Columns,
    Figure,
    Group,
    Items,
    Line,
    Links,
    Mark,
    Prose,
    Scores,
    Section,
    Table,
)
from promptpo.comparison.curves import AXES, Axis
from promptpo.comparison.page import Row, looks, number_words, panel_blocks, runs_table, styled
from promptpo.comparison.scores import Measure, in_words
from promptpo.matrix.results import BenchResults, BenchRun
from promptpo.matrix.statistics import Estimate
from promptpo.matrix.suite import Scale, Suite
from promptpo.report.overview import Fact
from promptpo.report.page import Page
from promptpo.stats import Interval
from promptpo.store.summary import Summary

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
class PublishedTable:
    """Numbers of one source and kind, by method; ``href`` is the source's address on arXiv."""

    source: str
    href: str
    what: str
    rows: tuple[tuple[str, str], ...]

    @property
    def blocks(self) -> Iterator[Block]:
        """The numbers, and where they come from."""
        about = ", ".join(filter(None, (self.source, self.what)))
        rows = tuple((Cell(m, note="published"), Cell(v, numeric=True)) for m, v in self.rows)
        yield Table(f"Published, no runs of ours: {about}", ("Method", "Score"), rows, "matrix")
        if self.href:
            yield Links("Source:", ((self.source, self.href),))


@dataclass(frozen=True)
class PageView:
    """Parts of the page, which figures for papers draw, too."""

    results: BenchResults

    def page(self, notes: Sequence[str], files: Sequence[str]) -> Page:
        """Return the page; ``notes`` are on how to read it, ``files`` lie beside it."""
        results = self.results
        notices = [Prose(notes[0], "notice")] if notes else []
        if results.missing:
            words = (
                f"{results.missing} of {text.plural(len(results.runs), 'run')} without a held-out"
            )
            notices.insert(0, Prose(f"{words} score. The tables show each with its reason.",
                                    "notice is-marked"))  # fmt: skip
        links = Links("Files:", tuple((name, quote(name)) for name in files))
        specs = tuple(Group(f"spec-{s}", s, (*self._spec(s),)) for s in results.suite.specs)
        rows = (self._row(run) for run in results.runs)
        sections = (
            Section("scores", "Held-out scores", (self.matrix,)),
            Section("over", "Over all specs", tuple(self._over())),
            Section("specs", "Spec by spec", specs, "specs"),
            Section("runs", "All runs", (runs_table(rows, "All runs, with or without a score"),)),
            Section("reading", "How to read this", (Items(tuple(notes)), links)),
        )
        suite = results.suite
        return Page(suite.name, "Benchmark", suite.title, self.facts, (*notices,), sections)

    @cached_property
    def css(self) -> dict[str, str]:
        """Classes of the methods' lines."""
        return looks(self.results.suite.labels)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Tiles at the top."""
        suite, count = self.results.suite, len(self.results.runs)
        scored = count - self.results.missing
        limits = [(f"{limit:,g}", _LIMITS.get(n, n)) for n, limit in suite.budget.items()]
        first, *others = limits or [("none", "")]
        return (
            Fact("Methods", str(len(suite.entrants))),
            Fact("Specs", str(len(suite.specs))),
            Fact("Runs", str(count), self.results.runs_words),
            Fact("With a score", f"{scored} of {count}", "on held-out episodes"),
            Fact("Budget of a run", first[0], ", ".join([first[1], *map(" ".join, others)])),
        )

    @property
    def matrix(self) -> Table:
        """Held-out scores: a row for each spec, a column for each method."""
        labels = self.results.suite.labels
        rows = []
        for spec in self.results.suite.specs:
            measure = self.results.measure(spec)
            unit = "success rate" if measure == "success" else in_words(measure)
            head = Cell(spec, href=f"#spec-{spec}", note=unit)
            rows.append((head, *self._cells(spec, measure)))
        caption = (
            "Mean of the runs on fresh episodes that no search has seen, 95% interval below it."
            " The highest of a row is bold, which is no test."
        )
        return Table(caption, ("Spec", *labels), tuple(rows), "matrix")

    def _cells(self, spec: str, measure: Measure) -> Iterator[Cell]:
        labels = self.results.suite.labels
        scores = {label: self.results.scores.get((spec, label)) for label in labels}
        best = max((s.mean for s in scores.values() if s is not None), default=None)
        for label, score in scores.items():
            wrong = tuple(missing_words(self.results.of(spec, label)))
            if score is None:
                yield Cell(numeric=True, note="" if wrong else "not planned", wrong=wrong)
                continue
            lead = "lead" if len(scores) > 1 and score.mean == best else ""
            note = interval_words(score.interval, measure)
            words = number_words(score.mean, measure)
            yield Cell(words, score.mean, numeric=True, kind=lead, note=note, wrong=wrong)

    def _over(self) -> Iterator[Block]:
        """Yield averages over specs, or why there are none."""
        aggregates, suite = self.results.aggregates, self.results.suite
        if not self.aggregates:
            left_out = [f"{s} ({why})" for s, why in aggregates.left_out.items()][:3]
            words = "; ".join(left_out) or "no run has a score"
            yield Prose(f"There is nothing to average: {words}.", "empty")
            return
        runs = sorted({len(scores) for scores in aggregates.scores.values()})
        many = text.plural(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
        yield Prose(
            "Normalized scores: 0 is random actions, 1 the best known of the spec; not clipped."
            f" {len(aggregates.specs)} of {text.plural(len(suite.specs), 'spec')}, {many} of a"
            f" method on each.{' One run gives no interval.' if runs[0] == 1 else ''}"
        )
        yield Columns(tuple(Figure(name, drawn) for name, drawn in self.aggregates.items()))
        yield styled(self.profile, self.css, "Performance profile")
        yield Prose(
            "Read upwards from a score: the share of a method's runs, over all these specs, that do"
            " better. A curve that lies above another everywhere belongs to the better method."
        )
        if (odds := self.odds) is not None:
            yield odds

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

    @cached_property
    def profile(self) -> Chart:
        """The performance profiles of all methods."""
        lines = (
            _line(m, (p.thresholds, p.share, p.low, p.high), p.thresholds[-1])
            for m, p in self.results.aggregates.profiles.items()
        )
        title, words = "Share of runs above a normalized score", "normalized score"
        return Chart(title, words, tuple(lines), bounds=(0.0, 1.02))

    @property
    def odds(self) -> Table | None:
        """For each method a row with its probabilities of improvement upon the others."""
        improvements, labels = self.results.aggregates.improvements, self.results.aggregates.methods
        if len(labels) < 2:
            return None
        rows = tuple((Cell(a), *(_odds(improvements.get((a, b))) for b in labels)) for a in labels)
        caption = (
            "Probability of improvement: how likely a run of the method on the left scores higher"
            " than a run of the method above, averaged over specs; 0.50 is a draw. Bold: the"
            " interval leaves 0.50 out."
        )
        return Table(caption, ("", *labels), rows, "matrix odds")

    @cached_property
    def curves(self) -> dict[str, dict[Axis, Chart]]:
        """Learning curves by spec and axis."""
        charts = {s: {a: self.results.chart(s, a) for a in AXES} for s in self.results.suite.specs}
        return {s: {a: c for a, c in by.items() if c} for s, by in charts.items()}

    def _spec(self, spec: str) -> Iterator[Block]:
        """Yield a spec's scale, what is missing, charts, tests, and published numbers."""
        results, measure = self.results, self.results.measure(spec)
        yield Prose(_scale_words(results.suite.scales.get(spec), measure), "meta")
        for label in results.suite.labels:
            for words in missing_words(results.of(spec, label)):
                yield Prose(f"No score: {label}, {words}", "reason is-failed")
        if (panel := results.panels.get(spec)) is not None:
            yield from panel_blocks(panel, measure, self.curves[spec], self.css, f"spec-{spec}")
        for published in published_tables(results.suite, spec, measure):
            yield from published.blocks

    def _row(self, run: BenchRun) -> Row:
        """Return the row of a run, whether or not it has begun."""
        summary = Summary(run.state, run.spec, seed=run.seed)
        if run.record is not None:
            summary = Summary.of(run.record)
        href = f"{quote(run.folder)}/report.html" if run.record else ""
        name = run.folder.rpartition("/")[2] or "none"
        ended = "" if run.held_out else text.gist(run.reason or run.why_missing)
        return Row(summary, name, href, run.label, run.normalized, ended)


def _line(name: str, arrays: Iterable[Iterable[float]], end: float) -> Line:
    x, y, low, high = ([*map(float, values)] for values in arrays)
    return Line(name, x, y, low, high, end=float(end))


def _odds(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell(numeric=True)
    interval = estimate.interval
    sure = interval is not None and not interval.low <= 0.5 <= interval.high
    words = f"{interval.low:.2f} to {interval.high:.2f}" if interval else ""
    css = f"o{min(int(estimate.value * 5), 4)}{' is-sure' if sure else ''}"
    return Cell(f"{estimate.value:.2f}", estimate.value, kind=css, numeric=True, note=words)


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
