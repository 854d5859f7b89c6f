"""INSPO (arXiv 2512.01945), for policies that are code: instructions evolve with the policy.

There the policy is a language model in training, and its instruction is the system prompt. Here the
policy is a program, and the instructions are strategy hints in the prompt that asks for it.

1. A population of instructions, each with a weight; the first ones are ours. Ask for a Feedback
   class and look at a few episodes of zero and of random actions, as PromptPO does.
2. Each candidate of a round draws its instruction by softmax(weight / temperature) and is asked
   for: the task, what has been found so far, the instruction. One that fails is sent back.
3. All candidates and the best so far play the same fresh episodes. Each candidate's standing
   ``s_i`` among them is attributed to its instruction: the mean over its opponents j of +1 where it
   did better than j, -1 where it did worse, 0 where they did alike. Opponents are the round's other
   candidates and the best policy before it. An instruction moves by the mean ``s`` of the round's
   candidates that drew it: ``w <- w + step * (s - w)``. Every few rounds the worst is pruned.
4. What became of candidates goes into a replay buffer, failures first. Before a later round a
   reflection is shown some of it, and writes new instructions.
5. A new instruction is on trial for a round: some candidates are written under it undrawn. It is
   admitted unless what they did, less the mean of the population's candidates on the same episodes,
   is below 0 beyond noise (Student's t of the episodes' differences, 95%), or none got through.

The paper's constants are not public. All of those below are ours, and so are the formula of the
score and the rule of admission. Episodes, racing and descriptions are those of PromptPO.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean as mean
from typing import TYPE_CHECKING, ClassVar

from promptpo.common.lives import in_lives
from promptpo.common.text import plural
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached
from promptpo.llm.extraction import ReplyRejected
from promptpo.methods.base import REPLY_TOKENS, Demand, Services
from promptpo.methods.contest import Contest, most_episodes
from promptpo.methods.writing import WritingMethod
from promptpo.prompts import inspo as prompts
from promptpo.prompts.history import REFLECTION
from promptpo.prompts.inspo import Instruction, State
from promptpo.prompts.promptpo import prompt_tokens, reflection_text
from promptpo.prompts.task import Messages
from promptpo.racing import Difference, Paired, standard_error
from promptpo.types import Candidate, Episode, Key, MethodTable, Note, Rollout, Round, Score

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


#: Ended instructions that prompts still tell, and rows of the table of instructions.
_REMEMBERED, _TOLD = 6, 60


@dataclass(frozen=True)
class Draw:
    """The instruction that a candidate is written under, both by their names.

    ``chance`` is the probability with which it was drawn; None where it was on trial and not drawn.
    ``score`` is the candidate's standing in its round, -1 to 1; None where it did not play.
    """

    candidate: str
    instruction: str
    chance: float | None = None
    score: float | None = None


class Inspo(WritingMethod):
    """The loop; see the module's docstring."""

    Options: ClassVar[type[Options]] = Options
    insists = True

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.population = Instructions(prompts.first_instructions(), self.options)
        self.buffer = ReplayBuffer(self.options.buffer)

    async def search(self) -> None:
        """Play rounds until the last one, a target, the patience or a limit."""
        await self.begin(self.options.probe)
        async for number, count in self.next_rounds():
            self.memory = replace(self.memory, rounds=tuple(self.rounds))
            notes, failed = tuple[Note, ...](), ""
            if self._reflects(number, count):
                notes, failed = await self._reflect(number)
            generator = random.Random(f"{self.config.seed}/{number}")  # noqa: S311 - no secret
            names = [Key(number, index).name for index in range(1, count + 1)]
            draws = self.population.draw(names, generator)
            contest = Contest(self.services, number)
            best, tried = await self.written(contest, [self._prompt(draw) for draw in draws])
            runs = {}
            for candidate in tried:
                if candidate.name not in self.stopped:
                    run = candidate.rollout or Rollout("search", ())
                    runs[candidate.name] = replace(run, error=candidate.error or run.error)
            draws = self.population.settle(number, draws, runs, contest.met(best))
            await self.settled(contest, best, tried, notes)
            self.buffer.add(self.rounds[-1], draws)
            for table in self.population.tables(number, draws, failed):
                self.services.record(table)

    def _prompt(self, draw: Draw) -> Messages:
        """Return the prompt for a policy by the instruction that was drawn."""
        text = self.population.standing[draw.instruction].text
        return prompts.policy_messages(self.services.spec, self.config, self.memory, text)

    def _reflects(self, number: int, count: int) -> bool:
        """Return whether a reflection opens a round: where its instruction can be tried."""
        due = number > 1 and (number - 2) % self.options.reflect_every == 0
        return bool(due and self.options.proposals and count > 1 and not self.population.on_trial)

    async def _reflect(self, number: int) -> tuple[tuple[Note, ...], str]:
        """Ask for new instructions, which are then on trial.

        Returns the notes of the round, and the reason why there is none; empty where there is.
        """
        asked = prompts.reflection_messages(
            self.services.spec,
            self.config,
            self.memory,
            prompts.instructions_text(self.population.active, self.population.gone),
            self.buffer.take(self.options.replayed),
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
            text = reflection_text(reply.text)
            notes = (Note(REFLECTION, text),) if text else ()
            try:
                new = self.population.propose(prompts.instructions_in(reply), number)
                error = "" if new else "what it proposes is known already"
            except ReplyRejected as e:
                error = str(e)
            if not error:
                break
            messages = prompts.reask_messages(asked, reply.text, error, self.config)
        return notes, error

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Count a call for Feedback, one a candidate, and the reflections."""
        policies, options = config.rounds * config.candidates, config.options
        asks = options.proposals and config.candidates > 1
        reflections = -(-(config.rounds - 1) // options.reflect_every) if asks else 0
        calls = 1 + policies + reflections
        return Demand(
            calls=calls,
            max_calls=calls + (policies + 1 + reflections) * options.max_repairs,
            prompt_tokens=prompt_tokens(spec, config, REPLY_TOKENS),
            completion_tokens=REPLY_TOKENS * (1 + policies) + 400 * reflections,
            search_steps=(2 * options.probe + most_episodes(config)) * spec.horizon,
            finalists=config.rounds,
        )

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return the prompts for Feedback, policies by an instruction, reflections, repairs."""
        return prompts.render_all(spec, config)


class Instructions:
    """The population by name: ``standing`` (active or on trial) and ``ended`` instructions."""

    def __init__(self, texts: Sequence[str], options: Options) -> None:
        self.options = options
        self.standing: dict[str, Instruction] = {}
        self.ended: dict[str, Instruction] = {}
        for text in texts:
            self._add(text)

    @property
    def active(self) -> list[Instruction]:
        """The instructions that are drawn."""
        return [i for i in self.standing.values() if i.state == "active"]

    @property
    def on_trial(self) -> list[Instruction]:
        """The instructions under which some candidates are written undrawn."""
        return [i for i in self.standing.values() if i.state == "on trial"]

    @property
    def gone(self) -> list[Instruction]:
        """The latest that were rejected or pruned, which are not to be proposed again."""
        return list(self.ended.values())[-_REMEMBERED:]

    def chances(self) -> dict[str, float]:
        """Return the probability with which each active one is drawn, by name."""
        highest = max(i.weight for i in self.active)
        temperature = self.options.draw_temperature
        powers = {i.name: math.exp((i.weight - highest) / temperature) for i in self.active}
        return {name: power / sum(powers.values()) for name, power in powers.items()}

    def draw(self, candidates: Sequence[str], generator: random.Random) -> list[Draw]:
        """Draw an instruction for each candidate; the last ones get those on trial."""
        chances = self.chances()
        tried = [i.name for i in self.on_trial for _ in range(self.options.trials)]
        tried = tried[: len(candidates) - 1]  # one at least for them to be compared with
        free = candidates[: len(candidates) - len(tried)]
        names = generator.choices([*chances], [*chances.values()], k=len(free))
        drawn = [Draw(c, name, chances[name]) for c, name in zip(free, names, strict=True)]
        rest = candidates[len(free) :]
        return drawn + [Draw(c, name) for c, name in zip(rest, tried, strict=True)]

    def propose(self, texts: Sequence[str], round_: int) -> list[str]:
        """Put new texts on trial, and return them; known ones are left out."""
        texts_so_far = {_words(i.text) for i in (*self.standing.values(), *self.gone)}
        new = [text for text in texts if _words(text) not in texts_so_far][: self.options.proposals]
        for text in new:
            self._add(text, "on trial", round_)
        return new

    def settle(
        self, round_: int, draws: Sequence[Draw], runs: Mapping[str, Rollout], best: Rollout | None
    ) -> list[Draw]:
        """Move the weights, decide on trials, and prune; return the draws with their scores.

        ``runs`` are the rollouts of the round's candidates by name; one that failed has the error,
        and candidates that did not get to play are missing. ``best`` is the rollout of the best
        policy before on these episodes.
        """
        scores = standings({name: run.score for name, run in runs.items()}, best)
        draws = [replace(d, score=scores.get(d.candidate)) for d in draws]
        start = mean(i.weight for i in self.active)
        tried = [i.name for i in self.on_trial]
        for one in [*self.standing.values()]:
            weight = start if one.name in tried else one.weight
            own = [d.score for d in draws if d.instruction == one.name and d.score is not None]
            if own:
                weight += self.options.weight_step * (mean(own) - weight)
            self._set(replace(one, weight=weight, written=one.written + len(own)))
        others = [runs[d.candidate] for d in draws if d.chance is not None and d.candidate in runs]
        for name in tried:
            played = [d.candidate for d in draws if d.instruction == name and d.candidate in runs]
            if played:
                why, admitted = _verdict([runs[c] for c in played], others)
                one = replace(self.standing[name], why=why)
                self._set(
                    replace(one, state="active", admitted=round_)
                    if admitted
                    else replace(one, state="rejected", ended=round_)
                )
        self._prune(round_)
        self.ended |= {n: i for n, i in self.standing.items() if i.ended}
        self.standing = {n: i for n, i in self.standing.items() if not i.ended}
        return draws

    def _prune(self, round_: int) -> None:
        """Take out the worst where it is time, or where there are too many."""
        due = self.options.prune_every and round_ % self.options.prune_every == 0
        for number in range(len(self.active)):
            many = len(self.active) > self.options.most
            pruned = due and number < self.options.prune and len(self.active) > self.options.fewest
            tested = [i for i in self.active if i.written and i.since != round_]
            if not tested or not (many or pruned):
                return
            worst = min(tested, key=lambda i: i.weight)
            why = f"the lowest weight of {len(self.active)} active ones"
            self._set(replace(worst, state="pruned", why=why, ended=round_))

    def _add(self, text: str, state: State = "active", since: int = 0) -> None:
        number = len(self.standing) + len(self.ended) + 1
        self._set(Instruction(f"i{number:02d}", text, state, since=since))

    def _set(self, one: Instruction) -> None:
        self.standing[one.name] = one

    def tables(self, round_: int, draws: Sequence[Draw], failed: str = "") -> list[MethodTable]:
        """Return what is recorded after a round; ``failed``: why no instruction was proposed."""
        ordered = sorted(self.standing.values(), key=lambda i: -i.weight)
        every = [*ordered, *reversed(self.ended.values())]
        counts = {
            "admitted": sum(i.admitted > 0 for i in every),
            "rejected": sum(i.state == "rejected" for i in every),
            "pruned": sum(i.state == "pruned" for i in every),
        }
        words = [f"{count} {what}" for what, count in counts.items() if count]
        changes = [f"none proposed: {failed}"] if failed else []
        changes += [f"{i.name} admitted" for i in every if i.admitted == round_]
        changes += [f"{i.name} {i.state}" for i in every if i.ended == round_]
        weights = ", ".join(f"{i.name} {i.weight:+.2f}" for i in ordered)
        rows = [
            (i.name, i.since or 1, i.weight, i.written, i.state, i.why, i.text)
            for i in every[:_TOLD]
        ]
        columns = ("Instruction", "Since round", "Weight", "Policies", "State", "Because", "Text")
        counted = ", ".join([plural(len(self.active), "active instruction"), *words])
        course = ((round_, weights, "; ".join(changes)),)
        drawn = [(d.candidate, d.instruction, d.chance, d.score) for d in draws]
        by_draw = ("Policy", "Instruction", "Drawn with", "Standing")
        return [
            MethodTable(round_, "Instructions", columns, tuple(rows), counted),
            MethodTable(round_, "Weights of instructions", ("Round", "Weights", "Changes"), course,
                        adds=True),
            MethodTable(round_, "Policies by instruction", by_draw, tuple(drawn), adds=True),
        ]  # fmt: skip


def standings(scores: Mapping[str, Score], best: Rollout | None = None) -> dict[str, float]:
    """Return ``s`` of each candidate, -1 to 1; 0 where it has no opponent."""
    values = {}
    for name, own in scores.items():
        others = [other for rival, other in scores.items() if rival != name]
        others += [best.score] if best is not None else []
        signs = [(own > other) - (own < other) for other in others]
        values[name] = mean(signs) if signs else 0.0
    return values


def less_mean(tried: Sequence[Rollout], others: Sequence[Rollout]) -> Paired | None:
    """Return the mean of some policies less that of others, episode by episode.

    Where a policy object lives through several episodes, its lives are the pairs. None where there
    are fewer than two pairs.
    """
    differences = []
    for measure in (lambda e: e.return_, lambda e: bool(e.success)):
        mine, theirs = (_means(runs, measure) for runs in (tried, others))
        pairs = [(seed, mine[seed] - theirs[seed]) for seed in mine if seed in theirs]
        lives = in_lives(pairs, tried[0].life, lambda pair: pair[0]) if pairs else []
        if len(lives) < 2:
            return None
        values = [mean(value for _, value in life) for life in lives]
        differences.append(Difference(mean(values), standard_error(values), len(values)))
    defined = all(e.success is not None for run in tried for e in run.whole)
    return Paired(differences[0], differences[1] if defined else None)


def _means(runs: Sequence[Rollout], measure: Callable[[Episode], float]) -> dict[int, float]:
    """Return the mean of a measure over several policies, by the seed of the episode."""
    values: dict[int, list[float]] = {}
    for episode in (e for run in runs for e in run.whole):
        values.setdefault(episode.seed, []).append(measure(episode))
    return {seed: mean(each) for seed, each in values.items()}


def _verdict(own: Sequence[Rollout], others: Sequence[Rollout]) -> tuple[str, bool]:
    """Return the reason why an instruction on trial is admitted or not, and whether it is."""
    through = [run for run in own if not run.score.failed]
    if not through:
        return "nothing written under it got through", False
    pair = less_mean(through, [run for run in others if not run.score.failed])
    if pair is None:
        return "too few episodes to hold it against others", True
    by, what = pair.returns, "return"
    if pair.successes is not None and (pair.successes.mean or pair.successes.error):
        by, what = pair.successes, "success"
    error = f" ± {by.error:.2g}" if by.error > 0 else ""
    return f"{what} {by.mean:+.4g}{error} against the population's mean", pair.sign >= 0


def _words(text: str) -> str:
    return " ".join(text.lower().split())


@dataclass(frozen=True)
class Replayed(prompts.Shown):
    """The outcome of a candidate: its error, or its worst episode in words.

    ``score`` is its standing among its round's, -1 to 1; ``failed``: an error, or no success;
    ``times`` is how often a reflection has been shown it.
    """

    failed: bool
    score: float
    times: int = 0


class ReplayBuffer:
    """At most ``size`` outcomes: less often shown ones and failures first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held: list[Replayed] = []

    def add(self, round_: Round, draws: Sequence[Draw]) -> None:
        """Take in a round's candidates, as far as there is anything to tell of them."""
        drawn = {d.candidate: d for d in draws if d.score is not None}
        new = [_replayed(c, drawn[c.name]) for c in round_.candidates if c.name in drawn]
        self._hold([*(r for r in reversed(new) if r.text), *self.held])

    def take(self, count: int) -> list[Replayed]:
        """Return the first of them, which count as shown from now on."""
        taken = self.held[:count]
        self._hold([*(replace(r, times=r.times + 1) for r in taken), *self.held[count:]])
        return taken

    def _hold(self, outcomes: Sequence[Replayed]) -> None:
        """Order them: less often shown, failed, and worse ones first; of equal ones the later."""
        ordered = sorted(outcomes, key=lambda r: (r.times, not r.failed, r.score))
        self.held = ordered[: self.size]


def _replayed(candidate: Candidate, draw: Draw) -> Replayed:
    of, score, run = (candidate.name, draw.instruction), draw.score or 0.0, candidate.pooled
    if candidate.error is not None or run is None or candidate.score.failed:
        return Replayed(*of, "Failed", (candidate.error or "").strip(), failed=True, score=score)
    missed = any(e.success is False for e in run.whole)
    note = candidate.notes[0] if candidate.notes else Note("", "")
    return Replayed(*of, note.title, note.text, failed=missed, score=score)
