"""Learning curves of groups of runs, and figures of them for papers.

A curve is the mean over a group's runs of the best search score so far. Figures are one column
wide, with text as text, readable in grey.
"""

from __future__ import annotations

import contextlib
import io
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from promptpo.common import text
from promptpo.common.blocks import Chart, Line
from promptpo.comparison.groups import Group, Panel
from promptpo.comparison.scores import (
    Measure,
    SampleScore,
    in_words,
    levels,
    sample_score,
    value,
)
from promptpo.errors import UsageError
from promptpo.report.axis import Scale, level_name, short_range, stretches, vertical
from promptpo.store.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What a curve runs over: environment steps, calls of the model, or US dollars.
Axis = Literal["steps", "calls", "cost"]
AXES: tuple[Axis, ...] = get_args(Axis)

Values: TypeAlias = NDArray[np.float64]

#: Resamples of a bootstrap, and how many places of a curve are worked on at once (16 MB).
_RESAMPLES = 2000
_COLUMNS = 1000


@dataclass(frozen=True)
class Curve:
    """A step function: from ``x[i]`` on, the mean is ``mean[i]``.

    ``x`` are environment steps of search and tuning, calls or US dollars, ``low`` and ``high``
    bound a 95% interval over runs (nan where a single run gives none), ``runs`` is how many runs
    the mean is taken over.
    """

    x: Values
    mean: Values
    low: Values
    high: Values
    runs: int


def curve(group: Group, axis: Axis, measure: Measure) -> Curve | None:
    """Return the curve of the runs that have scored; None: there is none, or an unknown price.

    It begins where every run has a score. A run that is over keeps its last score; one that is
    not (going, killed, interrupted, failed) may still rise, and the curve ends where its record
    does. The score is the best of all candidates' search episodes: it is optimistic, as the
    best of many noisy means is.
    """
    runs = [run for run in group.runs if run.points]
    scores = [[value(point.best, measure) for point in run.points] for run in runs]
    if not runs or any(score is None for row in scores for score in row):
        return None
    if axis == "cost" and any(point.cost is None for run in runs for point in run.points):
        return None
    steps = [
        (_axis_values(run, axis), np.array(row, dtype=np.float64))
        for run, row in zip(runs, scores, strict=True)
    ]
    begin = max(places[0] for places, _ in steps)
    open_ends = [
        places[-1] for run, (places, _) in zip(runs, steps, strict=True) if not run.is_over
    ]
    grid = np.unique(np.concatenate([places for places, _ in steps]))
    grid = grid[(grid >= begin) & (grid <= min(open_ends, default=np.inf))]
    if not grid.size:
        return None
    rows = np.stack(
        [scores[np.searchsorted(places, grid, side="right") - 1] for places, scores in steps]
    )
    low, high = _band(rows)
    return Curve(grid, rows.mean(axis=0), low, high, len(runs))


def _axis_values(run: Run, axis: Axis) -> Values:
    return np.array([getattr(p, axis) for p in run.points], dtype=np.float64)


def _band(rows: Values) -> tuple[Values, Values]:
    """Percentile-bootstrap intervals of the columns' means; nan where there is but one row.

    All columns share the resamples, so that a whole curve costs one matrix product.
    """
    count = len(rows)
    if count < 2:
        nothing = np.full(rows.shape[1], np.nan)
        return nothing, nothing
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    means = [drawn @ rows[:, i : i + _COLUMNS] / count for i in range(0, rows.shape[1], _COLUMNS)]
    bounds = np.concatenate([np.quantile(m, [0.025, 0.975], axis=0) for m in means], axis=1)
    low, high = np.clip(bounds, rows.min(axis=0), rows.max(axis=0))  # rounding adds no width
    return low, high


#: Inches: the width of a column in the two-column formats of most conferences.
WIDTH, HEIGHT = 3.25, 2.2

#: Letters of a line of the legend.
_LETTERS = 44

#: Okabe and Ito's palette, which readers with any colour vision tell apart, without its yellow.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: Mapping[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "promptpo",
    "savefig.dpi": 300,
}

#: What the axes of learning curves are called.
AXIS_WORDS: Mapping[Axis, str] = {
    "steps": "environment steps of search",
    "calls": "calls of the model",
    "cost": "cost of model calls (US dollars)",
}


def figures(panels: Sequence[Panel], formats: Sequence[str]) -> dict[str, bytes]:
    """Return files by name: ``curves_steps.png``, ``curves_cost.svg``, ...; a panel for each task.

    There is no figure over cost where no run of known price has cost anything. Raises UsageError
    where matplotlib is not installed.
    """
    files: dict[str, bytes] = {}
    axes: tuple[Axis, ...] = ("steps", "cost")
    with paper_style("png and svg need"):
        for axis in axes:
            charts = {}
            for panel in panels:
                curves = {g.label: curve(g, axis, panel.measures[0]) for g in panel.groups}
                drawn = {label: c for label, c in curves.items() if c is not None}
                if chart := curves_chart(panel, axis, panel.measures[0], drawn):
                    charts[panel] = chart
            for form in formats if charts else ():  # drawn anew: a second layout differs a little
                figure = _figure([*charts], [*charts.values()])
                files[f"curves_{axis}.{form}"] = saved(figure, form)
    return files


@contextlib.contextmanager
def paper_style(who: str = "figures need") -> Iterator[None]:
    """Draw as papers want it, whatever the user's own settings of matplotlib.

    Raises UsageError where it is not installed, which ``who`` begins.
    """
    try:
        import matplotlib
    except ImportError:
        raise UsageError(
            f"{who} the package 'matplotlib'; run: pip install 'promptpo[plots]'"
        ) from None
    style: Any = {**matplotlib.rcParamsDefault, **_STYLE, "backend": "agg"}
    with matplotlib.rc_context(style):
        yield


def saved(figure: Figure, form: str) -> bytes:
    """Return a figure as a file of the format ``form``: the same figure, the same bytes."""
    buffer = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=form, metadata=undated.get(form))
    return buffer.getvalue()


def curves_chart(
    panel: Panel, axis: Axis, measure: Measure, curves: Mapping[str, Curve]
) -> Chart | None:
    """Return the curves of a task's groups, by label, as a chart; None where there is none.

    A group that has spent nothing has no curve over calls and cost. The last value of a curve holds
    up to the end of the axis if all its runs are over.
    """
    drawn = {k: c for k, c in curves.items() if axis == "steps" or c.x[-1] > 0}
    if not drawn:
        return None
    right = 1.03 * max(float(c.x[-1]) for c in drawn.values())
    lines = []
    for group in panel.groups:
        if (c := drawn.get(group.label)) is not None:
            x, y, low, high = ([*map(float, v)] for v in (c.x, c.mean, c.low, c.high))
            over = all(run.is_over for run in group.runs if run.points)
            lines.append(Line(group.label, x, y, low, high, end=right if over else x[-1]))
    references = levels(panel.references, measure)
    title = f"Best {in_words(measure)} in search on {panel.name} over {AXIS_WORDS[axis]}"
    bounds = (-0.04, 1.04) if measure == "success" else None
    return Chart(title, AXIS_WORDS[axis], tuple(lines), references, bounds, right=right)


def draw_lines(
    axes: Axes,
    chart: Chart,
    looks: Mapping[str, Mapping[str, Any]],
    also: Sequence[float] = (),
) -> tuple[dict[str, Any], Scale]:
    """Draw the lines of a chart as steps with their bands; return these by name, and the axis.

    ``looks`` are colours and styles by name; ``also`` are values that the axis has room for.
    """
    scale = Scale(*vertical(chart, also), 0, 1)
    axes.set_xlim(chart.left, chart.right)
    axes.set_ylim(scale.low, scale.high)
    artists, row = {}, 0
    for line in chart.lines:
        x = [*line.x, line.right]
        y, low, high = ([*v, v[-1]] for v in (line.y, line.low, line.high))
        (artists[line.name],) = axes.step(x, y, where="post", **looks[line.name])
        colour = looks[line.name]["color"]
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.16, linewidth=0)
        for values in (line.low, line.high, line.y):
            for at, side, ends in stretches(line, values, scale):
                number = short_range(ends) if values is line.y else ""
                _mark_beyond(axes, at, number, side, colour, row)
                row += values is line.y
    return artists, scale


def _mark_beyond(
    axes: Axes, x: float, number: str, side: int, colour: str, row: int, align: str = "left"
) -> None:
    """Draw an arrow at the upper or the lower edge, and a number beside it in a row of its own."""
    edge = axes.get_ylim()[side > 0]
    marker = "^" if side > 0 else "v"
    axes.plot([x], [edge], marker, color=colour, markersize=4, clip_on=False, zorder=5)
    axes.annotate(
        number, (x, edge), (5 if align == "left" else -5, -side * (3 + 7 * row)), fontsize=6,
        textcoords="offset points", color=colour, ha=align, va="top" if side > 0 else "bottom",
    )  # fmt: skip


def looks_of(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return a colour and a style for each label; 28 differ."""
    return {
        label: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)]}
        for i, label in enumerate(labels)
    }


def _figure(panels: Sequence[Panel], charts: Sequence[Chart]) -> Figure:
    from matplotlib.figure import Figure

    heights = []
    for panel in panels:  # the curves, and the lines of their legend
        words = (f"{group.label} (00 runs)" for group in panel.groups)
        count = sum(len(textwrap.wrap(w, _LETTERS)) for w in words)
        heights += [HEIGHT, 0.1 + 0.15 * count]
    figure = Figure(figsize=(WIDTH, sum(heights)), layout="constrained")
    grid = figure.subplots(len(heights), 1, gridspec_kw={"height_ratios": heights})
    for number, (panel, chart) in enumerate(zip(panels, charts, strict=True)):
        axes, below = grid[2 * number], grid[2 * number + 1]
        _draw(axes, panel, chart)
        below.legend(*axes.get_legend_handles_labels(), loc="upper center", frameon=False)
        below.set_axis_off()
    return figure


def _draw(axes: Axes, panel: Panel, chart: Chart) -> None:
    """Draw curves from left to right, then the held-out scores of what they found."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    measure, looks = panel.measures[0], looks_of([group.label for group in panel.groups])
    scores = {group.label: sample_score(group, measure) for group in panel.groups}
    also = [v for score in scores.values() if score for v in _ends(score)]
    artists, scale = draw_lines(axes, chart, looks, also)
    right = float(chart.right or 1.0)
    for number, group in enumerate(panel.groups):
        points = [run for run in group.runs if run.points]
        words = f"{group.label} ({text.plural(len(points), 'run')})"
        if group.label in artists:
            place = right * (1.05 + 0.05 * number)
            if (score := scores[group.label]) is not None:
                _held_out(axes, score, place, number, looks[group.label]["color"], scale)
        else:
            axes.plot(
                [], [], " ", label=(missing := "no score yet" if not points else "cost unknown")
            )
            words = f"{group.label}: {missing}"
            artists[group.label] = axes.lines[-1]
        artists[group.label].set_label(textwrap.fill(words, _LETTERS))
    axes.set_xlim(0, right * (1.05 + 0.05 * len(panel.groups)))
    grey: dict[str, Any] = {"fontsize": 6, "color": "0.35", "textcoords": "offset points"}
    if any(group.tests for group in panel.groups):
        axes.axvline(right * 1.01, color="0.85", linewidth=0.6)
        frame = ("data", "axes fraction")
        axes.annotate("held-out", (right * 1.02, 1), (0, 1), xycoords=frame, va="bottom", **grey)
    lowest = -math.inf  # names keep a line's height between them
    for name, level in sorted(chart.references.items(), key=lambda item: item[1]):
        if not scale.side(level):
            axes.axhline(level, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        lowest = max(lowest + 0.055, scale(level))
        words = level_name(name, level, scale)
        axes.annotate(words, (1, lowest), (2, 0), xycoords="axes fraction", va="center", **grey)
    axes.set_title(panel.name, loc="left")
    axes.set_ylabel(f"best {in_words(measure)} in search so far")
    axes.set_xlabel(chart.words)
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, right)
    axes.set_xticks([tick for tick in ticks if tick <= right])
    if right > 1000:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _ends(score: SampleScore) -> tuple[float, ...]:
    """Return a score and the ends of its interval."""
    interval = score.interval
    return (score.mean,) if interval is None else (score.mean, interval.low, interval.high)


def _held_out(
    axes: Axes, score: SampleScore, x: float, number: int, colour: str, scale: Scale
) -> None:
    """Draw the held-out score of what was found, as a mark to the right of the curves."""
    ends = _ends(score)
    cut = [v for v in (ends[:1] if scale.side(ends[0]) else ends) if scale.side(v)]
    for end in cut:
        _mark_beyond(axes, x, short_range([end]), scale.side(end), colour, number, "right")
    if scale.side(score.mean):
        return
    bars = [[max(0.0, score.mean - min(ends))], [max(0.0, max(ends) - score.mean)]]
    axes.errorbar(
        [x], [score.mean], yerr=bars if len(ends) > 1 else None,
        fmt=MARKERS[number % len(MARKERS)], markersize=4, color=colour, markerfacecolor="white",
        capsize=2, linewidth=1,
    )  # fmt: skip
