"""What a run has used, and the limits that end it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpo.config import RunConfig
from promptpo.methods.base import GoalReached, LimitReached
from promptpo.types import Round, Stream, Usage, best_round
from promptpo.ui.text import plural


def tokens_of(usage: Mapping[str, Any] | None) -> tuple[int, int]:
    """Prompt and completion tokens of a provider's raw usage; zeros where it gave none."""
    usage = usage or {}
    return int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)


@dataclass
class Ledger:
    """Counts calls, tokens, cost and steps, and knows what the limits still allow.

    ``earlier`` is the time in seconds that earlier sessions of a resumed run took.
    """

    config: RunConfig
    horizon: int
    earlier: float = 0.0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    steps: dict[Stream, int] = field(
        default_factory=lambda: {"search": 0, "selection": 0, "test": 0}
    )
    _started: float = field(default_factory=time.monotonic)
    _asked: int = 0

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken, earlier sessions included."""
        return self.earlier + time.monotonic() - self._started

    @property
    def usage(self) -> Usage:
        """The totals as a record."""
        return Usage(
            self.calls, self.prompt_tokens, self.completion_tokens, self.cost, {**self.steps}
        )

    def count_reply(self, usage: Mapping[str, Any] | None, cost: float | None) -> None:
        """A reply has come; one of unknown price makes the total unknown."""
        prompt, completion = tokens_of(usage)
        self.calls += 1
        self.prompt_tokens += prompt
        self.completion_tokens += completion
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def count_steps(self, stream: Stream, steps: int) -> None:
        """Environment steps were taken."""
        self.steps[stream] += steps

    def reserve_call(self) -> None:
        """Note that a call is about to be made. Raises LimitReached where none may be."""
        self.check()
        if self.config.max_calls is not None and self.calls + self._asked >= self.config.max_calls:
            raise LimitReached(f"the limit of {self.config.max_calls} model calls is reached")
        self._asked += 1

    def release_call(self) -> None:
        """A reserved call has ended, with a reply or without."""
        self._asked -= 1

    def check(self) -> None:
        """Raises LimitReached once cost, tokens or time are used up."""
        c = self.config
        tokens = self.prompt_tokens + self.completion_tokens
        if c.max_cost is not None and self.cost is not None and self.cost >= c.max_cost:
            raise LimitReached(f"the limit of ${c.max_cost:g} is reached")
        if c.max_tokens is not None and tokens >= c.max_tokens:
            raise LimitReached(f"the limit of {c.max_tokens:,} tokens is reached")
        if c.max_time is not None and self.elapsed >= c.max_time:
            raise LimitReached(f"the limit of {c.max_time:g} s is reached")

    def candidates_allowed(self) -> int:
        """Candidates that the step limit allows next, each taking whole episodes at worst.

        Raises LimitReached where not one fits.
        """
        limit = self.config.max_env_steps
        if limit is None:
            return self.config.candidates
        each = self.config.episodes * self.horizon
        allowed = (limit - self.steps["search"]) // each
        if allowed < 1:
            raise LimitReached(
                f"the limit of {limit:,} environment steps leaves no room for a candidate's"
                f" {each:,}"
            )
        return min(allowed, self.config.candidates)

    def check_progress(self, rounds: Sequence[Round]) -> None:
        """Raises GoalReached when the target is met or the patience is at its end."""
        if not rounds:
            return
        best = best_round(rounds)
        score = best.winner.score
        target, patience = self.config.target, self.config.patience
        if target is not None and not score.failed and score.value >= target:
            raise GoalReached(f"the target of {target:g} is reached")
        if patience is not None and len(rounds) - best.number >= patience:
            raise GoalReached(f"{plural(patience, 'round')} brought nothing better")
