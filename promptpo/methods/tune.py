"""Tuning alone: one policy, its numbers chosen by an optimizer, its structure left as it is.

What ``promptpo tune`` runs. The policy (of a file, or one that a model is asked for) plays as it is
written, then its constants are tuned (``promptpo.tuning``); both meet on selection episodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from promptpo.config import RunConfig
from promptpo.llm.extraction import policy_source
from promptpo.methods.base import (
    REPLY_TOKENS,
    Demand,
    Method,
    Services,
    read_policy,
    recorded,
    rolled_out,
)
from promptpo.methods.tuning import TuningStage
from promptpo.prompts.promptpo import policy_messages
from promptpo.prompts.task import Messages, message_tokens
from promptpo.types import Candidate, Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


class Tune(Method):
    """One round: the policy as it is written, and tuned."""

    tunes: ClassVar[bool] = True

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.tuning = TuningStage(services)

    async def search(self) -> str:
        """Tune until the steps are spent, or a limit is reached."""
        await self.services.open_round(self.rounds)
        messages = policy_messages(self.services.spec, self.config)
        reply = await self.services.ask(Key(1, 1, role="policy"), messages, policy_source)
        written = await read_policy(self.services, Key(1, 1), reply, self.tuning.plain)
        candidates = [await self._played(written)]
        for tuned in await self.tuning.tune(1, candidates[:1], least=1):
            candidates.append(await self._played(tuned))
        self.rounds.append(Round(1, tuple(candidates), best_of(candidates)))
        self.services.record(self.rounds[-1])
        return "tuning is done"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the policy as it is written, and tuned, as far as they run."""
        return tuple(c for r in self.rounds for c in r.candidates if not c.score.failed)

    async def _played(self, candidate: Candidate) -> Candidate:
        if candidate.error is None:
            seeds = self.services.seeds(0, self.config.first_episodes)
            candidate = await rolled_out(self.services, candidate, seeds)
        return recorded(self.services, candidate)

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Count one policy, and the steps of tuning."""
        return Demand(
            calls=1,
            max_calls=1,
            prompt_tokens=message_tokens(policy_messages(spec, config)),
            completion_tokens=REPLY_TOKENS,
            search_steps=2 * config.first_episodes * spec.horizon + config.tune_steps,
            finalists=2,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return the one prompt that a model is asked by, where the policy is in no file."""
        return [("policy", policy_messages(spec, config))]
