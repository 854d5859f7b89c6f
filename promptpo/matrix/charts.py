"""The charts of a comparison's page: lines with bands, one a method, on axes that all share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from markupsafe import Markup

from promptpo.comparison.curves import Curve
from promptpo.matrix.statistics import Profile, Values
from promptpo.report.svg import NARROW, WIDE, Charts, Scale, spread, tag, tick_label, ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 12, 44

#: Points of a curve that are drawn; a chart is a few hundred pixels wide.
_MOST = 300

#: Reference values that lie further off than this many heights of the curves are not drawn.
_FAR = 0.75


@dataclass(frozen=True)
class Line:
    """A step function: from ``x[i]`` on it is ``y[i]``, within ``low`` and ``high``, to ``end``.

    ``css`` is the class of its method (``s1``, ``s2``, ...).
    """

    name: str
    css: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    end: float


@dataclass(frozen=True)
class Frame:
    """What a chart is of: its title, the words of its axis, and the bounds that are known."""

    title: str
    words: str
    right: float
    left: float = 0.0
    bounds: tuple[float, float] | None = None


def css_of(labels: Sequence[str]) -> dict[str, str]:
    """The class of each method's lines; there are eight, and then they begin again."""
    return {label: f"s{number % 8 + 1}" for number, label in enumerate(labels)}


def profile_line(name: str, css: str, profile: Profile) -> Line:
    """A performance profile."""
    end = float(profile.thresholds[-1])
    found = (profile.thresholds, profile.share, profile.low, profile.high)
    x, y, low, high = map(_plain, found)
    return Line(name, css, x, y, low, high, end)


def curve_line(name: str, css: str, curve: Curve, end: float) -> Line:
    """A learning curve, whose last value holds up to ``end``; thinned to what can be seen."""
    kept = np.arange(len(curve.x))
    if len(kept) > _MOST:
        kept = np.unique(np.linspace(0, len(kept) - 1, _MOST).round().astype(int))
    x, y, low, high = (_plain(v[kept]) for v in (curve.x, curve.mean, curve.low, curve.high))
    return Line(name, css, x, y, low, high, end)


def _plain(values: Values) -> tuple[float, ...]:
    return tuple(map(float, values))


def line_charts(
    lines: Sequence[Line], frame: Frame, references: Mapping[str, float] | None = None
) -> Charts:
    """The chart for a wide screen and for a phone."""
    known = references or {}
    return Charts(
        _line_chart(lines, frame, known, width=WIDE, height=300),
        _line_chart(lines, frame, known, width=NARROW, height=260),
    )


def _line_chart(
    lines: Sequence[Line], frame: Frame, references: Mapping[str, float], *, width: int, height: int
) -> Markup:
    values = [v for line in lines for v in (*line.y, *line.low, *line.high) if math.isfinite(v)]
    near = dict(references) if frame.bounds else _near(references, values)
    bottom = height - _BOTTOM
    x = Scale(frame.left, frame.right, _LEFT, width - _RIGHT)
    y = Scale(*(frame.bounds or spread([*values, *near.values()])), bottom, _TOP)
    parts = [
        tag("title", frame.title),
        tag("desc", "; ".join(f"{line.name}: {line.y[-1]:.4g} at last" for line in lines)),
        *_axes(x, y, frame.words, bottom, height),
        *_reference_lines(near, x, y),
        *(part for line in lines if (part := _band(line, x, y, many=len(lines) > 4))),
        *(_stroke(line, x, y) for line in lines),
    ]
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img")


def _near(references: Mapping[str, float], values: Sequence[float]) -> dict[str, float]:
    """References that do not flatten the lines."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = _FAR * (high - low) if high > low else math.inf
    return {name: v for name, v in references.items() if low - room <= v <= high + room}


def _axes(x: Scale, y: Scale, words: str, bottom: float, height: int) -> Iterator[Markup]:
    for value in ticks(y.low, y.high, 5):
        at = y(value)
        yield tag("line", class_="grid", x1=_LEFT, x2=x.stop, y1=at, y2=at)
        place = {"x": _LEFT - 8, "y": at + 4}
        yield tag("text", tick_label(value), class_="tick", text_anchor="end", **place)
    yield tag("line", class_="axis", x1=_LEFT, x2=x.stop, y1=bottom, y2=bottom)
    middle = {"class_": "tick", "text_anchor": "middle"}
    for value in ticks(x.low, x.high, 6 if x.stop > 500 else 4):
        at = x(value)
        yield tag("line", class_="axis", x1=at, x2=at, y1=bottom, y2=bottom + 4)
        yield tag("text", tick_label(value), x=at, y=bottom + 18, **middle)
    yield tag("text", words, x=(x.start + x.stop) / 2, y=height - 6, **middle)


def _reference_lines(references: Mapping[str, float], x: Scale, y: Scale) -> Iterator[Markup]:
    """Dashed, the name above the right end; a name that would lie on another is left out."""
    free = -math.inf
    for name, value in sorted(references.items(), key=lambda item: -item[1]):
        at = y(value)
        yield tag("line", class_="reference", x1=x.start, x2=x.stop, y1=at, y2=at)
        place = at - 5 if at - 5 > _TOP + 8 else at + 14
        if place >= free:
            yield tag("text", name, class_="halo tick", x=x.stop - 4, y=place, text_anchor="end")
            free = place + 14


def _band(line: Line, x: Scale, y: Scale, *, many: bool) -> Markup | None:
    """The interval; fainter where many lie on each other."""
    if not all(map(math.isfinite, (*line.low, *line.high))):
        return None
    upper = _corners(replace(line, y=line.high), x, y)
    lower = _corners(replace(line, y=line.low), x, y)
    points = " ".join([*upper, *reversed(lower)])
    css = f"series-band {line.css}{' many' if many else ''}"
    return tag("polygon", class_=css, points=points)


def _stroke(line: Line, x: Scale, y: Scale) -> Markup:
    points = " ".join(_corners(line, x, y))
    return tag("polyline", tag("title", line.name), class_=f"series {line.css}", points=points)


def _corners(line: Line, x: Scale, y: Scale) -> list[str]:
    """The corners of the steps."""
    corners = []
    ends = [*line.x, max(line.end, line.x[-1])]
    for value, (start, stop) in zip(line.y, pairwise(ends), strict=True):
        at = y(value)
        corners += [f"{x(start):.1f},{at:.1f}", f"{x(stop):.1f},{at:.1f}"]
    return corners
