"""How tuning went: the score of the values that stood, over the steps that it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from promptpo.common import text
from promptpo.racing import error_interval
from promptpo.report.curve_chart import LEFT, vertical_axis
from promptpo.report.svg import Scale, spread, tag, tick_label, ticks
from promptpo.stats import Interval, success_interval
from promptpo.tuning import Standpoint, TuningAccount

_TOP, _AXIS, _RIGHT = 12, 44, 14

#: Height of a line of text, and the width of a letter.
_LINE, _LETTER = 14, 7


@dataclass(frozen=True)
class Point:
    """What the values that stood after so many steps had scored."""

    steps: int
    value: float
    interval: Interval | None


@dataclass(frozen=True)
class Line:
    """One policy's tuning, which took ``steps`` in all."""

    name: str
    points: tuple[Point, ...]
    steps: int
    kept: bool


@dataclass(frozen=True)
class Label:
    """A name, beginning at a place of the chart."""

    x: float
    y: float
    name: str
    css: str

    def crosses(self, other: Label) -> bool:
        """Whether one lies above the other somewhere."""
        mine, its = self.x + _LETTER * len(self.name), other.x + _LETTER * len(other.name)
        return self.x < its and other.x < mine


def lines(tuned: dict[str, TuningAccount], *, success: bool) -> list[Line]:
    """A line for each account in which the policy got through its episodes at all."""
    found = []
    for name, account in tuned.items():
        points = tuple(p for s in account.history if (p := _point(s, success=success)))
        if points:
            found.append(Line(name, points, account.steps, account.kept))
    return found


def _point(standing: Standpoint, *, success: bool) -> Point | None:
    value = standing.success_rate if success else standing.mean_return
    return None if value is None else Point(standing.steps, value, interval(standing, value))


def interval(standing: Standpoint, value: float) -> Interval | None:
    """The 95% interval of a mean return, or of a success rate; None where it is not known."""
    if value == standing.success_rate and value != standing.mean_return:
        return success_interval(round(value * standing.episodes), standing.episodes)
    if standing.error is None:
        return None
    return error_interval(value, standing.error, standing.episodes)


def tuning_chart(
    drawn: Sequence[Line],
    references: dict[str, float],
    title: str,
    *,
    width: int,
    height: int,
    bounds: tuple[float, float] | None = None,
) -> Markup:
    """Steps that hold until the next judgement, each in its interval, named at their ends."""
    values = [v for line in drawn for p in line.points for v in _values(p)]
    known = references if bounds else _near(references, values)
    names = [*references, *((line.name for line in drawn) if len(drawn) > 1 else ())]
    margin = _RIGHT + _LETTER * max(map(len, names), default=0)
    bottom = height - _AXIS
    x = Scale(0, max(line.steps for line in drawn) or 1, LEFT, width - margin)
    y = Scale(*(bounds or spread([*values, *known.values()])), bottom, _TOP)
    ordered = sorted(drawn, key=lambda line: line.kept)  # what was kept lies on top
    labels = [Label(x.stop + 8, y(v), name, "halo tick") for name, v in known.items()]
    if len(drawn) > 1:
        labels += [
            Label(
                x(line.steps) + 8,
                y(line.points[-1].value),
                line.name,
                "halo tick own" if line.kept else "halo tick",
            )
            for line in drawn
        ]
    parts = [
        tag("title", title),
        tag("desc", "; ".join(map(_words, drawn))),
        *vertical_axis(x.stop, y),
        *_steps_axis(x, bottom, height),
        *(tag("line", class_="reference", x1=x.start, x2=x.stop, y1=y(v), y2=y(v))
          for v in known.values()),
        *(part for line in ordered for part in _drawn(line, x, y)),
        *placed(labels),
    ]  # fmt: skip
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img")


def _values(point: Point) -> list[float]:
    ends = [point.interval.low, point.interval.high] if point.interval else []
    return [point.value, *ends]


def _near(references: dict[str, float], values: Sequence[float]) -> dict[str, float]:
    """Reference values that do not flatten the lines."""
    room = max(values) - min(values)
    low, high = min(values) - room, max(values) + room
    return {name: v for name, v in references.items() if low <= v <= high}


def _drawn(line: Line, x: Scale, y: Scale) -> Iterator[Markup]:
    """The band of the intervals, the line of the means, a dot for each judgement."""
    css = "tuning kept" if line.kept else "tuning"
    ends = [p.interval or Interval(p.value, p.value) for p in line.points]
    upper = _held(line, [e.high for e in ends], x, y)
    lower = _held(line, [e.low for e in ends], x, y)
    outline = " ".join([*upper, *reversed(lower)])
    yield tag("polygon", class_=f"{css} range", points=outline)
    means = " ".join(_held(line, [p.value for p in line.points], x, y))
    yield tag("polyline", class_=css, points=means)
    for point in line.points:
        words = f"{line.name} after {point.steps:,} steps: {text.number(point.value)}"
        if point.interval is not None:
            low, high = text.number(point.interval.low), text.number(point.interval.high)
            words += f", 95% interval {low} to {high}"
        place = {"cx": x(point.steps), "cy": y(point.value), "r": 3.5}
        yield tag("circle", tag("title", words), class_=css, **place)


def _held(line: Line, values: Sequence[float], x: Scale, y: Scale) -> list[str]:
    """Corners of a line whose values hold until the next one."""
    found = []
    until = [*(p.steps for p in line.points[1:]), line.steps]
    for point, value, stop in zip(line.points, values, until, strict=True):
        at = y(value)
        found += [f"{x(point.steps):.1f},{at:.1f}", f"{x(stop):.1f},{at:.1f}"]
    return found


def _steps_axis(x: Scale, bottom: float, height: int) -> list[Markup]:
    parts = [tag("line", class_="axis", x1=LEFT, x2=x.stop, y1=bottom, y2=bottom)]
    middle = {"class_": "tick", "text_anchor": "middle"}
    for value in ticks(x.low, x.high, 6 if x.stop > 500 else 3):
        at = x(value)
        parts.append(tag("line", class_="axis", x1=at, x2=at, y1=bottom, y2=bottom + 4))
        parts.append(tag("text", tick_label(value), x=at, y=bottom + 18, **middle))
    words = "environment steps of this policy's tuning"
    parts.append(tag("text", words, x=(x.start + x.stop) / 2, y=height - 6, **middle))
    return parts


def placed(labels: Sequence[Label]) -> Iterator[Markup]:
    """Names beside what they are of; one that would lie on another moves down."""
    found: list[tuple[Label, float]] = []
    for label in sorted(labels, key=lambda label: label.y):
        place = label.y + 4
        for other, at in found:
            if place - at < _LINE and label.crosses(other):
                place = at + _LINE
        found.append((label, place))
        yield tag("text", label.name, class_=label.css, x=label.x, y=place)


def _words(line: Line) -> str:
    first, last = line.points[0], line.points[-1]
    return f"{line.name}: {text.number(first.value)} at first, {text.number(last.value)} at last"
