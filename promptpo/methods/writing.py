"""One candidate of a round: asked for, played, and sent back for repair where it fails."""

from __future__ import annotations

from dataclasses import replace

from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected, policy_source
from promptpo.llm.messages import Reply
from promptpo.methods.base import Messages, Services
from promptpo.methods.contest import Contest
from promptpo.methods.tuning import TuningStage
from promptpo.policies import Program
from promptpo.prompts import promptpo as prompts
from promptpo.prompts.words import printed
from promptpo.types import Candidate, Key


class Author:
    """Has policies written, and plays them in the contest of their round.

    ``stopped`` are the names of candidates that a limit kept from being written or played.
    """

    def __init__(self, services: Services, tuning: TuningStage) -> None:
        self.services = services
        self.tuning = tuning
        self.stopped: set[str] = set()

    async def write(
        self, key: Key, prompt: Messages, contest: Contest, *, insists: bool = False
    ) -> Candidate:
        """Ask for one policy and roll it out, repairing it as often as the run allows.

        With ``insists`` a reply that cannot be read is sent back, too.
        """
        candidate = Candidate(key, None)
        messages = prompt
        for attempt in range(self.services.config.options.max_repairs + 1):
            at = Key(key.round, key.candidate, attempt)
            state = "repairing" if attempt else "asked"
            self.services.report("state", name=key.name, state=state)
            try:
                asked = replace(at, role="repair" if attempt else "policy")
                reply = await self.services.ask(asked, messages, policy_source)
                candidate = await self._try(at, reply, contest)
            except LimitReached as limit:
                if candidate.error is None:
                    candidate = Candidate(key, None, error=f"not written: {limit}")
                    self.stopped.add(key.name)
                    self.services.record(candidate)
                break
            if candidate.error is None or not self._can_be_repaired(candidate, insists):
                break
            output = printed(candidate)
            messages = prompts.repair_messages(
                prompt, reply.text, "policy", candidate.error, output
            )
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", name=key.name, state=state)
        return candidate

    async def play(self, candidate: Candidate, contest: Contest) -> Candidate:
        """A candidate after the round's first episodes, recorded."""
        try:
            program = Program.of(candidate.source or "", candidate.prepared)
            [run] = await self.services.play(program, contest.first, keys=[candidate.key])
            candidate = replace(candidate, rollout=run, error=run.error)
            candidate = await contest.on_hard(candidate)
        except LimitReached as limit:
            candidate = replace(candidate, error=f"not played: {limit}")
            self.stopped.add(candidate.name)
        self.services.record(candidate)
        return candidate

    async def _try(self, at: Key, reply: Reply, contest: Contest) -> Candidate:
        """Play what a reply holds; what cannot be used or played is an attempt that has failed."""
        try:
            candidate = self.tuning.plain(Candidate(at, policy_source(reply)))
        except ReplyRejected as e:
            candidate = Candidate(at, None, error=str(e))
        if candidate.error is None:
            candidate = await self.services.prepare(candidate)
        if candidate.error is None:
            return await self.play(candidate, contest)
        self.services.record(candidate)
        return candidate

    def _can_be_repaired(self, candidate: Candidate, insists: bool) -> bool:
        """Whether an attempt that failed is one that its author can do something about."""
        done = candidate.preparation
        unprepared = done is not None and done.error is not None
        unread = insists and candidate.source is None
        played = candidate.rollout is not None
        return played or unprepared or unread or self.tuning.refuses(candidate)
