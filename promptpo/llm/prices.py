"""What models cost, by litellm's price table, read without importing litellm (5 s)."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo.errors import UsageError
from promptpo.llm.providers import is_free
from promptpo.llm.usage import dollars

#: The table that litellm itself goes by in a run: the one that it comes with, not a download.
_TABLE = "model_prices_and_context_window_backup.json"

#: Names of prices that a call may be billed at.
_RATE = re.compile(
    r"(?:input_cost_per_token|output_cost_per_(?:reasoning_)?token|cache_creation_input_token_cost)"
    r"(?:_above_(?P<above>\d+)k_tokens)?"
)


@dataclass(frozen=True)
class Price:
    """US dollars for one token of a prompt, and for one of a reply."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars for so many."""
        return prompt_tokens * self.prompt + completion_tokens * self.completion


def price_of(model: str) -> Price | None:
    """The price of a model by its name, as ``--model`` takes it; None where it is not known.

    A price of 0 is not known either: litellm has it for servers of one's own.
    """
    entry = _entry(model)
    prompt = dollars(entry.get("input_cost_per_token"))
    completion = dollars(entry.get("output_cost_per_token"))
    return Price(prompt, completion) if prompt and completion else None


def dearest_price(model: str, prompt_tokens: int) -> Price | None:
    """The most that tokens may cost after a prompt of so many, none of it read from a cache.

    What is written to a cache may cost more than other input, and so may long prompts and thoughts.
    """
    price, entry = price_of(model), _entry(model)
    if price is None:
        return None
    dearest = {"prompt": price.prompt, "completion": price.completion}
    for name, value in entry.items():
        found = _RATE.fullmatch(name)
        if found and prompt_tokens > 1000 * int(found["above"] or 0):
            side = "completion" if name.startswith("output") else "prompt"
            dearest[side] = max(dearest[side], dollars(value) or 0.0)
    return Price(**dearest)


def longest_reply(model: str) -> int | None:
    """Tokens that a reply of a model has at most; None where it is not known."""
    most = _entry(model).get("max_output_tokens")
    return most if isinstance(most, int) and most > 0 else None


def check_priced(model: str, max_cost: float | None) -> None:
    """Raise UsageError where ``--max-cost`` is given and could not be held."""
    if max_cost is not None and not is_free(model) and price_of(model) is None:
        raise UsageError(
            f"--max-cost: the price of {model} is unknown, so it cannot be held; limit tokens"
            " instead, with --max-tokens"
        )


def _entry(model: str) -> Mapping[str, Any]:
    """What the table says of a model by its name; empty where it does not know it."""
    provider, slash, rest = model.partition("/")
    entry = _table().get(model)
    if entry is None and slash:
        entry = _table().get(rest)
        if entry and not str(entry.get("litellm_provider")).startswith(provider):
            entry = None
    return entry or {}


@functools.cache
def _table() -> Mapping[str, Any]:
    """Models by name; empty where this litellm keeps its table elsewhere."""
    found = importlib.util.find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found else ():
        try:
            table = json.loads((Path(folder) / _TABLE).read_bytes())
        except (OSError, ValueError):
            continue
        return {name: entry for name, entry in table.items() if isinstance(entry, dict)}
    return {}
