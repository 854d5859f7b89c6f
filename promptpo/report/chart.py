"""Charts as SVG. One drawing fits every screen: widths are shares of the page, heights and letters
are pixels, and lines are stretched in an inner drawing of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from promptpo.common import text
from promptpo.common.blocks import Chart, Line, Mark, Scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Pixels: the height of a chart of lines, of the room for its axis and for what failed, of a row of
#: a chart of scores, and between two names.
_HEIGHT, _AXIS, _STRIP, _ROW, _APART = 300, 44, 22, 30, 14

#: Units of the inner drawings that are stretched, the height of those of episodes, and points of a
#: line beyond which it is thinned.
_UNITS, _TRACE_HEIGHT, _POINTS = 1000, 180, 300

#: References that lie further off than this many heights of the lines are not drawn.
_FAR = 2.0


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


@dataclass(frozen=True)
class Scale:
    """A linear map from ``low`` .. ``high`` to places ``start`` .. ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the place of a value; NaN and values out of range stay within the frame."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
        return self.start + share * (self.stop - self.start)

    def percent(self, value: float) -> str:
        """Return the place of a value on a scale from 0 to 100, as SVG has it."""
        return f"{self(value):.2f}%"


def spread(values: Sequence[float], margin: float = 0.06) -> tuple[float, float]:
    """Return a range that holds all finite values with some air; it is never empty."""
    finite = [v for v in values if math.isfinite(v)] or [0.0]
    low, high = min(finite), max(finite)
    air = (high - low) * margin or abs(low) * 0.1 or 1.0
    return low - air, high + air


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers (1, 2 or 5 times a power of ten) within a range."""
    rough = (high - low) / max(count, 1)
    if not math.isfinite(rough) or rough <= 0:
        return [low]
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next((m * power for m in (1, 2, 5) if m * power >= rough), 10 * power)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_label(value: float) -> str:
    """Return ``0.5``, ``1,500``, ``25k``, ``1.2M``."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if suffix == "k" else size
            return f"{value / unit:g}{suffix}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def chart(drawn: Chart | Scores) -> Markup:
    """Return a chart as an SVG element that takes the width of the page."""
    return _scores(drawn) if isinstance(drawn, Scores) else _lines(drawn)


def near(references: Mapping[str, float], values: Sequence[float]) -> dict[str, float]:
    """Return the references that do not flatten lines of these values."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    room = _FAR * (high - low) or math.inf
    return {name: v for name, v in references.items() if low - room <= v <= high + room}


def _lines(drawn: Chart) -> Markup:
    top = 30 if drawn.spans else 12
    base = _HEIGHT - _AXIS
    bottom = base - (_STRIP if drawn.failures else 0)
    numbers = [v for line in drawn.lines for v in (*line.y, *line.low, *line.high)]
    values = [v for v in numbers if math.isfinite(v)]
    references = dict(drawn.references) if drawn.bounds else near(drawn.references, values)
    ends = [*(line.right for line in drawn.lines), *(at for at, _ in drawn.failures)]
    x = Scale(drawn.left, drawn.right or max(ends, default=0) or 1, 0, 100)
    y = Scale(*(drawn.bounds or spread([*values, *references.values()])), bottom, top)
    labels = [(100.0, y(v), name, "") for name, v in references.items()]
    labels += [(x(li.right), y(li.y[-1]), li.name, li.css) for li in drawn.lines if li.named]
    parts = [
        tag("title", drawn.title),
        tag("desc", "; ".join(map(_description, drawn.lines))),
        *_spans(drawn, x, top, base),
        *_axes(drawn, x, y, base),
        *(
            tag("line", class_="reference", x1="0", x2="100%", y1=y(v), y2=y(v))
            for v in references.values()
        ),
        *(_line(line, x, y) for line in drawn.lines),
        *_failures(drawn, x, bottom + _STRIP / 2),
        *_labels(labels, base),
    ]
    css = "chart named" if labels else "chart"
    return tag("svg", *parts, class_=css, height=_HEIGHT, role="img")


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
    for value in places:
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
        parts.append(tag("circle", tag("title", tip), cx=at, cy=level, r=4))
    return tag("g", *parts, class_=f"line {line.css}".strip())


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


def _labels(labels: Sequence[tuple[float, float, str, str]], base: float) -> Iterator[Markup]:
    """Yield names beside what they are of: (percent, pixels, name, class).

    One that would lie on another moves down, and is left out where there is no room.
    """
    placed: list[tuple[float, float]] = []
    for share, wanted, name, css in sorted(labels, key=lambda label: label[1]):
        above = [at + _APART for other, at in placed if abs(share - other) < 12]
        level = max([wanted, *above])
        if level <= base:
            placed.append((share, level))
            place = {"x": f"{share:.2f}%", "y": level + 4}
            yield tag("text", _short(name, 20), class_=f"tick label {css}".strip(), **place)


def _short(name: str, most: int) -> str:
    """Return a name, cut in the middle where it is long: its end may tell it from others."""
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def _scores(drawn: Scores) -> Markup:
    """Return a dot plot: a row for each value, on one axis."""
    ends = [(m.interval.low, m.interval.high) if m.interval else () for m in drawn.marks]
    values = [v for m, e in zip(drawn.marks, ends, strict=True) for v in (m.value, *e, *m.episodes)]
    x = Scale(*(drawn.bounds or spread(values)), 0, 100)
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
    parts = [tag("text", _short(mark.name, 22), class_="name", x=-14, y=y + 4.5, text_anchor="end")]
    for place in sorted({x.percent(v) for v in mark.episodes if math.isfinite(v)}):
        parts.append(tag("line", class_="rug", x1=place, x2=place, y1=y + 6, y2=y + 11))
    if mark.interval is not None:
        low, high = mark.interval.low, mark.interval.high
        words += f", {mark.interval.level:.0%} interval {text.number(low)} to {text.number(high)}"
        ends = {"x1": x.percent(low), "x2": x.percent(high)}
        parts.append(tag("line", class_="interval", y1=y, y2=y, **ends))
    parts.append(tag("circle", class_="dot", cx=at, cy=y, r=6.0 if mark.ours else 4.5))
    parts.append(tag("text", mark.label, class_="value", x="100%", dx=16, y=y + 4.5))
    return tag("g", tag("title", words), *parts, class_="row ours" if mark.ours else "row")


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
    moves = np.stack([np.diff(px), np.diff(py)], axis=1).astype(int)
    pairs = " ".join(f"{dx} {dy}" for dx, dy in moves.tolist() or [[0, 0]])
    return f"M{int(px[0])} {int(py[0])}l{pairs}"


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
