"""INSPO (arXiv 2512.01945), for policies that are code: instructions evolve with the policy.

There the policy is a language model in training, and its instruction is the system prompt. Here the
policy is a program, and the instructions are strategy hints in the prompt that asks for it.

1. A population of instructions, each with a weight; the first ones are ours. Ask for a Feedback
   class and look at a few episodes of zero and of random actions, as PromptPO does.
2. Each candidate of a round draws its instruction by softmax(weight / temperature) and is asked
   for: the task, what has been found so far, the instruction. One that fails is sent back.
3. All candidates and the best so far play the same fresh episodes. Each candidate's standing among
   them is attributed to its instruction and moves its weight (``methods.instructions`` has the
   formula); every few rounds the worst instruction is pruned.
4. What became of candidates goes into a replay buffer, failures first. Before a later round a
   reflection is shown some of it, and writes new instructions.
5. A new instruction is verified: in that round some candidates are written under it. It joins the
   population unless they do worse than the mean of the others beyond noise.

The paper's constants are not public. All of those below are ours, and so are the formula of the
score and the rule of admission. Episodes, racing and descriptions are those of PromptPO.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected
from promptpo.methods.base import REPLY_TOKENS, Demand, Messages, Method, Services
from promptpo.methods.contest import EXTRA_EACH, MOST, Contest, known_before, settled
from promptpo.methods.describing import Describer
from promptpo.methods.feedback import Feedback
from promptpo.methods.instructions import Instructions
from promptpo.methods.probing import probe
from promptpo.methods.replay import ReplayBuffer
from promptpo.methods.tuning import TuningStage
from promptpo.methods.writing import Author
from promptpo.prompts import inspo as prompts
from promptpo.prompts.promptpo import REFLECTION, Memory, prompt_tokens, reflection_text
from promptpo.types import Candidate, Draw, Key, Note, Rollout, Round, best_round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options:
    """The population's constants, all ours; the last four are PromptPO's."""

    draw_temperature: float = option(
        0.5, "of the softmax over weights by which instructions are drawn", within=(0.01, 1000)
    )
    weight_step: float = option(
        0.3, "share of the way that a weight moves to the score of a round", within=(0.01, 1)
    )
    prune_every: int = option(
        3, "rounds after which the worst instruction is pruned; 0: never", within=(0, 1000)
    )
    prune: int = option(1, "instructions that are pruned at a time", within=(1, 100))
    fewest: int = option(3, "instructions that pruning leaves", within=(1, 100))
    most: int = option(
        8, "instructions of the population; beyond that the worst goes at once", within=(1, 100)
    )
    proposals: int = option(
        1, "new instructions that a reflection writes; 0: none is asked", within=(0, 10)
    )
    reflect_every: int = option(1, "rounds from one reflection to the next", within=(1, 1000))
    trials: int = option(1, "candidates that verify a new instruction", within=(1, 100))
    buffer: int = option(30, "candidates whose failures the replay buffer keeps", within=(1, 1000))
    replayed: int = option(6, "of them, that a reflection is shown", within=(1, 100))
    probe: int = option(
        2, "episodes of zero and of random actions each, described before round 1", within=(0, 100)
    )
    trace: bool = option(
        True, "tell of attributes that policies choose to record, and of lines that never ran"
    )
    max_repairs: int = option(
        3, "times a failing candidate, or a reflection without instruction, is sent back",
        within=(0, 100),
    )  # fmt: skip
    history_tokens: int = option(
        8_000, "token budget of the history in the prompt", within=(500, 10**6)
    )

    # What PromptPO's parts ask of its options, and is always so here.
    history: ClassVar[str] = "focused"
    reflection: ClassVar[bool] = True
    revise_feedback: ClassVar[bool] = False
    second_line: ClassVar[bool] = False


class Inspo(Method):
    """The loop; see the module's docstring."""

    Options: ClassVar[type[Options]] = Options

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.options: Options = services.config.options
        self.feedback = Feedback(services)
        self.describer = Describer(services, self.feedback)
        self.population = Instructions(prompts.first_instructions(), self.options)
        self.buffer = ReplayBuffer(self.options.buffer)
        self.memory = Memory()
        self.author = Author(services, TuningStage(services))

    async def search(self) -> str:
        """Rounds until the last one, a target, the patience or a limit."""
        await self.feedback.write()
        probes = await probe(self.services, self.describer, self.options.probe)
        self.memory = replace(self.memory, probes=probes)
        while len(self.rounds) < self.config.rounds:
            guests = [best_round(self.rounds).winner.key] if self.rounds else []
            allowed = await self.services.open_round(self.rounds, guests)
            self.rounds = await self._round(self.rounds, allowed)
            self.services.record(self.rounds[-1])
        return "all rounds are done"

    async def _round(self, rounds: list[Round], count: int) -> list[Round]:
        """The rounds with one more, and with what earlier policies have played in it."""
        number = len(rounds) + 1
        self.memory = replace(self.memory, rounds=tuple(rounds))
        notes, failed = await self._reflect(number) if self._reflects(number, count) else ((), "")
        contest, best = Contest(self.services, number), self.memory.best
        keys = [Key(number, index) for index in range(1, count + 1)]
        generator = random.Random(f"{self.config.seed}/{number}")  # noqa: S311 - no secret
        draws = self.population.draw([key.name for key in keys], generator)
        jobs = [self._candidate(k, d, contest) for k, d in zip(keys, draws, strict=True)]
        if best is None:
            tried = await all_of(jobs)
        else:
            best, *tried = await all_of([contest.meet(best), *jobs])
        tried = [known_before(c, rounds) for c in tried]
        runs = {c.name: _first_run(c) for c in tried if c.name not in self.author.stopped}
        population = self.population.settle(number, draws, runs, contest.met(best))
        rounds, candidates, winner = await settled(self.services, contest, rounds, best, tried)
        rounds = [*rounds, Round(number, tuple(candidates), winner, notes)]
        rounds, self.memory = await self.describer.describe(rounds, self.memory)
        self.buffer.add(rounds[-1], population.draws)
        self.services.record(replace(population, failed=failed))
        return rounds

    def _reflects(self, number: int, count: int) -> bool:
        """Whether a reflection opens a round: where there is something new to be tried in it."""
        due = number > 1 and (number - 2) % self.options.reflect_every == 0
        return bool(due and self.options.proposals and count > 1 and not self.population.on_trial)

    async def _reflect(self, number: int) -> tuple[tuple[Note, ...], str]:
        """Ask for new instructions, which are then on trial; why it failed where there are none."""
        known = self.population
        shown = self.buffer.take(self.options.replayed)
        text = prompts.instructions_text(known.active, known.gone)
        asked = prompts.reflection_messages(
            self.services.spec, self.config, self.memory, text, shown
        )
        messages, error, notes = asked, "", tuple[Note, ...]()
        for attempt in range(self.options.max_repairs + 1):
            try:
                at = Key(number, attempt=attempt, role="reflection")
                reply = await self.services.ask(at, messages)
            except LimitReached:
                if not attempt:
                    raise
                break
            thought = reflection_text(reply.text)
            notes = (Note(REFLECTION, thought),) if thought else ()
            try:
                new = known.propose(prompts.instructions_in(reply), number)
            except ReplyRejected as e:
                error = str(e)
            else:
                error = "" if new else "what it proposes is known already"
            if not error:
                break
            messages = prompts.reask_messages(asked, reply.text, error, self.config)
        return notes, error

    async def _candidate(self, key: Key, draw: Draw, contest: Contest) -> Candidate:
        """One policy, written under an instruction."""
        text = self.population.standing[draw.instruction].text
        prompt = prompts.policy_messages(self.services.spec, self.config, self.memory, text)
        return await self.author.write(key, prompt, contest, insists=True)

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """A call for Feedback, one a candidate, and the reflections."""
        policies, options = config.rounds * config.candidates, config.options
        asks = options.proposals and config.candidates > 1
        reflections = -(-(config.rounds - 1) // options.reflect_every) if asks else 0
        calls = 1 + policies + reflections
        return Demand(
            calls=calls,
            max_calls=calls + (policies + 1 + reflections) * options.max_repairs,
            prompt_tokens=prompt_tokens(spec, config, REPLY_TOKENS),
            completion_tokens=REPLY_TOKENS * (1 + policies) + 400 * reflections,
            search_steps=_most_episodes(config) * spec.horizon,
            finalists=config.rounds,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Feedback, policies by an instruction, reflections, repairs."""
        return prompts.render_all(spec, config)


def _first_run(candidate: Candidate) -> Rollout:
    """What a candidate did in the episodes that a round began with, or how it failed."""
    run = candidate.rollout or Rollout("search", ())
    return replace(run, error=candidate.error or run.error)


def _most_episodes(config: RunConfig) -> int:
    """Search episodes of a run without repairs, at most."""
    each, players = config.first_episodes, config.candidates
    found: int = 2 * config.options.probe + config.rounds * players * each
    found += (config.rounds - 1) * each  # of the best so far
    if config.races:
        extra = min(config.whole(EXTRA_EACH), config.whole(MOST) - each)
        found += config.rounds * (players + 1) * extra
    return found
