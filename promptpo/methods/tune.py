"""Tuning alone: one policy, its numbers chosen by an optimizer, its structure left as it is.

What ``promptpo tune`` runs. The policy (of a file, or one that a model is asked for) plays as it is
written, then its constants are tuned (``promptpo.tuning``); both meet on selection episodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from promptpo.config import RunConfig
from promptpo.llm.extraction import ReplyRejected, policy_source
from promptpo.methods.base import REPLY_TOKENS, Demand, Messages, Method, Services
from promptpo.methods.tuning import TuningStage
from promptpo.policies import Program
from promptpo.prompts.promptpo import policy_messages
from promptpo.prompts.task import count_tokens
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
        """Until the steps are spent, or a limit is reached."""
        await self.services.open_round(self.rounds)
        self.rounds.append(await self._round())
        self.services.record(self.rounds[-1])
        return "tuning is done"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the policy as it is written, and tuned, as far as they run."""
        return tuple(c for r in self.rounds for c in r.candidates if not c.score.failed)

    async def _round(self) -> Round:
        written = await self._written()
        found = [written]
        for candidate in await self.tuning.tune(1, [written], least=1):
            found.append(await self._played(candidate))
        return Round(1, tuple(found), best_of(found))

    async def _written(self) -> Candidate:
        key = Key(1, 1, role="policy")
        messages = policy_messages(self.services.spec, self.config)
        reply = await self.services.ask(key, messages, policy_source)
        try:
            candidate = self.tuning.plain(Candidate(Key(1, 1), policy_source(reply)))
        except ReplyRejected as e:
            candidate = Candidate(Key(1, 1), None, error=str(e))
        if candidate.error is None:
            candidate = await self.services.prepare(candidate)
        if candidate.error is None:
            return await self._played(candidate)
        self.services.record(candidate)
        return candidate

    async def _played(self, candidate: Candidate) -> Candidate:
        seeds = self.services.seeds(0, self.config.first_episodes)
        program = Program.of(candidate.source or "", candidate.prepared)
        [run] = await self.services.play(program, seeds, keys=[candidate.key])
        candidate = replace(candidate, rollout=run, error=run.error)
        self.services.record(candidate)
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", name=candidate.name, state=state)
        return candidate

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """One policy, and the steps of tuning."""
        size = sum(count_tokens(m.content) for m in policy_messages(spec, config))
        return Demand(
            calls=1,
            max_calls=1,
            prompt_tokens=size,
            completion_tokens=REPLY_TOKENS,
            search_steps=2 * config.first_episodes * spec.horizon + config.tune_steps,
            finalists=2,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """The one prompt that a model is asked by, where the policy is in no file."""
        return [("policy", policy_messages(spec, config))]
