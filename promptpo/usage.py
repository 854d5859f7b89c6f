"""What model calls have used, as far as the providers' numbers tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from promptpo.types import Event, Stream, Usage

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


@dataclass
class Tally:
    """Counts calls, tokens, dollars and steps; a total is unknown once any part of it is.

    ``known_tokens`` and ``known_cost`` are what is known of them, the least that was spent.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: float | None = 0.0
    known_tokens: int = 0
    known_cost: float = 0.0
    steps: dict[Stream, int] = field(
        default_factory=lambda: {"search": 0, "selection": 0, "test": 0}
    )

    @classmethod
    def of(cls, events: Iterable[Event]) -> Tally:
        """All that the events of a log tell of: what a run has spent."""
        tally = cls()
        for event in events:
            if event.type == "reply":
                tally.count(event.data.get("usage"), event.data.get("cost"))
            elif event.type == "rollout":
                tally.step(event.data["stream"], event.data["steps"])
        return tally

    def count(self, usage: object, cost: object) -> None:
        """Add one reply."""
        prompt, completion = tokens_of(usage)
        price = dollars(cost)
        self.calls += 1
        self.prompt_tokens = _sum(self.prompt_tokens, prompt)
        self.completion_tokens = _sum(self.completion_tokens, completion)
        self.cost = None if self.cost is None or price is None else self.cost + price
        self.known_tokens += (prompt or 0) + (completion or 0)
        self.known_cost += price or 0.0

    def step(self, stream: Stream, steps: int) -> None:
        """Add environment steps."""
        self.steps[stream] = self.steps.get(stream, 0) + steps

    @property
    def usage(self) -> Usage:
        """The totals as a record."""
        return Usage(
            self.calls, self.prompt_tokens, self.completion_tokens, self.cost, {**self.steps}
        )


def _sum(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total + part
