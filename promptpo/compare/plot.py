"""Learning curves as figures for papers: one column wide, text as text, readable in grey."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.compare.curves import Axis, Curve, curve
from promptpo.compare.groups import Group, Panel
from promptpo.compare.history import Measure, value
from promptpo.compare.scores import group_score
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    "svg.hashsalt": "promptpo",
    "savefig.dpi": 300,
}

_AXIS_LABELS = {"steps": "environment steps of search", "cost": "cost of model calls (US dollars)"}


def figures(panels: Sequence[Panel], formats: Sequence[str]) -> dict[str, bytes]:
    """Files by name: ``curves_steps.png``, ``curves_cost.svg``, ...; one axes below another.

    There is no figure over cost where no run of known price has cost anything. Raises UsageError
    where matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise UsageError(
            "--png and --svg need the package 'matplotlib'; run: pip install 'promptpo[plots]'"
        ) from None
    found: dict[str, bytes] = {}
    axes: tuple[Axis, ...] = ("steps", "cost")
    style: Any = {**matplotlib.rcParamsDefault, **_STYLE, "backend": "agg"}  # not the user's own
    with matplotlib.rc_context(style):
        for axis in axes:
            drawn = [panel for panel in panels if has_curve(panel, axis)]
            if not drawn:
                continue
            figure = _figure(drawn, axis)
            for form in formats:
                buffer = io.BytesIO()
                date = {"Date": None} if form == "svg" else None
                figure.savefig(buffer, format=form, metadata=date)
                found[f"curves_{axis}.{form}"] = buffer.getvalue()
    return found


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
    grid[-1, 0].set_xlabel(_AXIS_LABELS[axis])
    return figure


def _draw(axes: Axes, panel: Panel, axis: Axis) -> None:
    measure = panel.measures[0]
    curves = [(i, g, curve(g, axis, measure)) for i, g in enumerate(panel.groups)]
    drawn = [(i, group, c) for i, group, c in curves if c is not None]
    right = max(float(c.x[-1]) for _, _, c in drawn)
    for i, group, c in drawn:
        colour = COLOURS[i % len(COLOURS)]
        style = STYLES[i % len(STYLES)]
        runs = f"{c.runs} runs" if c.runs > 1 else "1 run"
        x, mean, low, high = _extended(c, right if _all_over(group) else None)
        axes.step(x, mean, style, where="post", color=colour, label=f"{group.label} ({runs})")
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.18, linewidth=0)
        _held_out(axes, group, measure, right * (1.04 + 0.03 * i), i)
    _limits(axes, panel, measure)
    axes.set_title(panel.name, loc="left")
    axes.set_ylabel("success rate" if measure == "success" else "return")
    axes.ticklabel_format(axis="x", scilimits=(-3, 4), useMathText=True)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), frameon=False, borderaxespad=0)


def _all_over(group: Group) -> bool:
    return all(run.is_over for run in group.runs if run.points)


def _extended(c: Curve, right: float | None) -> tuple[Any, Any, Any, Any]:
    """The curve with its last value kept up to ``right``."""
    if right is None or right <= c.x[-1]:
        return c.x, c.mean, c.low, c.high
    more = [np.append(values, values[-1]) for values in (c.mean, c.low, c.high)]
    return np.append(c.x, right), more[0], more[1], more[2]


def _held_out(axes: Axes, group: Group, measure: Measure, x: float, number: int) -> None:
    """The held-out score of what was found, as a mark to the right of the curve."""
    found = group_score(group, measure)
    if found is None:
        return
    bars = None
    if found.interval is not None:
        bars = [
            [max(0.0, found.mean - found.interval.low)],
            [max(0.0, found.interval.high - found.mean)],
        ]
    axes.errorbar(
        [x], [found.mean], yerr=bars, fmt=MARKERS[number % len(MARKERS)], markersize=4,
        color=COLOURS[number % len(COLOURS)], markerfacecolor="white", capsize=2, linewidth=1,
    )  # fmt: skip


def _limits(axes: Axes, panel: Panel, measure: Measure) -> None:
    """Room for what is drawn, and the spec's reference values where they lie near it."""
    references = {
        name: value(score, measure)
        for name, score in panel.references.items()
        if measure == "return" or score.success_rate is not None
    }
    if measure == "success":
        axes.set_ylim(-0.04, 1.04)
    low, high = axes.get_ylim()
    span = high - low
    near = {k: v for k, v in references.items() if low - span / 2 <= v <= high + span / 2}
    for name, level in near.items():
        axes.axhline(level, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)), zorder=0)
        axes.annotate(
            name, (0, level), (2, 1.5), textcoords="offset points", fontsize=6, color="0.35",
            xycoords=("axes fraction", "data"), va="bottom",
        )  # fmt: skip
