"""Files for a paper: a suite's comparison as figures, PDF and SVG, and as a LaTeX table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from promptpo.common.blocks import Chart, Mark, Scores
from promptpo.comparison.curves import (
    AXES,
    COLOURS,
    MARKERS,
    draw_lines,
    looks_of,
    paper_style,
    saved,
)
from promptpo.comparison.page import number_words
from promptpo.errors import UsageError
from promptpo.matrix.page import PageView, published_tables
from promptpo.matrix.results import BenchResults
from promptpo.matrix.statistics import AGGREGATES
from promptpo.report.axis import Scale, horizontal, short_range
from promptpo.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: the width of a page in the two-column formats of most conferences, heights of panels.
_WIDTH, _HEIGHT, _ROW = 6.75, 1.6, 0.2

_FORMATS = ("pdf", "svg")

#: Panels beside each other, and the most on one page; a suite of many specs has several.
_COLUMNS, _PANELS = 3, 12

#: Colours and styles of the methods' lines, by label.
_Looks = Mapping[str, dict[str, Any]]


def figures(view: PageView) -> dict[str, bytes]:
    """Return the charts of the page as files: ``aggregates.pdf``, ``curves_steps.svg``, ...

    What has nothing to show is left out. Raises UsageError where matplotlib is not installed.
    """
    files: dict[str, bytes] = {}
    with paper_style():
        for name, figure in _figures(view):
            for form in _FORMATS:
                files[f"{name}.{form}"] = saved(figure, form)
                figure.set_layout_engine("none")  # it stands: to arrange it takes as long again
    return files


def _figures(view: PageView) -> Iterator[tuple[str, Figure]]:
    looks = looks_of(view.results.suite.labels)  # the same in all figures
    if view.aggregates:
        yield "aggregates", _aggregates(view, looks)
        yield "profile", _profile(view, looks)
    if marks := _improvements(view.results):
        yield "improvement", _improvement(marks)
    for axis in AXES:
        charts = {s: curves[axis] for s, curves in view.curves.items() if axis in curves}
        specs = list(charts)
        pages = [specs[i : i + _PANELS] for i in range(0, len(specs), _PANELS)]
        for number, page in enumerate(pages, 1):
            name = f"curves_{axis}" if len(pages) == 1 else f"curves_{axis}_{number}"
            yield name, _curves({spec: charts[spec] for spec in page}, looks)


def _new(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _aggregates(view: PageView, looks: _Looks) -> Figure:
    """Draw one panel an aggregate, one row a method, the first on top."""
    figure = _new(_WIDTH, 0.75 + _ROW * len(view.results.aggregates.methods))
    panels = figure.subplots(1, len(AGGREGATES), sharey=True, squeeze=False)[0]
    for axes, name, drawn in zip(panels, AGGREGATES, view.aggregates.values(), strict=True):
        colours = [looks[mark.name]["color"] for mark in drawn.marks]
        _draw_marks(axes, drawn, colours, [MARKERS[i % len(MARKERS)] for i in range(len(colours))])
        axes.set_title(f"{name} {'↓' if name == 'optimality gap' else '↑'}")
    figure.supxlabel(f"normalized score, {_basis(view)}", fontsize=8)
    return figure


def _basis(view: PageView) -> str:
    return f"{len(view.results.aggregates.specs)} specs, {view.results.runs_words}"


def _profile(view: PageView, looks: _Looks) -> Figure:
    figure = _new(_WIDTH / 2, 2.4 + 0.07 * len(view.profile.lines))
    axes = figure.subplots()
    lines, _ = draw_lines(axes, view.profile, looks)
    axes.set_xlabel("normalized score")
    axes.set_ylabel("share of runs above it")
    axes.set_title(_basis(view), loc="left")
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def _improvements(results: BenchResults) -> list[Mark]:
    """Return each pair of methods once, the one that is ahead on the left, the clearest first."""
    marks: dict[tuple[str, str], Mark] = {}
    for (a, b), e in results.aggregates.improvements.items():
        if e.value > 0.5 or (e.value == 0.5 and (b, a) not in marks):
            marks[a, b] = Mark(f"{a}  >  {b}", e.value, "", e.interval)
    return sorted(marks.values(), key=lambda mark: -mark.value)


def _improvement(marks: Sequence[Mark]) -> Figure:
    figure = _new(_WIDTH * 0.7, 0.6 + 0.17 * len(marks))
    axes = figure.subplots()
    lowest = min(mark.interval.low if mark.interval else mark.value for mark in marks)
    bounds = (-0.02 if lowest < 0.45 else 0.42, 1.03)
    drawn = Scores("", tuple(marks), bounds)
    _draw_marks(axes, drawn, [COLOURS[0]] * len(marks), ["o"] * len(marks))
    axes.axvline(0.5, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set_xlabel("probability that the first beats the second")
    return figure


def _curves(charts: Mapping[str, Chart], looks: _Looks) -> Figure:
    """Draw one panel a spec, and one legend for all."""
    from matplotlib.ticker import EngFormatter

    columns = min(_COLUMNS, len(charts))
    rows = math.ceil(len(charts) / columns)
    figure = _new(_WIDTH, _HEIGHT * rows + 0.6 + 0.13 * math.ceil(len(looks) / 3))
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    lines: dict[str, Any] = {}
    for number, (axes, (spec, drawn)) in enumerate(zip(panels, charts.items(), strict=False)):
        lines |= draw_lines(axes, replace(drawn, references={}), looks)[0]
        axes.set_title(spec, loc="left", fontsize=7)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        if number + columns >= len(charts):  # nothing is below it
            axes.set_xlabel(drawn.words, fontsize=7)
    for axes in panels[len(charts) :]:
        axes.set_visible(False)
    figure.supylabel("best score in search so far (optimistic)", fontsize=8)
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _draw_marks(axes: Axes, drawn: Scores, colours: Sequence[str], markers: Sequence[str]) -> None:
    """Draw a row for each mark, the first on top."""
    scale, marks = Scale(*horizontal(drawn), 0, 1), drawn.marks
    axes.set_xlim(scale.low, scale.high)
    for row, (mark, colour, marker) in enumerate(zip(marks, colours, markers, strict=True)):
        ends = [mark.interval.low, mark.interval.high] if mark.interval else []
        axes.plot(ends, [row] * len(ends), "-", color=colour, alpha=0.35, linewidth=5,
                  solid_capstyle="butt")  # fmt: skip
        axes.plot([mark.value], [row], marker, color=colour, markersize=4)
        for end in {mark.value} if scale.side(mark.value) else filter(scale.side, ends):
            side = scale.side(end)
            place, frame = (float(side > 0), row), axes.get_yaxis_transform()
            axes.plot(*place, "<>"[side > 0], transform=frame, color=colour, markersize=4,
                      clip_on=False)  # fmt: skip
            axes.annotate(
                short_range([end]), place, (-5 * side, -4), xycoords=frame, fontsize=6, va="top",
                textcoords="offset points", color=colour, ha="right" if side > 0 else "left",
            )  # fmt: skip
    axes.set_yticks(range(len(marks)), [mark.name for mark in marks])
    axes.set_ylim(len(marks) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)


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
    caption = [
        "Needs \\usepackage{booktabs}. Written by promptpo bench from the runs beside it.",
        f"{suite.title.rstrip('.')}: mean scores on held-out episodes, {results.runs_words}, with"
        " 95% intervals. Averages are of normalized scores: 0 random actions, 1 the best known.",
        "A dash: no run of a method has a score; an asterisk: some have none.",
        *results.notes,
    ]
    parts = [*(f"% {' '.join(sentence.split())}" for sentence in caption), ours]
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


def _scores(results: BenchResults, spec: str) -> list[str]:
    """Return the row of a spec: its name, then a score and its interval for each method."""
    measure = results.measure(spec)
    row = [spec if measure == "return" else f"{spec} ({measure})"]
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
