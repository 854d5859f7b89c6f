"""What methods share that ask a model for the parameters of a compact policy: ProPS and R2PO.

The policy is linear with a bias, or a table (``promptpo.policies.parametric``); what plays and
ships is its source with the parameters as literals. A reply that holds no complete set of them is
asked for again, a bounded number of times, and is a failed proposal then. Parameters beyond the
bounds are clipped, which is told in the candidate's note.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from promptpo.common.concurrency import all_of
from promptpo.common.text import plural
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached, UsageError
from promptpo.llm.extraction import ReplyRejected, answer_text
from promptpo.llm.messages import Reply
from promptpo.methods.base import Demand, Messages, Services
from promptpo.policies import Actions, Entry, Program, Vector, Vectors, parametric_policy
from promptpo.prompts.props import again_messages
from promptpo.prompts.task import count_tokens
from promptpo.types import Candidate, Key, Kind, Note

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: Parameters that a model is asked for, at most.
MOST = 1_000

#: Title of the note that has a candidate's parameters.
PARAMETERS = "Parameters"

#: Tokens of a proposal beside its parameters.
_WORDS = 200


@dataclass(frozen=True)
class ParameterOptions:
    """What methods of compact policies have in common; the defaults are of ProPS and R2PO."""

    warm_up: int = option(
        20, "random policies that play one episode each before round 1", within=(0, 1000)
    )
    deviation: float = option(
        3.0, "standard deviation of the parameters of random linear policies", within=(0, 1e6)
    )
    bound: float = option(
        6.0, "parameters of linear policies lie between minus this and this", within=(1e-6, 1e6)
    )
    digits: int = option(1, "decimal places of the parameters of linear policies", within=(0, 9))
    step: float = option(
        1.0,
        "how far a parameter is to move near a good one, as prompts say (the papers: 0.1 on"
        " Swimmer, Hopper, Walker2d, Reacher and the double pendulum)",
        within=(1e-9, 1e6),
    )
    scaled: bool = option(
        False,
        "let linear policies read observations scaled to -1 .. 1 where their bounds are known",
    )
    max_repairs: int = option(
        4, "times a reply without parameters is asked for again", within=(0, 100)
    )
    finalists: int = option(
        5, "policies with the best search scores that meet on selection episodes", within=(1, 100)
    )


class Proposals:
    """Asks for parameters and plays them; knows what each candidate's are."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self.space = space_of(services.spec, services.task.actions, services.config)
        self._values: dict[str, Vector] = {}

    async def warm_up(self, count: int) -> list[Candidate]:
        """Random policies with an episode each, as far as the step limit leaves room for them."""
        config, each = self.config, self.config.whole(1)
        if config.max_env_steps is not None:
            count = min(count, config.max_env_steps // (each * self.services.spec.horizon))
        generator = random.Random(f"{config.seed}/warm-up")  # noqa: S311 - no secret
        drawn = [self.space.draw(generator, config.options.deviation) for _ in range(count)]
        samples = [self._made(Key(0, i), values, "sample") for i, values in enumerate(drawn, 1)]
        return await all_of(
            self.played(sample, self.services.seeds(i * each, each), keep=False)
            for i, sample in enumerate(samples)
        )

    def seeds(self, part: int) -> tuple[int, ...]:
        """The search seeds of an evaluation, numbered from 0, those of warm-up left out."""
        config, episodes = self.config, self.config.first_episodes
        first = config.whole(1) * config.options.warm_up + part * episodes
        return self.services.seeds(first, episodes)

    async def propose(
        self, key: Key, messages: Messages, kind: Kind = "proposal", parents: tuple[str, ...] = ()
    ) -> Candidate:
        """Ask for parameters; ``key`` has the role. One with an error where none were to be had."""
        candidate = Candidate(Key(key.round, key.candidate), None, kind=kind, parents=parents)
        asked = messages
        for attempt in range(self.config.options.max_repairs + 1):
            at = replace(key, attempt=attempt)
            state = "repairing" if attempt else "asked"
            self.services.report("state", name=key.name, state=state)
            try:
                reply = await self.services.ask(at, asked, self._read)
            except LimitReached as limit:
                return replace(candidate, error=candidate.error or f"not proposed: {limit}")
            try:
                values = self._read(reply)
            except (ReplyRejected, ValueError) as e:
                candidate = replace(candidate, key=replace(at, role=""), error=str(e))
                asked = again_messages(messages, reply.text, str(e), self.space)
                continue
            return self._made(replace(at, role=""), values, kind, parents)
        return candidate

    def _read(self, reply: Reply) -> Vector:
        """The parameters in a reply. Raises ReplyRejected or ValueError."""
        return self.space.read(answer_text(reply))

    def _made(
        self, key: Key, values: Vector, kind: Kind, parents: tuple[str, ...] = ()
    ) -> Candidate:
        """The candidate of these parameters, clipped to the bounds."""
        values, clipped = self.space.fitted(values)
        words = self.space.shown(values)
        if clipped:
            of = plural(self.space.size, "parameter")
            told = f"{clipped} of {of} clipped to -{self.space.high:g} .. {self.space.high:g}"
            self.services.report("notice", text=f"{key.name}: {told}")
            words += f"; {told}"
        self._values[key.name] = values
        source = self.space.source(values)
        return Candidate(key, source, kind=kind, parents=parents, notes=(Note(PARAMETERS, words),))

    async def played(self, candidate: Candidate, seeds: Sequence[int], *, keep: bool) -> Candidate:
        """A candidate after these episodes, recorded; one that has failed already only recorded."""
        if candidate.source is not None:
            try:
                program = Program.of(candidate.source)
                [run] = await self.services.play(program, seeds, keys=[candidate.key], keep=keep)
                candidate = replace(candidate, rollout=run, error=run.error)
            except LimitReached as limit:
                candidate = replace(candidate, error=f"not played: {limit}")
        self.services.record(candidate)
        state = "failed" if candidate.score.failed else "scored"
        self.services.report("state", name=candidate.name, state=state)
        return candidate

    def values(self, of: Candidate) -> Vector:
        """A candidate's parameters."""
        return self._values[of.name]

    def entries(self, candidates: Sequence[Candidate]) -> list[Entry]:
        """What is told of those that got through their episodes."""
        return [
            Entry(self.values(c), c.score.mean_return, c.score.success_rate, len(c.pooled.whole))
            for c in candidates
            if c.pooled is not None and not c.score.failed
        ]


def space_of(spec: EnvSpec, actions: Actions, config: RunConfig) -> Vectors:
    """The parameters of a task's policy. Raises UsageError where there are too many to ask for."""
    options = config.options
    policy = parametric_policy(spec, actions, scaled=options.scaled)
    if policy.program.size > MOST:
        raise UsageError(
            f"{spec.name}: a {policy.name} policy has {policy.program.size:,} parameters, and"
            f" --method {config.method} asks for {MOST:,} at most; choose a method that writes code"
        )
    return Vectors(policy, -options.bound, options.bound, options.digits)


def live_space(spec: EnvSpec, config: RunConfig) -> Vectors:
    """The same without a run: the environment is opened for it."""
    from promptpo.rollout.worker import actions_of
    from promptpo.spec import Task

    with closing(Task.open(spec)) as task:
        return space_of(spec, actions_of(task), config)


def guessed_space(spec: EnvSpec, config: RunConfig) -> Vectors:
    """One of about that size, where the environment is not to be opened: of two choices."""
    options = config.options
    policy = parametric_policy(spec, Actions(counts=(2,), starts=(0,)), scaled=options.scaled)
    return Vectors(policy, -options.bound, options.bound, options.digits)


def again_prompt(asked: Messages, space: Vectors) -> tuple[str, Messages]:
    """How a reply without parameters is answered, by its title, to be shown."""
    return "again, after a reply without parameters", again_messages(
        asked, "<the reply>", "<what is wrong with it>", space
    )


def demand(
    spec: EnvSpec, config: RunConfig, space: Vectors, prompts: Sequence[Messages], plays: int
) -> Demand:
    """What rounds of these prompts take, each with ``plays`` evaluations; histories are added."""
    options, rounds, calls = config.options, config.rounds, len(prompts)
    line = count_tokens(space.shown([0.0] * space.size))
    size = sum(count_tokens(m.content) for messages in prompts for m in messages)
    told = options.warm_up + (rounds - 1) / 2
    episodes = options.warm_up * config.whole(1) + rounds * plays * config.first_episodes
    return Demand(
        calls=rounds * calls,
        max_calls=rounds * calls * (options.max_repairs + 1),
        prompt_tokens=int(rounds * (size + calls * told * line)),
        completion_tokens=rounds * calls * (2 * line + _WORDS),
        search_steps=episodes * spec.horizon,
        finalists=min(options.finalists, rounds * plays),
    )
