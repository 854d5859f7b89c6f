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
from promptpo.llm.extraction import ReplyRejected, policy_source
from promptpo.methods.base import (
    REPLY_TOKENS,
    Demand,
    Messages,
    Method,
    best_of_all,
)
from promptpo.policies import Program
from promptpo.prompts.promptpo import policy_messages
from promptpo.prompts.task import count_tokens
from promptpo.types import Candidate, Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options:
    """N is the number of rounds times that of candidates; a round is a batch of calls."""

    finalists: int = option(
        5, "samples with the best search scores that meet on selection episodes", within=(1, 100)
    )


class BestOfN(Method):
    """Batches of samples, each on the same search episodes, so that all compare."""

    Options: ClassVar[type[Options]] = Options

    async def search(self) -> str:
        """Batches until the last one, a target, the patience or a limit."""
        prompt = policy_messages(self.services.spec, self.config)
        while len(self.rounds) < self.config.rounds:
            allowed = await self.services.open_round(self.rounds)
            self.rounds.append(await self._batch(len(self.rounds) + 1, allowed, prompt))
            self.services.record(self.rounds[-1])
        return "all samples are drawn"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the samples with the best search scores."""
        return best_of_all(self.rounds, self.config.options.finalists)

    async def _batch(self, number: int, count: int, prompt: Messages) -> Round:
        keys = [Key(number, index) for index in range(1, count + 1)]
        drawn = await all_of(self._sample(key, prompt) for key in keys)
        return Round(number, tuple(drawn), best_of(drawn))

    async def _sample(self, key: Key, prompt: Messages) -> Candidate:
        """One reply; what cannot be used, or fails, is a candidate that has failed."""
        self.services.report("state", name=key.name, state="asked")
        candidate = Candidate(key, None)
        try:
            asked = Key(key.round, key.candidate, role="policy")
            reply = await self.services.ask(asked, prompt, policy_source)
            source = policy_source(reply)
            candidate = await self.services.prepare(Candidate(key, source))
            if candidate.error is None:
                seeds = self.services.seeds(0, self.config.first_episodes)
                program = Program.of(source, candidate.prepared)
                [run] = await self.services.play(program, seeds, keys=[key])
                candidate = replace(candidate, rollout=run, error=run.error)
        except ReplyRejected as e:
            candidate = Candidate(key, None, error=str(e))
        except LimitReached as limit:
            what = "not written" if candidate.source is None else "not played"
            candidate = replace(candidate, error=f"{what}: {limit}")
        self.services.record(candidate)
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", name=key.name, state=state)
        return candidate

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """One call and one evaluation a sample."""
        samples = config.rounds * config.candidates
        size = sum(count_tokens(m.content) for m in policy_messages(spec, config))
        return Demand(
            calls=samples,
            max_calls=samples,
            prompt_tokens=samples * size,
            completion_tokens=samples * REPLY_TOKENS,
            search_steps=samples * config.first_episodes * spec.horizon,
            finalists=min(config.options.finalists, samples),
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """The one prompt."""
        return [("policy", policy_messages(spec, config))]
