"""The parts that methods share whose policies a model writes: PromptPO and INSPO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from promptpo.common.concurrency import all_of
from promptpo.errors import LimitReached
from promptpo.llm.extraction import policy_source
from promptpo.methods.base import Method, Services, read_policy, rolled_out
from promptpo.methods.contest import Contest, known_before
from promptpo.methods.describing import Describer
from promptpo.methods.tuning import TuningStage
from promptpo.prompts.history import Memory
from promptpo.prompts.promptpo import repair_messages
from promptpo.prompts.task import Messages
from promptpo.prompts.words import printed
from promptpo.types import Candidate, Key, Note, Round, best_round


class WritingMethod(Method):
    """A method whose policies are written, play together round by round, and are described.

    Attributes:
        memory: what prompts tell of the search so far.
        stopped: the names of candidates that a limit kept from being written or played.
        insists: a reply without a policy is sent back for repair, too.
        challenges: the best so far plays every round's episodes too.
    """

    insists = False
    challenges = True

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.options = services.config.options
        self.describer = Describer(services)
        self.tuning = TuningStage(services)
        self.memory = Memory()
        self.stopped: set[str] = set()

    def guests(self) -> Sequence[Key]:
        """Return the best policy so far."""
        return [best_round(self.rounds).winner.key] if self.rounds and self.challenges else []

    async def begin(self, probes: int) -> None:
        """Ask for a Feedback class, and look at so many episodes of each probe."""
        await self.describer.write_class()
        self.memory = replace(self.memory, probes=await self.describer.probe(probes))

    async def written(
        self, contest: Contest, prompts: Sequence[Messages]
    ) -> tuple[Candidate | None, list[Candidate]]:
        """Write a candidate for each prompt, and play the round's first episodes with all.

        Returns the best so far, None where it has not met them, and the candidates.
        """
        number, best = contest.number, self.memory.best if self.challenges else None
        jobs = [self._write(Key(number, i), p, contest) for i, p in enumerate(prompts, 1)]
        if best is None:
            tried = await all_of(jobs)
        else:
            best, *tried = await all_of([contest.meet(best), *jobs])
        if self.challenges:
            tried = [known_before(c, self.rounds) for c in tried]
        return best, tried

    async def settled(
        self,
        contest: Contest,
        best: Candidate | None,
        tried: Sequence[Candidate],
        notes: tuple[Note, ...],
    ) -> None:
        """Tell the candidates apart, describe them, and append their round."""
        rounds, candidates, winner = await contest.settle(
            self.rounds, best, tried, pools=self.challenges
        )
        rounds = [*rounds, Round(contest.number, tuple(candidates), winner, notes)]
        self.rounds, self.memory = await self.describer.describe(rounds, self.memory)

    async def _write(self, key: Key, prompt: Messages, contest: Contest) -> Candidate:
        """Ask for one policy and roll it out, repairing it as often as the run allows."""
        services = self.services
        candidate, messages = Candidate(key, None), prompt
        for attempt in range(self.options.max_repairs + 1):
            at = replace(key, attempt=attempt)
            state = "repairing" if attempt else "asked"
            services.report("state", name=key.name, state=state)
            try:
                asked = replace(at, role="repair" if attempt else "policy")
                reply = await services.ask(asked, messages, policy_source)
                candidate = await read_policy(services, at, reply, self.tuning.plain)
                if candidate.error is None:
                    candidate = await self.play(candidate, contest)
                else:
                    services.record(candidate)
            except LimitReached as limit:
                if candidate.error is None:
                    candidate = Candidate(key, None, error=f"not written: {limit}")
                    self.stopped.add(key.name)
                    services.record(candidate)
                break
            if candidate.error is None or not self._can_be_repaired(candidate):
                break
            output = printed(candidate)
            messages = repair_messages(prompt, reply.text, "policy", candidate.error, output)
        state = "failed" if candidate.score.failed else "scored"
        services.report("state", name=key.name, state=state)
        return candidate

    async def play(self, candidate: Candidate, contest: Contest) -> Candidate:
        """Play the round's first episodes, and hard ones; record the candidate."""
        try:
            candidate = await rolled_out(self.services, candidate, contest.first)
            candidate = await contest.on_hard(candidate)
        except LimitReached as limit:
            candidate = replace(candidate, error=f"not played: {limit}")
            self.stopped.add(candidate.name)
        self.services.record(candidate)
        return candidate

    def _can_be_repaired(self, candidate: Candidate) -> bool:
        """Return whether an attempt that failed is one that its author can do something about."""
        done = candidate.preparation
        unprepared = done is not None and done.error is not None
        unread = self.insists and candidate.source is None
        played = candidate.rollout is not None
        return played or unprepared or unread or self.tuning.refuses(candidate)
