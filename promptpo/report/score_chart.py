"""The held-out score beside what is known of the task: one row each, on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from promptpo.common import text
from promptpo.report.svg import Scale, spread, tag, tick_label, ticks
from promptpo.stats import Interval
from promptpo.types import Rollout, Score

_ROW = 30
_TOP = 8
_AXIS = 26


@dataclass(frozen=True)
class Mark:
    """A row: a value, its interval if it has one, and the episodes behind it."""

    name: str
    value: float
    label: str
    interval: Interval | None = None
    episodes: Sequence[float] = ()
    ours: bool = False


def success_marks(test: Rollout, references: dict[str, Score]) -> list[Mark]:
    """Success rates, best first; empty where the task defines no success."""
    if not test.successes or test.successes[0] is None:
        return []
    rate = sum(map(bool, test.successes)) / len(test.successes)
    ours = Mark("this policy", rate, f"{rate:.2f}", test.success_interval, ours=True)
    known = [
        Mark(name, s.success_rate, f"{s.success_rate:.2f}")
        for name, s in references.items()
        if s.success_rate is not None
    ]
    return _ranked([ours, *known])


def return_marks(test: Rollout, references: dict[str, Score]) -> list[Mark]:
    """Mean returns, best first."""
    if not test.returns:
        return []
    mean = sum(test.returns) / len(test.returns)
    ours = Mark(
        "this policy", mean, text.number(mean), test.return_interval, test.returns, ours=True
    )
    known = [Mark(k, s.mean_return, text.number(s.mean_return)) for k, s in references.items()]
    return _ranked([ours, *known])


def _ranked(marks: list[Mark]) -> list[Mark]:
    return sorted(marks, key=lambda m: (-m.value, not m.ours))


def score_chart(
    marks: Sequence[Mark], title: str, *, width: int, bounds: tuple[float, float] | None = None
) -> Markup:
    """A dot plot of ``width`` units; ``bounds`` fixes the axis, else the values do."""
    widest = max((8.2 if m.ours else 7.2) * len(m.name) for m in marks)  # ours are bold
    left = max(min(8 + widest, width * 0.32), 84)
    low, high = bounds or spread([v for m in marks for v in _values(m)])
    scale = Scale(low, high, left + 8, width - 76)
    bottom = _TOP + _ROW * len(marks)
    parts = [tag("title", title), tag("desc", "; ".join(f"{m.name}: {m.label}" for m in marks))]
    parts += _axis(scale, bottom, width)
    for i, mark in enumerate(marks):
        parts.append(_row(mark, scale, _TOP + _ROW * (i + 0.5), left, width))
    return tag(
        "svg",
        *parts,
        class_="chart",
        viewBox=f"0 0 {width} {bottom + _AXIS}",
        role="img",
    )


def _values(mark: Mark) -> list[float]:
    interval = [mark.interval.low, mark.interval.high] if mark.interval else []
    return [mark.value, *interval, *mark.episodes]


def _axis(scale: Scale, bottom: float, width: int) -> list[Markup]:
    parts = []
    for value in ticks(scale.low, scale.high, 5 if width > 500 else 3):
        x = scale(value)
        parts.append(tag("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=bottom))
        label = tick_label(value)
        parts.append(tag("text", label, class_="tick", x=x, y=bottom + 17, text_anchor="middle"))
    return parts


def _row(mark: Mark, scale: Scale, y: float, left: float, width: int) -> Markup:
    """The name, the rug of episodes, the interval, the dot and the value of one row."""
    name = mark.name if len(mark.name) <= 22 else mark.name[:21] + "…"
    css = "row ours" if mark.ours else "row"
    parts = [
        tag("title", _row_words(mark)),
        tag("line", class_="track", x1=scale.start, x2=scale.stop, y1=y, y2=y),
        tag("text", name, class_="name", x=left - 4, y=y + 4.5, text_anchor="end"),
    ]
    for x in sorted({round(scale(v), 1) for v in mark.episodes if math.isfinite(v)}):
        parts.append(tag("line", class_="rug", x1=x, x2=x, y1=y + 6, y2=y + 11))
    if mark.interval is not None:
        ends = scale(mark.interval.low), scale(mark.interval.high)
        parts.append(tag("line", class_="interval", x1=ends[0], x2=ends[1], y1=y, y2=y))
    radius = 6 if mark.ours else 4.5
    parts.append(tag("circle", class_="dot", cx=scale(mark.value), cy=y, r=radius))
    parts.append(tag("text", mark.label, class_="value", x=width - 60, y=y + 4.5))
    return tag("g", *parts, class_=css)


def _row_words(mark: Mark) -> str:
    words = f"{mark.name}: {mark.label}"
    if mark.interval is not None:
        low, high = text.number(mark.interval.low), text.number(mark.interval.high)
        words += f", {mark.interval.level:.0%} interval {low} to {high}"
    return words
