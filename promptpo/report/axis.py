"""Axes: a range that shows what is to be compared, round numbers on it, and what lies beyond it.

One catastrophe must not flatten a chart: of -60, -193, -573 and -2.8 million the first three are to
be told apart, and the last is marked at the edge with its number. The range grows from the best
value to its nearest neighbours as long as they are within reach: ten times what lies between those
that it holds already, or twice as far from them as the largest of them is from zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from promptpo.common.blocks import Chart, Line, Scores

#: How far the next value may lie: in widths of the range, in sizes of what it holds, and in sizes
#: where it holds a single value, which nothing can flatten.
_WIDTHS, _SIZES, _SIZES_OF_ONE = 10.0, 2.0, 10.0

#: Widths of a range within which what is only compared with, as a reference value, stretches it.
_NEAR = 2.0


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
        share = min(max(share, 0.0), 1.0) if not math.isnan(share) else 0.0
        return self.start + share * (self.stop - self.start)

    def percent(self, value: float) -> str:
        """Return the place of a value on a scale from 0 to 100, as SVG has it."""
        return f"{self(value):.2f}%"

    def side(self, value: float) -> int:
        """Return -1 for a value below the range, 1 for one above it, 0 within it and for NaN."""
        return (value > self.high) - (value < self.low)


def compared(
    values: Iterable[float],
    best: float | tuple[float, float] | None = None,
    context: Iterable[float] = (),
) -> tuple[float, float]:
    """Return the smallest and the largest of what is to be compared.

    Args:
        values: what is compared; what is not finite does not count.
        best: what must be seen, a value or a range; the largest value by default.
        context: what is seen where it lies near.
    """
    above = sorted((v for v in values if math.isfinite(v)), reverse=True)
    if not above:
        above = sorted((v for v in context if math.isfinite(v)), reverse=True) or [0.0]
    low, high = best if isinstance(best, tuple) else (best, best)
    if low is None or high is None or not math.isfinite(high - low):
        low = high = above[0]
    below = sorted(v for v in above if v < low)
    above = [v for v in above if v > high]
    while above or below:
        up = above[-1] - high if above else math.inf
        down = low - below[-1] if below else math.inf
        if min(up, down) > _reach(low, high):
            break
        if down <= up:
            low = below.pop()
        else:
            high = above.pop()
    room = _NEAR * (high - low) or _reach(low, high)
    near = [v for v in context if low - room <= v <= high + room]
    return min(low, *near, low), max(high, *near, high)


def _reach(low: float, high: float) -> float:
    """Return how far from a range the next value may lie."""
    size, width = max(abs(low), abs(high)), high - low
    return max(_WIDTHS * width, _SIZES * size) if width else _SIZES_OF_ONE * size or math.inf


def spread(ends: tuple[float, float], margin: float = 0.06) -> tuple[float, float]:
    """Return a range with some air at both ends; it is never empty."""
    low, high = ends
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


def short_range(values: Sequence[float]) -> str:
    """Return values beyond an axis in three digits: ``-2.8M``, ``-3.1M to -2.8M``."""
    ends = dict.fromkeys(tick_label(float(f"{v:.3g}")) for v in (min(values), max(values)))
    return " to ".join(ends)


def vertical(drawn: Chart, also: Iterable[float] = ()) -> tuple[float, float]:
    """Return the vertical range of a chart: the lines in front are what must be seen.

    ``also``: values beside those of the lines.
    """
    if drawn.bounds:
        return drawn.bounds
    front = [line for line in drawn.lines if "lead" in line.css] or drawn.lines
    best = max((v for line in front for v in line.y if math.isfinite(v)), default=None)
    values = (v for line in drawn.lines for v in (*line.y, *line.low, *line.high))
    return spread(compared([*values, *also], best, drawn.references.values()))


def leaves(drawn: Chart) -> bool:
    """Return whether a value of a line lies beyond the vertical range."""
    low, high = vertical(drawn)
    return any(v < low or v > high for line in drawn.lines for v in line.y)


def horizontal(drawn: Scores) -> tuple[float, float]:
    """Return the range of a chart of scores."""
    if drawn.bounds:
        return drawn.bounds
    ours = (m.value for m in drawn.marks if m.ours and math.isfinite(m.value))
    best = max(ours, default=None) if drawn.best is None else drawn.best
    ends = (v for m in drawn.marks if m.interval for v in (m.interval.low, m.interval.high))
    values = (v for m in drawn.marks for v in (m.value, *m.episodes))
    return spread(compared([*values, *ends], best))


def short(name: str, most: int) -> str:
    """Return a name, cut in the middle where it is long: its end may tell it from others."""
    return name if len(name) <= most else f"{name[: most - 9]}…{name[-8:]}"


def level_name(name: str, value: float, y: Scale) -> str:
    """Return the name of a level, with its number where it lies beyond the axis."""
    if not (side := y.side(value)):
        return short(name, 20)
    return f"{short(name, 12)} {'↑' if side > 0 else '↓'} {short_range([value])}"


def stretches(
    line: Line, values: Sequence[float], y: Scale
) -> Iterator[tuple[float, int, list[float]]]:
    """Yield where values of a line leave the axis, on which side, the first and the last there.

    Each point with a tip is a stretch of its own.
    """
    sides = [y.side(v) for v in values]
    for (side, _), group in groupby(range(len(sides)), lambda i: (sides[i], i if line.tips else 0)):
        if side:
            beyond = [*group]
            ends = dict.fromkeys((values[beyond[0]], values[beyond[-1]]))
            yield line.x[beyond[0]], side, [*ends]
