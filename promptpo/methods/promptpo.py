"""PromptPO: Prompted Policy Optimization (arXiv 2605.30719).

1. One call writes a Feedback class, which turns an episode into a short text.
2. Each round asks for N policies independently, with the same prompt: the task, the history of
   the rounds before, and a reflection on the last of them.
3. Every candidate plays the same E fresh episodes; one that fails is sent back for repair.
4. The round's best must act the same when its episodes are alone in a process; one that does not
   has the score that it gets alone, and the best is looked for again.
5. That best is summarized, episode by episode, by the Feedback class.

Unlike the published implementation, a reply that cannot be used scores worst instead of ending
the run, losers stay in the history with a line, and all rounds' winners compete in the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from promptpo.concurrency import all_of
from promptpo.llm import ReplyMissing, ReplyRejected, extract_code
from promptpo.methods.base import LimitReached, Search, SearchEnd, Services
from promptpo.prompts import (
    feedback_messages,
    policy_messages,
    reflection_messages,
    reflection_text,
    repair_messages,
)
from promptpo.types import CallKey, Candidate, Message, Reply, Round


class PromptPO:
    """The loop; see the module's docstring."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self.feedback: str | None = None
        self.feedback_repairs = 0

    async def search(self) -> Search:
        """Rounds until the last one, a target, the patience or a limit."""
        rounds: list[Round] = []
        try:
            await self._write_feedback()
            while len(rounds) < self.config.rounds:
                rounds = await self.services.review(rounds)
                allowed = self.services.may_start(rounds)
                rounds.append(await self._round(rounds, min(allowed, self.config.candidates)))
                self.services.record_round(rounds)
        except SearchEnd as end:
            return Search(tuple(rounds), str(end), isinstance(end, LimitReached))
        return Search(tuple(rounds), "all rounds are done")

    async def _round(self, rounds: Sequence[Round], count: int) -> Round:
        number = len(rounds) + 1
        reflection = await self._reflect(rounds) if rounds and self.config.reflection else ""
        prompt = policy_messages(self.services.spec, self.config, rounds, reflection)
        candidates = await all_of(
            self._candidate(number, index, prompt) for index in range(1, count + 1)
        )
        winner = _best(candidates)
        while rescored := await self.services.prove(winner):
            candidates[rescored.index - 1] = rescored
            winner = _best(candidates)
        summaries = () if winner.score.failed else await self._summarize(winner)
        return Round(number, tuple(candidates), winner, summaries, reflection)

    async def _reflect(self, rounds: Sequence[Round]) -> str:
        messages = reflection_messages(self.services.spec, self.config, rounds)
        reply = await self.services.ask(CallKey("reflection", len(rounds)), messages)
        return reflection_text(reply.text)

    async def _candidate(self, round_: int, index: int, prompt: tuple[Message, ...]) -> Candidate:
        """Ask for one policy and roll it out, repairing it as often as the run allows."""
        candidate = Candidate(round_, index, None)
        messages = prompt
        for attempt in range(self.config.max_repairs + 1):
            key = CallKey("repair" if attempt else "policy", round_, index, attempt)
            self.services.report("state", round=round_, index=index, state=_doing(attempt))
            try:
                reply = await self.services.ask(key, messages)
                candidate = await self._try(key, reply)
            except ReplyMissing:
                if not attempt:
                    raise
                break  # a replay: where the recorded candidate ran, no repair is on record
            except LimitReached as limit:
                if candidate.error is None:
                    candidate = Candidate(round_, index, None, error=f"not written: {limit}")
                    self.services.record_candidate(candidate, attempt)
                break
            if candidate.error is None or candidate.source is None:
                break
            output = candidate.rollout.output if candidate.rollout else ""
            messages = repair_messages(prompt, reply.text, "policy", candidate.error, output)
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", round=round_, index=index, state=state)
        return candidate

    async def _try(self, key: CallKey, reply: Reply) -> Candidate:
        try:
            source = extract_code(reply, "Policy")
        except ReplyRejected as e:
            candidate = Candidate(key.round, key.candidate, None, error=str(e), repairs=key.attempt)
        else:
            run = await self.services.roll_out(key.round, key.candidate, key.attempt, source)
            candidate = Candidate(
                key.round, key.candidate, source, run, error=run.error, repairs=key.attempt
            )
        self.services.record_candidate(candidate, key.attempt)
        return candidate

    async def _write_feedback(self) -> None:
        messages = feedback_messages(self.services.spec, self.config)
        await self._take_feedback(await self.services.ask(CallKey("feedback"), messages), 0)

    async def _take_feedback(self, reply: Reply, round_: int) -> None:
        """Use the class in a reply from now on; a reply without one goes back for repair."""
        try:
            self.feedback = extract_code(reply, "Feedback")
        except ReplyRejected as e:
            await self._repair_feedback(reply.text.strip() or "(empty reply)", str(e), round_)

    async def _repair_feedback(self, said: str, error: str, round_: int) -> None:
        """Ask for a corrected class; the built-in summary takes over when repairs run out."""
        self.feedback = None
        if self.feedback_repairs < self.config.max_repairs:
            self.feedback_repairs += 1
            key = CallKey("feedback_repair", round_, 0, self.feedback_repairs)
            asked = feedback_messages(self.services.spec, self.config)
            messages = repair_messages(asked, said, "class", error)
            await self._take_feedback(await self.services.ask(key, messages), round_)

    async def _summarize(self, winner: Candidate) -> tuple[str, ...]:
        """The winner's episodes as text."""
        while self.feedback is not None:
            run = await self.services.summarize(winner, self.feedback)
            if run.error is None:
                return run.texts
            said = f"```python\n{self.feedback}\n```"
            with contextlib.suppress(LimitReached, ReplyMissing):
                await self._repair_feedback(said, run.error, winner.round)
        return (await self.services.summarize(winner, None)).texts


def _best(candidates: Sequence[Candidate]) -> Candidate:
    return max(candidates, key=lambda c: (c.score, -c.index))


def _doing(attempt: int) -> str:
    return "repairing" if attempt else "asked"
