"""The numbers that providers tell of a call, which may be anything."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: A provider's number above this is no count of tokens.
_MOST_TOKENS = 10**12


def tokens_of(usage: object) -> tuple[int | None, int | None]:
    """Prompt and completion tokens of a provider's raw usage, which may be anything.

    None (unknown) for what is no whole number of 0 or more, or is beyond all reason.
    """
    if not isinstance(usage, Mapping):
        return None, None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def dollars(cost: object) -> float | None:
    """A price; None (unknown) for what is no finite number of 0 or more."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost < math.inf and cost <= _MOST_TOKENS else None
