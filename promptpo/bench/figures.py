"""A suite's comparison as figures for papers: two columns wide, PDF and SVG, readable in grey."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.bench.aggregates import Aggregates, runs_words
from promptpo.bench.cells import Played
from promptpo.bench.statistics import Estimate
from promptpo.comparison.curves import AXES, Axis, Curve, curve
from promptpo.comparison.plot import AXIS_WORDS, COLOURS, MARKERS, STYLES, paper_style, saved

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Inches: the width of a page in the two-column formats of most conferences, heights of panels.
WIDTH, HEIGHT, ROW = 6.75, 1.6, 0.2

FORMATS = ("pdf", "svg")

#: Panels beside each other, and the most on one page; a suite of many specs has several.
_COLUMNS, _PANELS = 3, 12


def figures(played: Played, found: Aggregates) -> dict[str, bytes]:
    """Files by name: ``aggregates.pdf``, ``profile.pdf``, ``curves_steps.svg``, ...

    What has nothing to show is left out. Raises UsageError where matplotlib is not installed.
    """
    files: dict[str, bytes] = {}
    with paper_style():
        for name, figure in _figures(played, found):
            for form in FORMATS:
                files[f"{name}.{form}"] = saved(figure, form)
                figure.set_layout_engine("none")  # it stands: to arrange it takes as long again
    return files


def _figures(played: Played, found: Aggregates) -> Iterator[tuple[str, Figure]]:
    looks = _looks(played.labels)
    if found.methods:
        yield "aggregates", _aggregates(played, found, looks)
        yield "profile", _profile(played, found, looks)
        if len(found.methods) > 1:
            yield "improvement", _improvement(found)
    for axis in AXES:
        drawn = _curves(played, axis)
        pages = [drawn[i : i + _PANELS] for i in range(0, len(drawn), _PANELS)]
        for number, page in enumerate(pages, 1):
            name = f"curves_{axis}" if len(pages) == 1 else f"curves_{axis}_{number}"
            yield name, _curves_figure(played, page, axis, looks)


def _looks(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """A colour and a style for each method, the same in all figures; 28 differ."""
    return {
        label: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i % len(STYLES)]}
        for i, label in enumerate(labels)
    }


def _new(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _aggregates(played: Played, found: Aggregates, looks: Mapping[str, dict[str, Any]]) -> Figure:
    """One panel an aggregate, one row a method, the first on top."""
    names = list(next(iter(found.methods.values())))
    labels = list(found.methods)
    figure = _new(WIDTH, 0.75 + ROW * len(labels))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        for row, label in enumerate(labels):
            look = looks[label]["color"]
            _interval(axes, found.methods[label][name], row, look, MARKERS[row % len(MARKERS)])
        axes.set_title(f"{name} {'↓' if name == 'optimality gap' else '↑'}")
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.margins(x=0.12)
    specs = len(found.specs)
    figure.supxlabel(f"normalized score, {specs} specs, {runs_words(played)}", fontsize=8)
    return figure


def _interval(axes: Axes, found: Estimate, row: float, colour: str, marker: str) -> None:
    if found.interval is not None:
        ends = [found.interval.low, found.interval.high]
        axes.plot(ends, [row, row], "-", color=colour, alpha=0.35, linewidth=5,
                  solid_capstyle="butt")  # fmt: skip
    axes.plot([found.value], [row], marker, color=colour, markersize=4)


def _profile(played: Played, found: Aggregates, looks: Mapping[str, dict[str, Any]]) -> Figure:
    figure = _new(WIDTH / 2, 2.4 + 0.07 * len(found.profiles))
    axes = figure.subplots()
    for label, profile in found.profiles.items():
        look = looks[label]
        axes.step(profile.thresholds, profile.share, where="post", label=label, **look)
        axes.fill_between(profile.thresholds, profile.low, profile.high, step="post", alpha=0.15,
                          color=look["color"], linewidth=0)  # fmt: skip
    axes.set_xlabel("normalized score")
    axes.set_ylabel("share of runs above it")
    axes.set_ylim(0, 1.02)
    axes.set_xlim(float(next(iter(found.profiles.values())).thresholds[0]), None)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    axes.set_title(f"{len(found.specs)} specs, {runs_words(played)}", loc="left")
    return figure


def _improvement(found: Aggregates) -> Figure:
    """Each pair once, the one that is ahead on the left."""
    pairs = [i for i in found.improvements if i.estimate.value > 0.5]
    names = [(i.a, i.b) for i in pairs]
    even = [i for i in found.improvements if i.estimate.value == 0.5]
    pairs += [i for n, i in enumerate(even) if (i.b, i.a) not in {(j.a, j.b) for j in even[:n]}]
    pairs.sort(key=lambda i: -i.estimate.value)
    names = [(i.a, i.b) for i in pairs]
    figure = _new(WIDTH * 0.7, 0.6 + 0.17 * len(pairs))
    axes = figure.subplots()
    for row, pair in enumerate(pairs):
        _interval(axes, pair.estimate, row, COLOURS[0], "o")
    axes.axvline(0.5, color="0.6", linewidth=0.7, linestyle=(0, (2, 2)))
    axes.set_yticks(range(len(pairs)), [f"{a}  >  {b}" for a, b in names])
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlim(-0.02 if any(_low(p.estimate) < 0.45 for p in pairs) else 0.42, 1.03)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("probability that the first beats the second")
    return figure


def _low(found: Estimate) -> float:
    return found.interval.low if found.interval else found.value


def _curves(played: Played, axis: Axis) -> list[tuple[str, dict[str, tuple[Curve, bool]]]]:
    """The specs that have curves over an axis; whether the runs of a curve are all over."""
    found = []
    for panel in played.panels:
        measure = played.measure(panel.name)
        curves = {}
        for group in panel.groups:
            drawn = curve(group, axis, measure)
            if drawn is not None and (axis == "steps" or drawn.x[-1] > 0):
                over = all(run.is_over for run in group.runs if run.points)
                curves[group.label] = (drawn, over)
        if curves:
            found.append((panel.name, curves))
    return found


def _curves_figure(
    played: Played,
    page: Sequence[tuple[str, dict[str, tuple[Curve, bool]]]],
    axis: Axis,
    looks: Mapping[str, dict[str, Any]],
) -> Figure:
    """One panel a spec, one legend for all."""
    columns = min(_COLUMNS, len(page))
    rows = math.ceil(len(page) / columns)
    figure = _new(WIDTH, HEIGHT * rows + 0.6 + 0.13 * math.ceil(len(looks) / 3))
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    shown: dict[str, Any] = {}
    for number, (axes, (spec, curves)) in enumerate(zip(panels, page, strict=False)):
        _panel(axes, curves, looks, shown)
        axes.set_title(spec, loc="left", fontsize=7)
        if number + columns >= len(page):  # nothing is below it
            axes.set_xlabel(AXIS_WORDS[axis], fontsize=7)
        if played.measure(spec) == "success":
            axes.set_ylim(-0.04, 1.04)
    for axes in panels[len(page) :]:
        axes.set_visible(False)
    figure.supylabel("best score in search so far (optimistic)", fontsize=8)
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(
    axes: Axes,
    curves: Mapping[str, tuple[Curve, bool]],
    looks: Mapping[str, dict[str, Any]],
    shown: dict[str, Any],
) -> None:
    from matplotlib.ticker import EngFormatter

    right = 1.03 * max(float(c.x[-1]) for c, _ in curves.values())
    for label, (c, over) in curves.items():
        end = right if over else float(c.x[-1])
        x, mean, low, high = (
            np.append(v, last)
            for v, last in ((c.x, end), (c.mean, c.mean[-1]), (c.low, c.low[-1]),
                            (c.high, c.high[-1]))
        )  # fmt: skip
        (shown[label],) = axes.step(x, mean, where="post", **looks[label])
        colour = looks[label]["color"]
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    axes.set_xlim(0, right)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
