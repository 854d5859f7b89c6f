"""What a run has used, and the limits that end it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from promptpo.config import RunConfig
from promptpo.methods.base import GoalReached, LimitReached
from promptpo.types import Reply, Round, Stream, Usage, best_round
from promptpo.ui.text import plural
from promptpo.usage import Tally


@dataclass
class Ledger:
    """Counts calls, tokens, cost and steps, and knows what the limits still allow.

    ``earlier`` is the time in seconds that earlier sessions of a resumed run took.
    """

    config: RunConfig
    horizon: int
    earlier: float = 0.0
    spent: Tally = field(default_factory=Tally)
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
        return self.spent.usage(self.steps)

    def count_reply(self, reply: Reply) -> list[str]:
        """A reply has come; one of unknown tokens or price makes that total unknown.

        Returns what the user should be told: limits that do not see all of the run any more.
        """
        before = self.usage
        self.spent.count(reply.usage, reply.cost)
        now = self.usage
        lost = []
        if self.config.max_cost is not None and now.cost is None and before.cost is not None:
            lost.append(f"the price of {reply.model} is unknown: --max-cost does not count it")
        if self.config.max_tokens is not None and not now.has_tokens and before.has_tokens:
            lost.append(f"{reply.model} does not tell its tokens: --max-tokens counts the others")
        return lost

    def count_steps(self, stream: Stream, steps: int) -> None:
        """Environment steps were taken."""
        self.steps[stream] += steps

    def reserve_call(self) -> None:
        """Note that a call is about to be made. Raises LimitReached where none may be."""
        self.check()
        if (
            self.config.max_calls is not None
            and self.spent.calls + self._asked >= self.config.max_calls
        ):
            raise LimitReached(f"the limit of {self.config.max_calls} model calls is reached")
        self._asked += 1

    def release_call(self) -> None:
        """A reserved call has ended, with a reply or without."""
        self._asked -= 1

    def check(self) -> None:
        """Raises LimitReached once cost, tokens or time are used up, as far as they are known."""
        c = self.config
        if c.max_cost is not None and self.spent.known_cost >= c.max_cost:
            raise LimitReached(f"the limit of ${c.max_cost:g} is reached")
        if c.max_tokens is not None and self.spent.known_tokens >= c.max_tokens:
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
