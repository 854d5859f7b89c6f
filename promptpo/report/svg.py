"""The few pieces that charts are drawn with: escaped SVG elements, scales, ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

#: Widths of the charts, in CSS pixels, for a wide screen and for a phone.
WIDE, NARROW = 952, 360


@dataclass(frozen=True)
class Charts:
    """One chart for a wide screen and for a phone."""

    wide: Markup
    narrow: Markup


def tag(name: str, *children: str, **attributes: object) -> Markup:
    """An element; every attribute and every child that is not Markup is escaped.

    Underscores in attribute names become hyphens, a trailing one is dropped (``class_``); an
    attribute that is None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(escape(child) for child in children)
    return Markup(f"<{name}{given}>{inner}</{name}>")  # noqa: S704 - all parts are escaped


def _plain(value: object) -> object:
    """Coordinates with one decimal are a tenth of a pixel: enough."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value


@dataclass(frozen=True)
class Scale:
    """A linear map from ``low`` .. ``high`` to pixels ``start`` .. ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Pixel of a value; NaN and values out of range stay within the frame."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
        return self.start + share * (self.stop - self.start)


def spread(values: Sequence[float], margin: float = 0.06) -> tuple[float, float]:
    """A range that holds all values with some air; never empty."""
    finite = [v for v in values if math.isfinite(v)] or [0.0]
    low, high = min(finite), max(finite)
    if low == high:
        air = abs(low) * 0.1 or 1.0
        return low - air, high + air
    air = (high - low) * margin
    return low - air, high + air


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About ``count`` round numbers (1, 2 or 5 times a power of ten) from ``low`` to ``high``."""
    step = _round_step((high - low) / max(count, 1))
    if step <= 0:
        return [low]
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _round_step(rough: float) -> float:
    if not math.isfinite(rough) or rough <= 0:
        return 0.0
    power: float = 10.0 ** math.floor(math.log10(rough))
    return next((m * power for m in (1, 2, 5) if m * power >= rough), 10 * power)


def tick_label(value: float) -> str:
    """``0.5``, ``1,500``, ``25k``, ``1.2M``."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if suffix == "k" else size
            return f"{value / unit:g}{suffix}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"
