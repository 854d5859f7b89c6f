"""The charts of a comparison's page as data: lines with bands, one a method."""

from __future__ import annotations

from collections.abc import Sequence

from promptpo.bench.statistics import Profile
from promptpo.common.blocks import Line
from promptpo.comparison.curves import Curve


def css_of(labels: Sequence[str]) -> dict[str, str]:
    """The class of each method's lines; there are eight, and then they begin again."""
    return {label: f"s{number % 8 + 1}" for number, label in enumerate(labels)}


def profile_line(name: str, css: str, profile: Profile) -> Line:
    """A performance profile."""
    x, y, low, high = (
        [*map(float, values)]
        for values in (profile.thresholds, profile.share, profile.low, profile.high)
    )
    return Line(name, x, y, low, high, end=x[-1], css=css)


def curve_line(name: str, css: str, curve: Curve, end: float) -> Line:
    """A learning curve, whose last value holds up to ``end``."""
    x, y, low, high = (
        [*map(float, values)] for values in (curve.x, curve.mean, curve.low, curve.high)
    )
    return Line(name, x, y, low, high, end=end, css=css)
