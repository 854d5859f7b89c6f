"""Prompted Policy Optimization (arXiv 2605.30719), the search itself.

1. Ask for a Feedback class, which turns an episode into a short text, and look at a few episodes of
   zero and of random actions.
2. Each round asks for N policies independently: the task, what has been found so far, and a
   reflection on it. One candidate goes on from the most different promising policy.
3. A candidate that learns before it acts does so from all episodes of earlier rounds
   (``prepare``). All candidates, and the best so far, play the same fresh episodes; one that fails
   is sent back for repair; those that cannot be told from the best play on until they can.
4. Worst, median and best episodes are described by the Feedback class, which a reflection may
   revise.

``--preset paper`` leaves out what the published method has not: what came first is then what it
was, but that a reply that cannot be used scores worst instead of ending the run, losers stay in the
history with a line, and all rounds' winners compete in the end. ``docs/method.md`` says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig, option
from promptpo.methods.base import REPLY_TOKENS, Demand, Services
from promptpo.methods.contest import HARD, Contest, hard_seeds, most_episodes
from promptpo.methods.tuning import ENTRANTS
from promptpo.methods.writing import WritingMethod
from promptpo.prompts import promptpo as prompts
from promptpo.prompts.history import REFLECTION
from promptpo.prompts.task import Messages
from promptpo.types import Candidate, Key, Note

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of PromptPO beyond the settings of every run."""

    reflection: bool = option(True, "ask for a reflection before each later round")
    revise_feedback: bool = option(True, "let a reflection send another Feedback class")
    second_line: bool = option(
        True, "ask one candidate a round to go on from the most different promising policy"
    )
    challenge: bool = option(True, "let the best so far play every round's episodes too")
    probe: int | None = option(
        None,
        "episodes of zero and of random actions each, played and described before round 1"
        " (default: 2 where policies may prepare, else none)",
        within=(0, 100),
    )
    trace: bool = option(
        True, "tell of attributes that policies choose to record, and of lines that never ran"
    )
    max_repairs: int = option(
        3, "times a failing candidate is sent back for repair", within=(0, 100)
    )
    history: Literal["focused", "published"] = option(
        "focused", "'focused': what helps most; 'published': every winner in full"
    )
    history_tokens: int = option(
        8_000, "token budget of the history in the prompt", within=(500, 10**6)
    )


class PromptPO(WritingMethod):
    """The loop; see the module's docstring."""

    Options: ClassVar[type[Options]] = Options
    tunes: ClassVar[bool] = True

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.challenges = self.options.challenge

    async def search(self) -> None:
        """Play rounds until the last one, a target, the patience or a limit."""
        await self.begin(prompts.probes_of(self.config))
        async for number, count in self.next_rounds():
            self.memory = replace(self.memory, rounds=tuple(self.rounds), reflection="")
            notes = await self._reflect() if self.rounds and self.options.reflection else ()
            best, horizon = self.memory.best, self.services.spec.horizon
            hard = hard_seeds(best, horizon) if best and self.challenges else ()
            contest = Contest(self.services, number, hard)
            asked = [
                prompts.policy_messages(
                    self.services.spec, self.config, self.memory, second=count > 1 and i == count
                )
                for i in range(1, count + 1)
            ]
            best, candidates = await self.written(contest, asked)
            candidates += await self._tuned(contest, candidates, best)
            await self.settled(contest, best, candidates, notes)

    async def _tuned(
        self, contest: Contest, candidates: Sequence[Candidate], best: Candidate | None
    ) -> list[Candidate]:
        """Return the candidates that tuning makes, after the round's first episodes."""
        share = 1.0 if contest.number == self.config.rounds else self.config.tune_share
        new = await self.tuning.tune(contest.number, candidates, best, share=share)
        self.memory = replace(self.memory, tuned=self.tuning.words)
        tried = await all_of(self.play(c, contest) for c in new)
        return [c for c in tried if c.rollout is not None]

    async def _reflect(self) -> tuple[Note, ...]:
        """Ask what the last round has shown; a Feedback class that comes with it takes over."""
        memory = replace(self.memory, feedback=self.describer.source or "")
        messages = prompts.reflection_messages(self.services.spec, self.config, memory)
        at = Key(len(self.rounds) + 1, role="reflection")
        reply = await self.services.ask(at, messages)
        if self.options.revise_feedback:
            self.memory = await self.describer.revise(reply, self.memory)
        text = prompts.reflection_text(reply.text)
        self.memory = replace(self.memory, reflection=text)
        return (Note(REFLECTION, text),) if text else ()

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Count a call for Feedback, one a candidate, and the reflections."""
        options, policies = config.options, config.rounds * config.candidates
        reflections = config.rounds - 1 if options.reflection else 0
        calls = 1 + policies + reflections
        episodes = 2 * prompts.probes_of(config)
        episodes += most_episodes(config, challenge=options.challenge, hard=HARD)
        if config.tune:
            episodes += config.rounds * ENTRANTS * (config.first_episodes + HARD)
        return Demand(
            calls=calls,
            max_calls=calls + (policies + 1) * options.max_repairs,
            prompt_tokens=prompts.prompt_tokens(spec, config, REPLY_TOKENS),
            completion_tokens=REPLY_TOKENS * (1 + policies) + 250 * reflections,
            search_steps=episodes * spec.horizon + (config.tune_steps if config.tune else 0),
            finalists=config.rounds,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return the prompts for Feedback, policies, reflections, repairs."""
        return prompts.render_all(spec, config)
