"""What a run has used: calls, tokens, dollars and environment steps, as far as they are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from promptpo.llm.messages import cached_of, dollars, tokens_of
from promptpo.store.events import Event
from promptpo.types import Stream


@dataclass(frozen=True)
class Usage:
    """Running totals of a run. Tokens and ``cost`` are None once those of any call are unknown.

    ``cached_tokens``: how many of the ``prompt_tokens`` providers have told to come from their
    caches, at the least; None where no call told any number.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: float | None = 0.0
    steps: Mapping[Stream, int] = field(default_factory=dict)
    cached_tokens: int | None = None

    @property
    def searched(self) -> int:
        """Environment steps of the search: those of tuning are part of it."""
        return searched(self.steps)

    @property
    def has_tokens(self) -> bool:
        """Whether the tokens of every call are known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None


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
        default_factory=lambda: {"search": 0, "tuning": 0, "selection": 0, "test": 0}
    )
    cached_tokens: int | None = None

    @classmethod
    def of(cls, events: Iterable[Event]) -> Tally:
        """All that the events of a log tell of: what a run has spent."""
        tally = cls()
        for event in events:
            tally.apply(event)
        return tally

    def apply(self, event: Event) -> None:
        """Count what an event tells of."""
        if event.type == "reply":
            self.count(event.data.get("usage"), event.data.get("cost"))
        elif event.type == "rollout":
            self.step(event.data["stream"], event.data["steps"])
        elif event.type == "tuning":
            self.step("tuning", sum(run["steps"] for run in event.data["runs"]))

    def count(self, usage: object, cost: object) -> None:
        """Add one reply."""
        prompt, completion = tokens_of(usage)
        price, cached = dollars(cost), cached_of(usage)
        self.calls += 1
        self.prompt_tokens = _sum(self.prompt_tokens, prompt)
        self.completion_tokens = _sum(self.completion_tokens, completion)
        self.cost = None if self.cost is None or price is None else self.cost + price
        if cached is not None:
            self.cached_tokens = (self.cached_tokens or 0) + cached
        self.known_tokens += (prompt or 0) + (completion or 0)
        self.known_cost += price or 0.0

    def step(self, stream: Stream, steps: int) -> None:
        """Add environment steps."""
        self.steps[stream] += steps

    @property
    def usage(self) -> Usage:
        """The totals as a record."""
        return Usage(
            self.calls,
            self.prompt_tokens,
            self.completion_tokens,
            self.cost,
            {**self.steps},
            self.cached_tokens,
        )


def searched(steps: Mapping[Stream, int]) -> int:
    """Of the environment steps by stream, those that a search has taken to come so far."""
    return steps.get("search", 0) + steps.get("tuning", 0)


def _sum(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total + part
