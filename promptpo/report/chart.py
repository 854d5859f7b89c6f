"""Charts as SVG. One drawing fits every screen: widths are shares of the page, heights and letters
are pixels, and lines are stretched in an inner drawing of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from promptpo.common import text
from promptpo.common.blocks import Chart, Line, Mark, Scores
from promptpo.report.axis import (
    Scale,
    horizontal,
    level_name,
    short,
    short_range,
    stretches,
    tick_label,
    ticks,
    vertical,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Pixels: the height of a chart of lines, of the room for its axis and for what failed, of a row of
#: a chart of scores, and between two names.
_HEIGHT, _AXIS, _STRIP, _ROW, _APART = 300, 44, 22, 30, 14

#: Units of the inner drawings that are stretched, the height of those of episodes, and points of a
#: line beyond which it is thinned.
_UNITS, _TRACE_HEIGHT, _POINTS = 1000, 180, 300

#: Pixels that numbers at an edge take.
_EDGE = 26

#: Percent of the width within which numbers at an edge are told together.
_CLOSE = 24.0

#: Marks of what lies beyond an edge, to the right; the break of a bar that is cut.
_ARROW, _BREAK = "M-4 -5l9 5l-9 5z", "M-12 7l4 -14m3 14l4 -14"

#: How an arrow is turned, by the side that it points to.
_TURNS = {(1, 0): None, (-1, 0): "rotate(180)", (0, 1): "rotate(-90)", (0, -1): "rotate(90)"}


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """Return an element; every attribute and every child that is not Markup is escaped.

    Underscores in attribute names become hyphens, a trailing one is dropped (``class_``); an
    attribute that is None is left out. Numbers have one decimal.
    """
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(escape(child) for child in children)
    return Markup(f"<{name}{words}>{inner}</{name}>")  # noqa: S704 - all parts are escaped


def _plain(value: object) -> object:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


def chart(drawn: Chart | Scores) -> Markup:
    """Return a chart as an SVG element that takes the width of the page."""
    return _scores(drawn) if isinstance(drawn, Scores) else _lines(drawn)


def _lines(drawn: Chart) -> Markup:
    top = 30 if drawn.spans else 12
    base = _HEIGHT - _AXIS
    bottom = base - (_STRIP if drawn.failures else 0)
    ends = [*(line.right for line in drawn.lines), *(at for at, _ in drawn.failures)]
    x = Scale(drawn.left, drawn.right or max(ends, default=0) or 1, 0, 100)
    y = Scale(*vertical(drawn), bottom, top)
    references = drawn.references.items()
    labels = [(100.0, y(v), level_name(name, v, y), "") for name, v in references]
    labels += [(x(li.right), y(li.y[-1]), li.name, li.css) for li in drawn.lines if li.named]
    within = [y(v) for _, v in references if not y.side(v)]
    left = {y.side(v) for line in drawn.lines for v in line.y}  # numbers stand at these edges
    beyond = [f"{name}, beyond the axis: {text.number(v)}" for name, v in references if y.side(v)]
    parts = [
        tag("title", drawn.title),
        tag("desc", "; ".join([*map(_description, drawn.lines), *beyond])),
        *_spans(drawn, x, top, base),
        *_axes(drawn, x, y, base),
        *(tag("line", class_="reference", x1="0", x2="100%", y1=at, y2=at) for at in within),
        *(_line(line, x, y) for line in drawn.lines),
        *_numbers_beyond(drawn.lines, x, y),
        *_failures(drawn, x, bottom + _STRIP / 2),
        *_labels(labels, top + _EDGE * (1 in left), bottom - _EDGE * (-1 in left)),
    ]
    css = "chart named" if labels else "chart"
    return tag("svg", *parts, class_=css, height=_HEIGHT, role="img")


def _arrow(tip: str, across: int = 0, up: int = 0, *, cut: bool = False, **place: object) -> Markup:
    """Return an arrow at the edge of a chart, to the right or the left, or up or down.

    ``cut``: it ends a bar that is cut.
    """
    mark = tag("path", class_="arrow", d=_ARROW, transform=_TURNS[across, up])
    gap = tag("path", class_="break", d=_BREAK, transform=_TURNS[across, up])
    return tag("svg", tag("title", tip), mark, *([gap] if cut else []), **place)


def _description(line: Line) -> str:
    values = [text.number(v) for v in line.y]
    if len(values) > 12:
        values = [f"{values[0]} at first", f"{values[-1]} at last"]
    return f"{line.name}: {', '.join(values)}"


def _spans(drawn: Chart, x: Scale, top: float, base: float) -> Iterator[Markup]:
    """Yield a band for every other stretch, and the names of those that are wide enough."""
    free = -1.0
    for number, (start, stop, name) in enumerate(drawn.spans):
        width, middle = x(stop) - x(start), (x(start) + x(stop)) / 2
        if number % 2 == 0:
            size = {"x": x.percent(start), "width": f"{width:.2f}%"}
            yield tag("rect", class_="band", y=top, height=base - top, **size)
        short = name if width > 18 else name.split()[-1]
        if middle >= free:
            place = {"x": f"{middle:.2f}%", "y": top - 13, "text_anchor": "middle"}
            yield tag("text", short, class_="tick", **place)
            free = middle + 4


def _axes(drawn: Chart, x: Scale, y: Scale, base: float) -> Iterator[Markup]:
    for value in ticks(y.low, y.high):
        at = y(value)
        yield tag("line", class_="grid", x1="0", x2="100%", y1=at, y2=at)
        yield tag("text", tick_label(value), class_="tick", x=-8, y=at + 4, text_anchor="end")
    yield tag("line", class_="axis", x1="0", x2="100%", y1=base, y2=base)
    middle = {"class_": "tick", "text_anchor": "middle"}
    places = ticks(x.low, x.high, 6)
    if drawn.whole:
        rest = [v for v in ticks(x.low, x.high, 8) if v == int(v) and v > x.low]
        places = [x.low, *rest]
    for value in places if drawn.ticked else ():
        here = x.percent(value)
        yield tag("line", class_="axis", x1=here, x2=here, y1=base, y2=base + 4)
        yield tag("text", tick_label(value), x=here, y=base + 18, **middle)
    yield tag("text", drawn.words, x="50%", y=_HEIGHT - 6, **middle)


def _line(line: Line, x: Scale, y: Scale) -> Markup:
    """Return the stretched line and its band, then a dot and a bar for each point with a tip."""
    held = line.end is not None
    shapes = []
    if held and line.bounded:
        ends = [*_corners(line, line.high, x, y), *reversed(_corners(line, line.low, x, y))]
        shapes.append(tag("polygon", points=" ".join(ends)))
    corners = " ".join(_corners(line, line.y, x, y))
    shapes.append(tag("polyline", tag("title", line.name), points=corners))
    box = {"viewBox": f"0 0 {_UNITS} {_HEIGHT}", "width": "100%", "height": _HEIGHT}
    parts = [tag("svg", *shapes, preserveAspectRatio="none", **box)]
    for i, tip in enumerate(line.tips):
        at, level = x.percent(line.x[i]), y(line.y[i])
        if not held and line.low and line.low[i] < line.high[i]:
            bar = {"x1": at, "x2": at, "y1": y(line.low[i]), "y2": y(line.high[i])}
            parts.append(tag("line", class_="spread", **bar))
            cut = [v for v in (line.low[i], line.high[i]) if y.side(v) and not y.side(line.y[i])]
            parts += [_arrow(tip, up=y.side(v), x=at, y=y(v)) for v in cut]
        if side := y.side(line.y[i]):
            parts.append(_arrow(tip, up=side, x=at, y=level))
        else:
            parts.append(tag("circle", tag("title", tip), cx=at, cy=level, r=4))
    if not line.tips:
        for values, what in ((line.y, ""), (line.low, "interval "), (line.high, "interval ")):
            for place, side, there in stretches(line, values, y):
                words = f"{line.name}: {what}{text.span(*there)}"
                parts.append(_arrow(words, up=side, x=x.percent(place), y=y(there[0])))
    return tag("g", *parts, class_=f"line {line.css}".strip())


def _numbers_beyond(lines: Sequence[Line], x: Scale, y: Scale) -> Iterator[Markup]:
    """Yield the numbers of what lies beyond, those that are close to each other together."""
    for side, level in ((1, y.stop + 22), (-1, y.start - 14)):
        points = [
            (x(at), value)
            for line in lines
            for at, here, values in stretches(line, line.y, y)
            if here == side
            for value in values
        ]
        groups: list[list[tuple[float, float]]] = []
        for point in sorted(points):
            if groups and point[0] - groups[-1][0][0] < _CLOSE * (1 + (len(groups[-1]) > 1)):
                groups[-1].append(point)
            else:
                groups.append([point])
        for group in groups:
            start = group[0][0] < 50
            place = {"x": f"{group[0 if start else -1][0]:.2f}%", "y": level}
            place |= {"dx": 6, "text_anchor": "start"} if start else {"text_anchor": "end"}
            words = short_range([value for _, value in group])
            yield tag("text", words, class_="tick beyond", **place)


def _corners(line: Line, values: Sequence[float], x: Scale, y: Scale) -> list[str]:
    """Return the corners of a line in units of the inner drawing, thinned to what can be seen."""
    places = [*range(len(line.x))]
    if len(places) > _POINTS:
        places = [round(i * (len(line.x) - 1) / (_POINTS - 1)) for i in range(_POINTS)]
    across = [x(line.x[i]) * _UNITS / 100 for i in places]
    levels = [y(values[i]) for i in places]
    if line.end is None:
        return [f"{a:.1f},{b:.1f}" for a, b in zip(across, levels, strict=True)]
    stops = pairwise([*across, x(line.right) * _UNITS / 100])
    return [
        f"{at:.1f},{level:.1f}" for level, ends in zip(levels, stops, strict=True) for at in ends
    ]


def _failures(drawn: Chart, x: Scale, level: float) -> Iterator[Markup]:
    """Yield a cross for each, in a strip of its own below the values."""
    for at, tip in drawn.failures:
        mark = tag("path", tag("title", tip), class_="failure", d="M-4 -4l8 8m0 -8l-8 8")
        yield tag("svg", mark, x=x.percent(at), y=level)
    if drawn.failures:
        yield tag("text", "failed", class_="tick bad", x=-8, y=level + 4, text_anchor="end")


def _labels(
    labels: Sequence[tuple[float, float, str, str]], top: float, bottom: float
) -> Iterator[Markup]:
    """Yield names beside what they are of: (percent, pixels, name, class).

    One that would lie on another moves to the nearest room.
    """
    placed: list[tuple[float, float]] = []
    for share, level, name, css in sorted(labels, key=lambda label: label[1]):
        taken = [at for other, at in placed if abs(share - other) < 12]
        wanted = min(max(level, top), bottom)
        free = [
            there
            for there in (wanted, *(at + off for at in taken for off in (_APART, -_APART)))
            if top <= there <= bottom and all(abs(there - at) >= _APART for at in taken)
        ]
        here = min(free, key=lambda there: abs(there - wanted), default=wanted)
        placed.append((share, here))
        place = {"x": f"{share:.2f}%", "y": here + 4}
        yield tag("text", short(name, 24), class_=f"tick label {css}".strip(), **place)


def _scores(drawn: Scores) -> Markup:
    """Return a dot plot: a row for each value, on one axis."""
    x = Scale(*horizontal(drawn), 0, 100)
    base = 8 + _ROW * len(drawn.marks)
    parts = [
        tag("title", drawn.title),
        tag("desc", "; ".join(f"{m.name}: {m.label}" for m in drawn.marks)),
    ]
    for value in ticks(x.low, x.high):
        at = x.percent(value)
        parts.append(tag("line", class_="grid", x1=at, x2=at, y1=8, y2=base))
        words = {"x": at, "y": base + 17, "text_anchor": "middle"}
        parts.append(tag("text", tick_label(value), class_="tick", **words))
    parts += [_mark(m, x, 8 + _ROW * (i + 0.5)) for i, m in enumerate(drawn.marks)]
    longest = max((len(m.name) for m in drawn.marks), default=0)
    width = "short" if longest <= 12 else "middle" if longest <= 17 else "long"
    return tag("svg", *parts, class_=f"chart scores {width}", height=base + 26, role="img")


def _mark(mark: Mark, x: Scale, y: float) -> Markup:
    """Return the name, the rug of episodes, the interval, the dot and the value of one row."""
    words, at = f"{mark.name}: {mark.label}", x.percent(mark.value)
    parts = [tag("text", short(mark.name, 22), class_="name", x=-14, y=y + 4.5, text_anchor="end")]
    ends = [mark.interval.low, mark.interval.high] if mark.interval else []
    within = {x.percent(v) for v in mark.episodes if math.isfinite(v) and not x.side(v)}
    for place in sorted(within):
        parts.append(tag("line", class_="rug", x1=place, x2=place, y1=y + 6, y2=y + 11))
    if mark.interval is not None:
        words += f", {text.between(mark.interval)}"
        line = {"x1": x.percent(ends[0]), "x2": x.percent(ends[1])}
        parts.append(tag("line", class_="interval", y1=y, y2=y, **line))
    if here := x.side(mark.value):
        parts.append(_arrow(words, across=here, x=at, y=y))
    else:
        parts += _cut(mark, ends, x, y)
        parts.append(tag("circle", class_="dot", cx=at, cy=y, r=6.0 if mark.ours else 4.5))
    shown = mark.label if len(mark.label) <= 7 else short_range([mark.value])
    parts.append(tag("text", shown, class_="value", x="100%", dx=16, y=y + 4.5))
    return tag("g", tag("title", words), *parts, class_="row ours" if mark.ours else "row")


def _cut(mark: Mark, ends: Sequence[float], x: Scale, y: float) -> Iterator[Markup]:
    """Yield, at each edge that an interval or episodes leave by, an arrow and how far they go."""
    for side, edge in ((-1, "0"), (1, "100%")):
        bar = [v for v in ends if x.side(v) == side]
        episodes = [v for v in mark.episodes if x.side(v) == side]
        if not bar and not episodes:
            continue
        tip = f"{text.plural(len(episodes), 'episode')} beyond the axis"
        if bar:
            tip = f"interval to {text.number(bar[0])}"
        yield _arrow(tip, across=side, cut=bool(bar), x=edge, y=y if bar else y + 8.5)
        furthest = max([*bar, *episodes], key=abs)
        place = {
            "x": edge,
            "dx": -8 * side,
            "y": y + 13,
            "text_anchor": "end" if side > 0 else "start",
        }
        yield tag("text", f"to {short_range([furthest])}", class_="tick beyond", **place)


def trace(
    title: str,
    lines: Mapping[str, NDArray[np.float64]],
    bounds: tuple[float, float],
    points: int,
    *,
    steps: bool = False,
) -> Markup:
    """Return lines over the steps of an episode, stretched, the last one first, below the others.

    ``steps``: a value stays until the next one. A line has a gap where there is no number.
    """
    if steps:
        lines = {name: np.repeat(line, 2)[:-1] for name, line in lines.items()}
    x = Scale(0, max(max(map(len, lines.values())) - 1, 1), 0, 600)
    y = Scale(*bounds, _TRACE_HEIGHT, 0)
    paths = [
        tag("path", class_=f"trace {name}", d=_path(line, x, y, points))
        for name, line in reversed([*lines.items()])
    ]
    box = {"viewBox": f"0 0 600 {_TRACE_HEIGHT}", "preserveAspectRatio": "none"}
    return tag("svg", tag("title", title), *paths, role="img", **box)


def _path(line: NDArray[np.float64], x: Scale, y: Scale, points: int) -> str:
    there = np.concatenate([[False], ~np.isnan(line), [False]])
    edges = np.flatnonzero(there[1:] != there[:-1]).reshape(-1, 2).tolist()
    return "".join(
        _stretch(line[start:stop], start, x, y, max(points * (stop - start) // len(line), 2))
        for start, stop in edges[: max(points // 2, 1)]
    )


def _stretch(line: NDArray[np.float64], start: int, x: Scale, y: Scale, points: int) -> str:
    """Return a line without gaps, in whole units, each point relative to the one before."""
    finite = np.nan_to_num(line, posinf=y.high, neginf=y.low)
    index = decimated(finite, points)
    px = np.rint(x.start + (start + index - x.low) / (x.high - x.low) * (x.stop - x.start))
    share = np.clip((finite[index] - y.low) / (y.high - y.low), 0, 1)
    py = np.rint(y.start + share * (y.stop - y.start))
    moves = np.stack([np.diff(px), np.diff(py)], axis=1).astype(int).ravel()
    return f"M{int(px[0])} {int(py[0])}l{' '.join(map(str, moves.tolist() or [0, 0]))}"


def decimated(values: NDArray[np.float64], points: int) -> NDArray[np.intp]:
    """Return indices of at most ``points`` values that keep the extremes of each stretch."""
    count = len(values)
    if count <= points:
        return np.arange(count)
    stretch = math.ceil(count / max(points // 2 - 1, 1))
    padded = np.pad(values, (0, -count % stretch), mode="edge").reshape(-1, stretch)
    start = np.arange(len(padded)) * stretch
    picked = [[0, count - 1], start + padded.argmin(axis=1), start + padded.argmax(axis=1)]
    return np.unique(np.minimum(np.concatenate(picked), count - 1))
