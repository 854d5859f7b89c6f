"""The numbers that providers tell of a call, which may be anything."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: A provider's number above this is no count of tokens.
_MOST_TOKENS = 10**12

#: What providers call the tokens read from a cache, beside OpenAI's name for them.
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens", "cachedContentTokenCount")

#: The usage of a reply that nobody was asked for.
NO_TOKENS = {"prompt_tokens": 0, "completion_tokens": 0}


def tokens_of(usage: object) -> tuple[int | None, int | None]:
    """Prompt and completion tokens of a provider's raw usage, which may be anything.

    None (unknown) for what is no whole number of 0 or more, or is beyond all reason.
    """
    if not isinstance(usage, Mapping):
        return None, None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))


def cached_of(usage: object) -> int | None:
    """Prompt tokens that the provider read from its cache, of its raw usage.

    None (unknown) where it does not tell, or tells of more than the prompt had. Knows OpenAI's
    ``prompt_tokens_details.cached_tokens``, which litellm makes of what others say, Anthropic's
    ``cache_read_input_tokens``, Gemini's ``cachedContentTokenCount`` and DeepSeek's
    ``prompt_cache_hit_tokens``.
    """
    if not isinstance(usage, Mapping):
        return None
    prompt, _ = tokens_of(usage)
    if prompt == 0:
        return 0
    details = usage.get("prompt_tokens_details")
    told = [
        details.get("cached_tokens") if isinstance(details, Mapping) else None,
        *(usage.get(name) for name in _CACHED),
    ]
    counts = (_count(value) for value in told)
    cached = next((count for count in counts if count is not None), None)
    return None if cached is None or (prompt is not None and cached > prompt) else cached


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def dollars(cost: object) -> float | None:
    """A price; None (unknown) for what is no finite number of 0 or more."""
    if isinstance(cost, bool) or not isinstance(cost, int | float):
        return None
    return float(cost) if 0 <= cost < math.inf and cost <= _MOST_TOKENS else None
