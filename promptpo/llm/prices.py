"""What models cost, by litellm's price table, read without importing litellm (5 s)."""

from __future__ import annotations

import functools
import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo.llm.usage import dollars

#: The table that litellm itself goes by in a run: the one that it comes with, not a download.
_TABLE = "model_prices_and_context_window_backup.json"


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
    provider, slash, rest = model.partition("/")
    entry = _table().get(model)
    if entry is None and slash:
        entry = _table().get(rest)
        if entry is not None and entry.get("litellm_provider") != provider:
            entry = None
    if entry is None:
        return None
    prompt = dollars(entry.get("input_cost_per_token"))
    completion = dollars(entry.get("output_cost_per_token"))
    return Price(prompt, completion) if prompt and completion else None


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
