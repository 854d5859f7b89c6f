"""The weights of instructions, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from promptpo.report.curve_chart import LEFT, vertical_axis
from promptpo.report.svg import Scale, spread, tag, tick_label, ticks
from promptpo.report.tuning_chart import Label, placed

_TOP, _AXIS, _RIGHT, _LETTER = 12, 44, 14, 7


@dataclass(frozen=True)
class Line:
    """One instruction's weight after each round; ``lead``: the heaviest, ``gone``: dropped."""

    name: str
    points: tuple[tuple[int, float], ...]
    lead: bool = False
    gone: bool = False


def population_chart(lines: Sequence[Line], *, width: int, height: int) -> Markup:
    """A line for each, named at its end, with a cross there where the instruction was dropped."""
    last = max(number for line in lines for number, _ in line.points)
    values = [weight for line in lines for _, weight in line.points]
    margin = _RIGHT + _LETTER * max(len(line.name) for line in lines)
    bottom = height - _AXIS
    x = Scale(0, last, LEFT, width - margin)
    y = Scale(*spread([*values, 0.0]), bottom, _TOP)
    ordered = sorted(lines, key=lambda line: (line.lead, not line.gone))
    parts = [
        tag("title", "Weight of each instruction after each round"),
        tag("desc", "; ".join(map(_words, lines))),
        *vertical_axis(x.stop, y),
        *_rounds_axis(x, bottom, height),
        *(part for line in ordered for part in _drawn(line, x, y)),
        *placed([_label(line, x, y) for line in ordered]),
    ]
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img")


def _drawn(line: Line, x: Scale, y: Scale) -> Iterator[Markup]:
    css = "weight lead" if line.lead else "weight gone" if line.gone else "weight"
    corners = " ".join(f"{x(number):.1f},{y(weight):.1f}" for number, weight in line.points)
    yield tag("polyline", class_=css, points=corners)
    for number, weight in line.points[:-1] if line.gone else line.points:
        title = tag("title", f"{line.name} after round {number}: {weight:+.2f}")
        yield tag("circle", title, class_=css, cx=x(number), cy=y(weight), r=3)
    if line.gone:
        number, weight = line.points[-1]
        d = f"M{x(number) - 4:.1f} {y(weight) - 4:.1f}l8 8m0 -8l-8 8"
        title = tag("title", f"{line.name}: dropped after round {number}, {weight:+.2f}")
        yield tag("path", title, class_="failure", d=d)


def _label(line: Line, x: Scale, y: Scale) -> Label:
    number, weight = line.points[-1]
    css = "halo tick own" if line.lead else "halo tick"
    return Label(x(number) + 8, y(weight), line.name, css)


def _rounds_axis(x: Scale, bottom: float, height: int) -> Iterator[Markup]:
    yield tag("line", class_="axis", x1=x.start, x2=x.stop, y1=bottom, y2=bottom)
    middle = {"class_": "tick", "text_anchor": "middle"}
    whole = [v for v in ticks(x.low, x.high, min(int(x.high), 10)) if v == int(v)]
    for value in whole:
        at = x(value)
        yield tag("line", class_="axis", x1=at, x2=at, y1=bottom, y2=bottom + 4)
        yield tag("text", tick_label(value), x=at, y=bottom + 18, **middle)
    yield tag("text", "rounds", x=(x.start + x.stop) / 2, y=height - 6, **middle)


def _words(line: Line) -> str:
    return f"{line.name}: {line.points[-1][1]:+.2f} after round {line.points[-1][0]}"
