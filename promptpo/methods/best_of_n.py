"""Best of N: all calls of a run are independent samples of the first prompt.

The control for every method that learns from what it saw: the same task, the same number of
calls for policies, the same episodes, but no feedback, no history and no repair. What the loop of
a method adds is what it has beyond this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached
from promptpo.llm.extraction import policy_source
from promptpo.methods.base import (
    REPLY_TOKENS,
    Demand,
    Method,
    best_of_all,
    read_policy,
    recorded,
    rolled_out,
)
from promptpo.prompts.promptpo import policy_messages
from promptpo.prompts.task import Messages, message_tokens
from promptpo.types import Candidate, Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True, kw_only=True)
class Options:
    """N is the number of rounds times that of candidates; a round is a batch of calls."""

    finalists: int = option(
        5, "samples with the best search scores that meet on selection episodes", within=(1, 100)
    )


class BestOfN(Method):
    """Batches of samples, each on the same search episodes, so that all compare."""

    Options: ClassVar[type[Options]] = Options

    async def search(self) -> str:
        """Draw batches until the last one, a target, the patience or a limit."""
        prompt = policy_messages(self.services.spec, self.config)
        async for number, count in self.next_rounds():
            keys = [Key(number, index) for index in range(1, count + 1)]
            samples = await all_of(self._sample(key, prompt) for key in keys)
            self.rounds.append(Round(number, tuple(samples), best_of(samples)))
        return "all samples are drawn"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the samples with the best search scores."""
        return best_of_all(self.rounds, self.config.options.finalists)

    async def _sample(self, key: Key, prompt: Messages) -> Candidate:
        """Ask for a policy and play it; what cannot be used, or fails, has failed."""
        self.services.report("state", name=key.name, state="asked")
        candidate = Candidate(key, None)
        try:
            reply = await self.services.ask(replace(key, role="policy"), prompt, policy_source)
            candidate = await read_policy(self.services, key, reply)
            if candidate.error is None:
                seeds = self.services.seeds(0, self.config.first_episodes)
                candidate = await rolled_out(self.services, candidate, seeds)
        except LimitReached as limit:
            what = "not written" if candidate.source is None else "not played"
            candidate = replace(candidate, error=f"{what}: {limit}")
        return recorded(self.services, candidate)

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Count one call and one evaluation a sample."""
        samples = config.rounds * config.candidates
        return Demand(
            calls=samples,
            max_calls=samples,
            prompt_tokens=samples * message_tokens(policy_messages(spec, config)),
            completion_tokens=samples * REPLY_TOKENS,
            search_steps=samples * config.first_episodes * spec.horizon,
            finalists=min(config.options.finalists, samples),
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return the one prompt."""
        return [("policy", policy_messages(spec, config))]
