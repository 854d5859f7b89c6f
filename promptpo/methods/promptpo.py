"""Prompted Policy Optimization (arXiv 2605.30719), the search itself.

1. Ask for a Feedback class, which turns an episode into a short text.
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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached, SearchEnd
from promptpo.llm.extraction import ReplyRejected, extract_code
from promptpo.llm.messages import Message, Reply
from promptpo.methods.base import REPLY_TOKENS, Demand, Messages, Search, Services, winners
from promptpo.policies import Program
from promptpo.prompts import promptpo as prompts
from promptpo.types import Candidate, Key, Note, Round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options:
    """What PromptPO can be told beyond the settings of every run."""

    reflection: bool = option(True, "ask for a reflection before each later round")
    max_repairs: int = option(
        3, "times a failing candidate is sent back for repair", within=(0, 100)
    )
    history_tokens: int = option(
        24_000,
        "token budget of the history in the prompt; oldest sources go first",
        within=(500, 10**6),
    )


class PromptPO:
    """The loop; see the module's docstring."""

    Options: ClassVar[type[Options]] = Options
    needs_model: ClassVar[bool] = True

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self.options: Options = services.config.options
        self.feedback: str | None = None
        self.feedback_repairs = 0

    async def search(self) -> Search:
        """Rounds until the last one, a target, the patience or a limit."""
        rounds: list[Round] = []
        try:
            await self._write_feedback()
            while len(rounds) < self.config.rounds:
                rounds, allowed = await self.services.open_round(rounds)
                rounds.append(await self._round(rounds, allowed))
                self.services.record(rounds[-1])
        except SearchEnd as end:
            limited = isinstance(end, LimitReached)
            return Search(tuple(rounds), winners(rounds), str(end), limited)
        return Search(tuple(rounds), winners(rounds), "all rounds are done")

    async def _round(self, rounds: Sequence[Round], count: int) -> Round:
        number = len(rounds) + 1
        notes = await self._reflect(rounds) if rounds and self.options.reflection else ()
        prompt = prompts.policy_messages(self.services.spec, self.config, rounds, notes)
        candidates, winner = await self.services.proven(
            await all_of(self._candidate(Key(number, i), prompt) for i in range(1, count + 1))
        )
        if not winner.score.failed:
            notes += await self._summarize(winner)
        return Round(number, tuple(candidates), winner, notes)

    async def _reflect(self, rounds: Sequence[Round]) -> tuple[Note, ...]:
        messages = prompts.reflection_messages(self.services.spec, self.config, rounds)
        reply = await self.services.ask(Key(len(rounds) + 1, role="reflection"), messages)
        text = prompts.reflection_text(reply.text)
        return (Note(prompts.REFLECTION, text),) if text else ()

    async def _candidate(self, key: Key, prompt: Messages) -> Candidate:
        """Ask for one policy and roll it out, repairing it as often as the run allows."""
        candidate = Candidate(key, None)
        messages = prompt
        for attempt in range(self.options.max_repairs + 1):
            at = Key(key.round, key.candidate, attempt)
            state = "repairing" if attempt else "asked"
            self.services.report("state", name=key.name, state=state)
            try:
                reply = await self._ask(at, messages)
                candidate = await self._try(at, reply)
            except LimitReached as limit:
                if candidate.error is None:
                    candidate = Candidate(key, None, error=f"not written: {limit}")
                    self.services.record(candidate)
                break
            if candidate.error is None or candidate.rollout is None:
                break
            messages = prompts.repair_messages(
                prompt, reply.text, "policy", candidate.error, candidate.rollout.output
            )
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", name=key.name, state=state)
        return candidate

    async def _ask(self, at: Key, messages: Sequence[Message]) -> Reply:
        role = "repair" if at.attempt else "policy"
        return await self.services.ask(Key(at.round, at.candidate, at.attempt, role), messages)

    async def _try(self, at: Key, reply: Reply) -> Candidate:
        """Play what a reply holds; what cannot be used or played is an attempt that has failed."""
        candidate, count = Candidate(at, None), self.config.episodes
        try:
            candidate = Candidate(at, extract_code(reply, "Policy"))
            seeds = self.services.seeds((at.round - 1) * count, count)
            program = Program.of(candidate.source or "")
            [run] = await self.services.play(program, seeds, keys=[at])
            candidate = replace(candidate, rollout=run, error=run.error)
        except ReplyRejected as e:
            candidate = replace(candidate, error=str(e))
        except LimitReached as limit:
            candidate = replace(candidate, error=f"not played: {limit}")
        self.services.record(candidate)
        return candidate

    async def _write_feedback(self) -> None:
        messages = prompts.feedback_messages(self.services.spec, self.config)
        reply = await self.services.ask(Key(role="feedback"), messages)
        with contextlib.suppress(LimitReached):  # of a repair: there is a summary without it
            await self._take_feedback(reply, 0)

    async def _take_feedback(self, reply: Reply, round_: int) -> None:
        """Use the class in a reply from now on; a reply without one goes back for repair."""
        try:
            self.feedback = extract_code(reply, "Feedback")
        except ReplyRejected as e:
            await self._repair_feedback(reply.text.strip() or "(empty reply)", str(e), round_)

    async def _repair_feedback(self, said: str, error: str, round_: int) -> None:
        """Ask for a corrected class; the built-in summary takes over when repairs run out."""
        self.feedback = None
        if self.feedback_repairs < self.options.max_repairs:
            self.feedback_repairs += 1
            key = Key(round_, 0, self.feedback_repairs, "feedback_repair")
            asked = prompts.feedback_messages(self.services.spec, self.config)
            messages = prompts.repair_messages(asked, said, "class", error)
            await self._take_feedback(await self.services.ask(key, messages), round_)

    async def _summarize(self, winner: Candidate) -> tuple[Note, ...]:
        """The winner's episodes as text."""
        while self.feedback is not None:
            run = await self.services.summarize(winner, self.feedback)
            if run.error is None:
                return prompts.episode_notes(run.texts)
            said = f"```python\n{self.feedback}\n```"
            with contextlib.suppress(LimitReached):
                await self._repair_feedback(said, run.error, winner.key.round)
        return prompts.episode_notes((await self.services.summarize(winner, None)).texts)

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """A call for Feedback, one a candidate, and the reflections."""
        policies, options = config.rounds * config.candidates, config.options
        reflections = config.rounds - 1 if options.reflection else 0
        calls = 1 + policies + reflections
        return Demand(
            calls=calls,
            max_calls=calls + (policies + 1) * options.max_repairs,
            prompt_tokens=prompts.prompt_tokens(spec, config, REPLY_TOKENS),
            completion_tokens=REPLY_TOKENS * (1 + policies) + 150 * reflections,
            search_steps=policies * config.episodes * spec.horizon,
            finalists=config.rounds,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Feedback, policies, reflections, repairs."""
        return prompts.render_all(spec, config)
