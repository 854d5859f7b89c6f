"""What a policy that lives through several episodes has learned by each: its learning curve."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from promptpo.common import text
from promptpo.outcomes import LifePoint
from promptpo.report.curve_chart import LEFT, margin_for, reference_lines, vertical_axis
from promptpo.report.svg import Scale, spread, tag, ticks
from promptpo.report.tables import Cell, Table
from promptpo.stats import Interval
from promptpo.types import Rollout, Score

_TOP, _AXIS = 12, 44

#: Lives that are drawn one by one, at most: more of them are a smear.
_DRAWN = 12


def life_chart(test: Rollout, references: dict[str, Score], *, width: int, height: int) -> Markup:
    """Mean return of each episode of a life over its place, as an SVG of ``width`` by ``height``.

    The bars are 95% intervals over lives; the thin lines are single lives, where these are few.
    """
    points, bottom = test.life_curve, height - _AXIS
    lives = [[e.return_ for e in lived] for lived in test.lives]
    drawn = lives if len(lives) <= _DRAWN else []
    known = _within({k: s.mean_return for k, s in references.items()}, points)
    margin = margin_for(known, width)
    x = Scale(1, max(len(points), 2), LEFT + 16, width - margin - 10)
    ends = [v for p in points for v in _ends(p.interval)]
    values = [*(p.mean_return for p in points), *ends, *known.values()]
    y = Scale(*spread([*values, *(v for life in drawn for v in life)]), bottom, _TOP)
    parts = [
        tag("title", "Mean return of each episode of a life"),
        tag("desc", _description(points)),
        *vertical_axis(x.stop + 10, y),
        *_places(x, len(points), bottom, height),
        *(_line([*enumerate(life, 1)], x, y, "life") for life in drawn),
        *reference_lines(known, Scale(0, 1, LEFT, x.stop + 10), y, margin),
        _line([(p.episode, p.mean_return) for p in points], x, y, "winners"),
        *(_point(p, x, y) for p in points),
    ]
    return tag("svg", *parts, class_="chart", viewBox=f"0 0 {width} {height}", role="img")


def life_table(test: Rollout) -> Table:
    """The same in numbers."""
    rates = test.score.success_rate is not None
    columns = (("Episode of a life", True), ("Mean return", True), ("95% interval", True),
               *([("Success", True)] if rates else []), ("Lives", True))  # fmt: skip
    rows = tuple(
        (
            Cell(str(p.episode), p.episode),
            Cell(text.number(p.mean_return), p.mean_return),
            Cell(_interval_words(p.interval), p.mean_return),
            *(
                [Cell(f"{p.success_rate:.2f}", p.success_rate)]
                if p.success_rate is not None
                else []
            ),
            Cell(str(p.lives), p.lives),
        )
        for p in test.life_curve
    )
    caption = "What the policy returned in each episode of its life, over all lives"
    return Table(caption, columns, rows)


def _within(references: dict[str, float], points: Sequence[LifePoint]) -> dict[str, float]:
    """Reference values that do not flatten the curve."""
    values = [v for p in points for v in (p.mean_return, *_ends(p.interval))]
    low, high = min(values), max(values)
    room = high - low or abs(high) or 1.0
    return {k: v for k, v in references.items() if low - room <= v <= high + room}


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return (interval.low, interval.high) if interval else ()


def _interval_words(interval: Interval | None) -> str:
    ends = [text.number(v) for v in _ends(interval)]
    return " to ".join(ends) if ends else "-"


def _places(x: Scale, count: int, bottom: float, height: int) -> list[Markup]:
    """The axis of the episodes: whole numbers from 1 to the last."""
    parts = [tag("line", class_="axis", x1=LEFT, x2=x.stop + 10, y1=bottom, y2=bottom)]
    few = ticks(1, count, 10 if x.stop > 500 else 5)
    shown = [1, *(int(v) for v in few if v == int(v) and v >= 2)]
    for value in dict.fromkeys(shown):
        at = x(value)
        parts.append(tag("line", class_="axis", x1=at, x2=at, y1=bottom, y2=bottom + 4))
        words = {"class_": "tick", "text_anchor": "middle"}
        parts.append(tag("text", str(value), x=at, y=bottom + 18, **words))
    middle = (x.start + x.stop) / 2
    label = "episode of a life"
    parts.append(tag("text", label, class_="tick", x=middle, y=height - 6, text_anchor="middle"))
    return parts


def _line(values: Sequence[tuple[int, float]], x: Scale, y: Scale, css: str) -> Markup:
    points = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in values)
    return tag("polyline", class_=css, points=points)


def _point(point: LifePoint, x: Scale, y: Scale) -> Markup:
    at = x(point.episode)
    words = f"episode {point.episode}: mean return {text.number(point.mean_return)}"
    if point.interval:
        words += f", 95% interval {_interval_words(point.interval)}"
    dot = tag(
        "circle", tag("title", words), class_="dot winner", r=5, cx=at, cy=y(point.mean_return)
    )
    if not point.interval:
        return dot
    low, high = y(point.interval.low), y(point.interval.high)
    return tag("line", class_="spread", x1=at, x2=at, y1=low, y2=high) + dot


def _description(points: Sequence[LifePoint]) -> str:
    return "; ".join(f"episode {p.episode}: {text.number(p.mean_return)}" for p in points)
