"""Files for a paper: a suite's comparison as figures, PDF and SVG, and as a LaTeX table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.common import text
from promptpo.comparison.curves import (
    AXES,
    AXIS_WORDS,
    COLOURS,
    MARKERS,
    STYLES,
    Axis,
    Curve,
    paper_style,
    saved,
)
from promptpo.errors import UsageError
from promptpo.matrix.page import number_words, published_tables
from promptpo.matrix.results import BenchResults
from promptpo.matrix.statistics import Estimate
from promptpo.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: the width of a page in the two-column formats of most conferences, heights of panels.
_WIDTH, _HEIGHT, _ROW = 6.75, 1.6, 0.2

_FORMATS = ("pdf", "svg")

#: Panels beside each other, and the most on one page; a suite of many specs has several.
_COLUMNS, _PANELS = 3, 12

#: Curves of a panel by method, each with its right end, and the right end of the panel.
_Curves = tuple[dict[str, tuple[Curve, float]], float]

_Looks = Mapping[str, dict[str, Any]]


def figures(results: BenchResults) -> dict[str, bytes]:
    """Return files by name: ``aggregates.pdf``, ``profile.pdf``, ``curves_steps.svg``, ...

    What has nothing to show is left out. Raises UsageError where matplotlib is not installed.
    """
    files: dict[str, bytes] = {}
    with paper_style():
        for name, figure in _figures(results):
            for form in _FORMATS:
                files[f"{name}.{form}"] = saved(figure, form)
                figure.set_layout_engine("none")  # it stands: to arrange it takes as long again
    return files


def _figures(results: BenchResults) -> Iterator[tuple[str, Figure]]:
    looks = {  # the same in all figures; 28 differ
        label: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)]}
        for i, label in enumerate(results.suite.labels)
    }
    if results.aggregates.methods:
        yield "aggregates", _aggregates(results, looks)
        yield "profile", _profile(results, looks)
        if len(results.aggregates.methods) > 1:
            yield "improvement", _improvement(results.aggregates.improvements)
    for axis in AXES:
        every = {spec: results.drawn_curves(spec, axis) for spec in results.panels}
        drawn = [(spec, curves) for spec, curves in every.items() if curves[0]]
        pages = [drawn[i : i + _PANELS] for i in range(0, len(drawn), _PANELS)]
        for number, page in enumerate(pages, 1):
            name = f"curves_{axis}" if len(pages) == 1 else f"curves_{axis}_{number}"
            yield name, _curves(results, page, axis, looks)


def _new(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _aggregates(results: BenchResults, looks: _Looks) -> Figure:
    """Draw one panel an aggregate, one row a method, the first on top."""
    methods = results.aggregates.methods
    names, labels = list(next(iter(methods.values()))), list(methods)
    figure = _new(_WIDTH, 0.75 + _ROW * len(labels))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        for row, label in enumerate(labels):
            marker = MARKERS[row % len(MARKERS)]
            _interval(axes, methods[label][name], row, looks[label]["color"], marker)
        axes.set_title(f"{name} {'↓' if name == 'optimality gap' else '↑'}")
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.margins(x=0.12)
    specs = len(results.aggregates.specs)
    figure.supxlabel(f"normalized score, {specs} specs, {results.runs_words}", fontsize=8)
    return figure


def _interval(axes: Axes, estimate: Estimate, row: float, colour: str, marker: str) -> None:
    if estimate.interval is not None:
        ends = [estimate.interval.low, estimate.interval.high]
        axes.plot(ends, [row, row], "-", color=colour, alpha=0.35, linewidth=5,
                  solid_capstyle="butt")  # fmt: skip
    axes.plot([estimate.value], [row], marker, color=colour, markersize=4)


def _profile(results: BenchResults, looks: _Looks) -> Figure:
    profiles = results.aggregates.profiles
    figure = _new(_WIDTH / 2, 2.4 + 0.07 * len(profiles))
    axes = figure.subplots()
    for label, profile in profiles.items():
        look = looks[label]
        axes.step(profile.thresholds, profile.share, where="post", label=label, **look)
        axes.fill_between(profile.thresholds, profile.low, profile.high, step="post", alpha=0.15,
                          color=look["color"], linewidth=0)  # fmt: skip
    axes.set_xlabel("normalized score")
    axes.set_ylabel("share of runs above it")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(float(next(iter(profiles.values())).thresholds[0]), None)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    axes.set_title(f"{len(results.aggregates.specs)} specs, {results.runs_words}", loc="left")
    return figure


def _improvement(improvements: Mapping[tuple[str, str], Estimate]) -> Figure:
    """Draw each pair once, the one that is ahead on the left."""
    names: list[tuple[str, str]] = []
    for (a, b), estimate in improvements.items():
        if estimate.value > 0.5 or (estimate.value == 0.5 and (b, a) not in names):
            names.append((a, b))
    names.sort(key=lambda pair: -improvements[pair].value)
    figure = _new(_WIDTH * 0.7, 0.6 + 0.17 * len(names))
    axes = figure.subplots()
    for row, pair in enumerate(names):
        _interval(axes, improvements[pair], row, COLOURS[0], "o")
    axes.axvline(0.5, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set_yticks(range(len(names)), [f"{a}  >  {b}" for a, b in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    lowest = [i.low if (i := improvements[n].interval) else improvements[n].value for n in names]
    axes.set_xlim(-0.02 if min(lowest, default=1.0) < 0.45 else 0.42, 1.03)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("probability that the first beats the second")
    return figure


def _curves(
    results: BenchResults, page: Sequence[tuple[str, _Curves]], axis: Axis, looks: _Looks
) -> Figure:
    """Draw one panel a spec, and one legend for all."""
    columns = min(_COLUMNS, len(page))
    rows = math.ceil(len(page) / columns)
    figure = _new(_WIDTH, _HEIGHT * rows + 0.6 + 0.13 * math.ceil(len(looks) / 3))
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    lines: dict[str, Any] = {}
    for number, (axes, (spec, curves)) in enumerate(zip(panels, page, strict=False)):
        lines |= _panel(axes, curves, looks)
        axes.set_title(spec, loc="left", fontsize=7)
        if number + columns >= len(page):  # nothing is below it
            axes.set_xlabel(AXIS_WORDS[axis], fontsize=7)
        if results.measure(spec) == "success":
            axes.set_ylim(-0.04, 1.04)
    for axes in panels[len(page) :]:
        axes.set_visible(False)
    figure.supylabel("best score in search so far (optimistic)", fontsize=8)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, curves: _Curves, looks: _Looks) -> dict[str, Any]:
    """Draw the curves of a spec; return their lines by method."""
    from matplotlib.ticker import EngFormatter

    lines = {}
    for label, (c, end) in curves[0].items():
        x, mean, low, high = (
            np.append(values, last)
            for values, last in ((c.x, end), (c.mean, c.mean[-1]), (c.low, c.low[-1]),
                                 (c.high, c.high[-1]))
        )  # fmt: skip
        (lines[label],) = axes.step(x, mean, where="post", **looks[label])
        colour = looks[label]["color"]
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.set_xlim(0, curves[1])
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    return lines


def latex_table(results: BenchResults) -> str:
    """Return comments on what the numbers are, the table, and one of published numbers if any.

    The tables are of booktabs: specs down, methods across. Raises UsageError where tabulate is not
    installed.
    """
    try:
        from tabulate import SEPARATING_LINE, tabulate
    except ImportError:
        raise UsageError(
            "the table needs the package 'tabulate'; run: pip install 'promptpo[plots]'"
        ) from None

    def booktabs(rows: list[list[str] | str], headers: list[str], align: str) -> str:
        sides = ["left" if letter == "l" else "right" for letter in align]
        style = "latex_booktabs"
        return tabulate(rows, headers, style, disable_numparse=True, colalign=sides)

    suite, methods = results.suite, results.aggregates.methods
    rows: list[list[str] | str] = [_scores(results, spec) for spec in suite.specs]
    if methods:
        rows.append(SEPARATING_LINE)
    for name in next(iter(methods.values()), {}):
        estimates = [methods.get(label, {}).get(name) for label in suite.labels]
        rows.append([
            name,
            *(f"{e.value:.2f}{_bounds(e.interval, 'success')}" if e else "--" for e in estimates),
        ])  # fmt: skip
    ours = booktabs(rows, ["", *suite.labels], "l" + "r" * len(suite.labels))
    parts = [*(f"% {' '.join(sentence.split())}" for sentence in _caption(results)), ours]
    published: list[list[str] | str] = [
        [spec, method, number, f"{table.source}: {table.what}" if table.what else table.source]
        for spec in suite.specs
        for table in published_tables(suite, spec, results.measure(spec))
        for method, number in table.rows
    ]
    if published:
        parts += [
            "",
            "% Published numbers: other budgets and protocols, no runs of ours.",
            booktabs(published, ["Spec", "Method", "Published", "Source"], "llrl"),
        ]
    return "\n".join([*parts, ""])


def _caption(results: BenchResults) -> Iterator[str]:
    """Yield the sentences that a caption of the table should have."""
    suite = results.suite
    yield "Needs \\usepackage{booktabs}. Written by promptpo bench from the runs beside it."
    yield (
        f"{suite.title.rstrip('.')}: mean scores on held-out episodes, {results.runs_words}, with"
        " 95% intervals."
    )
    if any(1 in results.counts(label) for label in suite.labels):
        yield (
            "Where a method has one run, the interval is over episodes and speaks of that one"
            " policy, not of what another run of the method would find."
        )
    if results.missing:
        yield (
            f"{text.plural(results.missing, 'run')} of {len(results.runs)} without a score: a dash"
            " where none of a method has one, else an asterisk."
        )
    if results.aggregates.methods:
        yield (
            f"Averages: normalized scores (0 random, 1 best known) of"
            f" {len(results.aggregates.specs)} of {text.plural(len(suite.specs), 'spec')},"
            " stratified bootstrap."
        )


def _scores(results: BenchResults, spec: str) -> list[str]:
    """Return the row of a spec: its name, then a score and its interval for each method."""
    measure = results.measure(spec)
    row = [f"{spec} (success)" if measure == "success" else spec]
    for label in results.suite.labels:
        score = results.scores.get((spec, label))
        if score is None:
            row.append("--")
            continue
        mark = "*" if any(run.score is None for run in results.of(spec, label)) else ""
        row.append(number_words(score.mean, measure) + mark + _bounds(score.interval, measure))
    return row


def _bounds(interval: Interval | None, measure: str) -> str:
    if interval is None:
        return ""
    return f" [{number_words(interval.low, measure)}, {number_words(interval.high, measure)}]"
