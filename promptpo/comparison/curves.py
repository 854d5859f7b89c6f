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

from promptpo.comparison.groups import Group, Panel
from promptpo.comparison.scores import Measure, sample_score, value
from promptpo.errors import UsageError
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
    """The curve of the runs that have scored; None where there is none, or a price is unknown.

    It begins where every run has a score. A run that is over keeps its last score; one that is
    not (going, killed, interrupted, failed) may still rise, and the curve ends where its record
    does. The score is the best of all candidates' search episodes: it is optimistic, as the
    best of many noisy means is.
    """
    runs = [run for run in group.runs if run.points]
    if not runs or (axis == "cost" and any(p.cost is None for r in runs for p in r.points)):
        return None
    steps = [
        (_axis_values(run, axis), np.array([value(p.best, measure) for p in run.points]))
        for run in runs
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
    found = [getattr(p, axis) for p in run.points]
    return np.array(found, dtype=np.float64)


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
    """Files by name: ``curves_steps.png``, ``curves_cost.svg``, ...; one axes below another.

    There is no figure over cost where no run of known price has cost anything. Raises UsageError
    where matplotlib is not installed.
    """
    found: dict[str, bytes] = {}
    axes: tuple[Axis, ...] = ("steps", "cost")
    with paper_style("png and svg need"):
        for axis in axes:
            drawn = [panel for panel in panels if has_curve(panel, axis)]
            if not drawn:
                continue
            figure = _figure(drawn, axis)
            found |= {f"curves_{axis}.{form}": saved(figure, form) for form in formats}
    return found


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
    """A figure as a file of the format ``form``: the same figure, the same bytes."""
    buffer = io.BytesIO()
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(buffer, format=form, metadata=undated.get(form))
    return buffer.getvalue()


def has_curve(panel: Panel, axis: Axis) -> bool:
    """Whether there is anything to draw: for cost, a price that is known and is not 0."""
    found = [curve(group, axis, panel.measures[0]) for group in panel.groups]
    return any(c is not None and (axis == "steps" or c.x[-1] > 0) for c in found)


def _figure(panels: Sequence[Panel], axis: Axis) -> Figure:
    from matplotlib.figure import Figure

    rows = [HEIGHT + 0.14 * len(panel.groups) for panel in panels]
    figure = Figure(figsize=(WIDTH, sum(rows)), layout="constrained")
    grid = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": rows})
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        _draw(axes, panel, axis)
    return figure


def _draw(axes: Axes, panel: Panel, axis: Axis) -> None:
    """Curves from left to right, then the held-out scores of what they found."""
    measure = panel.measures[0]
    curves = [curve(group, axis, measure) for group in panel.groups]
    right = max(float(c.x[-1]) for c in curves if c is not None)
    for number, (group, c) in enumerate(zip(panel.groups, curves, strict=True)):
        if c is None:
            points = any(run.points for run in group.runs)
            missing = "cost unknown" if points else "no score yet"
            axes.plot([], [], " ", label=_wrapped(f"{group.label}: {missing}"))
            continue
        colour, style = COLOURS[number % len(COLOURS)], STYLES[number % len(STYLES)]
        runs = f"{c.runs} runs" if c.runs > 1 else "1 run"
        over = all(run.is_over for run in group.runs if run.points)
        x, mean, low, high = _extended(c, right if over else float(c.x[-1]), right)
        label = _wrapped(f"{group.label} ({runs})")
        axes.step(x, mean, style, where="post", color=colour, label=label)
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.18, linewidth=0)
        _held_out(axes, group, measure, right * (1.08 + 0.05 * number), number)
    axes.set_xlim(0, right * (1.08 + 0.05 * len(curves)))
    if any(group.tests for group in panel.groups):
        axes.axvline(right * 1.04, color="0.85", linewidth=0.6)
        axes.annotate(
            "held-out", (right * 1.05, 1), (0, 1), textcoords="offset points", fontsize=6,
            color="0.35", xycoords=("data", "axes fraction"), va="bottom",
        )  # fmt: skip
    _references(axes, panel, measure)
    _label(axes, panel, axis, measure, right)


def _label(axes: Axes, panel: Panel, axis: Axis, measure: Measure, right: float) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axes.set_title(panel.name, loc="left")
    axes.set_ylabel(f"best {measure} in search so far")
    axes.set_xlabel(AXIS_WORDS[axis])
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(0, right)
    axes.set_xticks([tick for tick in ticks if tick <= right * 1.001])
    if axis == "steps":
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.3), frameon=False, borderaxespad=0)


def _wrapped(label: str) -> str:
    """A label in lines that fit under the axes."""
    return textwrap.fill(label, 44)


def _extended(c: Curve, end: float, right: float) -> tuple[Any, Any, Any, Any]:
    """The curve with its last value kept up to ``end``, and a little on, so that it shows."""
    more = [np.append(values, values[-1]) for values in (c.mean, c.low, c.high)]
    return np.append(c.x, end + 0.02 * right), more[0], more[1], more[2]


def _held_out(axes: Axes, group: Group, measure: Measure, x: float, number: int) -> None:
    """The held-out score of what was found, as a mark to the right of the curves."""
    found = sample_score(group, measure)
    if found is None:
        return
    bars = None
    if found.interval is not None:
        low, high = found.interval.low, found.interval.high
        bars = [[max(0.0, found.mean - low)], [max(0.0, high - found.mean)]]
    axes.errorbar(
        [x], [found.mean], yerr=bars, fmt=MARKERS[number % len(MARKERS)], markersize=4,
        color=COLOURS[number % len(COLOURS)], markerfacecolor="white", capsize=2, linewidth=1,
    )  # fmt: skip


def _references(axes: Axes, panel: Panel, measure: Measure) -> None:
    """The spec's reference values that lie near what is drawn; all where that is one level."""
    levels = {
        name: value(score, measure)
        for name, score in panel.references.items()
        if measure == "return" or score.success_rate is not None
    }
    low, high = axes.dataLim.intervaly
    if measure == "success":
        low, high = 0.0, 1.0
        axes.set_ylim(-0.04, 1.04)
    near = (high - low) / 2 if high > low else math.inf
    shown = {k: v for k, v in levels.items() if low - near <= v <= high + near}
    for level in shown.values():
        axes.axhline(level, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
    bottom, top = axes.get_ylim()
    lowest = -math.inf  # names keep a line's height between them
    for name, level in sorted(shown.items(), key=lambda item: item[1]):
        lowest = max(lowest + 0.055, (level - bottom) / (top - bottom))
        axes.annotate(
            name, (1, lowest), (2, 0), textcoords="offset points", fontsize=6, color="0.35",
            xycoords="axes fraction", va="center",
        )  # fmt: skip
