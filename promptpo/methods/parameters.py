"""The parts of methods that ask a model for the parameters of a compact policy: ProPS and R2PO.

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
from typing import TYPE_CHECKING, ClassVar

from promptpo.common.concurrency import all_of
from promptpo.common.text import plural
from promptpo.config import RunConfig, option
from promptpo.errors import LimitReached, UsageError
from promptpo.llm.extraction import ReplyRejected, answer_text
from promptpo.llm.messages import Reply
from promptpo.methods.base import Demand, Method, Services, best_of_all, recorded, rolled_out
from promptpo.policies import Actions, Entry, Vector, Vectors, parametric_policy
from promptpo.prompts.props import again_messages
from promptpo.prompts.task import Messages, count_tokens, message_tokens
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
    """Options of all methods of compact policies; the defaults are of ProPS and R2PO."""

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


class ParameterMethod(Method):
    """A method that asks for parameters and plays them.

    Attributes:
        space: the parameters of the task's policy.
        history: the parameters that have played, with their results.
    """

    asks_for_policies: ClassVar[bool] = False

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.space = space_of(services.spec, services.task.actions, services.config)
        self.history: list[Entry] = []
        self._values: dict[str, Vector] = {}

    @staticmethod
    def iteration(spec: EnvSpec, config: RunConfig, space: Vectors) -> list[tuple[str, Messages]]:
        """Return the prompts of a round by title, what only a run knows in <brackets>."""
        raise NotImplementedError

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the policies with the best search scores."""
        return best_of_all(self.rounds, self.config.options.finalists)

    async def warm_up(self, count: int) -> list[Candidate]:
        """Play random policies with an episode each, as far as the step limit leaves room."""
        config, each = self.config, self.config.whole(1)
        if config.max_env_steps is not None:
            count = min(count, config.max_env_steps // (each * self.services.spec.horizon))
        generator = random.Random(f"{config.seed}/warm-up")  # noqa: S311 - no secret
        drawn = [self.space.draw(generator, config.options.deviation) for _ in range(count)]
        samples = [self._candidate(Key(0, i), v, "sample") for i, v in enumerate(drawn, 1)]
        played = await all_of(
            self.played(sample, self.services.seeds(i * each, each), keep=False)
            for i, sample in enumerate(samples)
        )
        self.history += self.entries(played)
        return played

    def seeds(self, part: int) -> tuple[int, ...]:
        """Return the search seeds of an evaluation, numbered from 0, those of warm-up left out."""
        config, episodes = self.config, self.config.first_episodes
        first = config.whole(1) * config.options.warm_up + part * episodes
        return self.services.seeds(first, episodes)

    async def propose(
        self, key: Key, messages: Messages, kind: Kind = "proposal", parents: tuple[str, ...] = ()
    ) -> Candidate:
        """Ask for parameters; ``key`` has the role. Where there are none the candidate has failed.

        A reply without them is asked for again.
        """
        candidate = Candidate(replace(key, role=""), None, kind=kind, parents=parents)
        asked = messages
        for attempt in range(self.config.options.max_repairs + 1):
            at = replace(candidate.key, attempt=attempt)
            state = "repairing" if attempt else "asked"
            self.services.report("state", name=key.name, state=state)
            try:
                reply = await self.services.ask(replace(at, role=key.role), asked, self._read)
                return self._candidate(at, self._read(reply), kind, parents)
            except LimitReached as limit:
                return replace(candidate, error=candidate.error or f"not proposed: {limit}")
            except (ReplyRejected, ValueError) as e:
                candidate = replace(candidate, key=at, error=str(e))
                asked = again_messages(messages, reply.text, str(e), self.space)
        return candidate

    def _read(self, reply: Reply) -> Vector:
        """Return the parameters in a reply. Raises ReplyRejected or ValueError."""
        return self.space.read(answer_text(reply))

    def _candidate(
        self, key: Key, values: Vector, kind: Kind, parents: tuple[str, ...] = ()
    ) -> Candidate:
        """Return the candidate of these parameters, clipped to the bounds."""
        values, clipped = self.space.fitted(values)
        words = self.space.shown(values)
        if clipped:
            of = plural(self.space.size, "parameter")
            notice = f"{clipped} of {of} clipped to -{self.space.high:g} .. {self.space.high:g}"
            self.services.report("notice", text=f"{key.name}: {notice}")
            words += f"; {notice}"
        self._values[key.name] = values
        notes = (Note(PARAMETERS, words),)
        return Candidate(key, self.space.source(values), kind=kind, parents=parents, notes=notes)

    async def played(self, candidate: Candidate, seeds: Sequence[int], *, keep: bool) -> Candidate:
        """Play these episodes with a candidate; record it, and one that has failed already."""
        if candidate.source is not None:
            try:
                candidate = await rolled_out(self.services, candidate, seeds, keep=keep)
            except LimitReached as limit:
                candidate = replace(candidate, error=f"not played: {limit}")
        return recorded(self.services, candidate)

    def values(self, of: Candidate) -> Vector:
        """Return a candidate's parameters."""
        return self._values[of.name]

    def entries(self, candidates: Sequence[Candidate]) -> list[Entry]:
        """Return the results of those that got through their episodes."""
        return [
            Entry(self.values(c), c.score.ranked, c.score.success_rate, len(c.pooled.whole))
            for c in candidates
            if c.pooled is not None and not c.score.failed
        ]

    @classmethod
    def forecast(cls, spec: EnvSpec, config: RunConfig) -> Demand:
        """Count a call and an evaluation for each prompt of a round; histories are added.

        The environment is not opened: a task with two choices stands for it.
        """
        options, rounds = config.options, config.rounds
        actions = Actions(counts=(2,), starts=(0,))
        space = space_of(spec, actions, config, most=10**9)
        prompts = [messages for _, messages in cls.iteration(spec, config, space)]
        line, calls = count_tokens(space.shown([0.0] * space.size)), len(prompts)
        lines = options.warm_up + (rounds - 1) / 2  # of the history, on average
        episodes = options.warm_up * config.whole(1) + rounds * calls * config.first_episodes
        return Demand(
            calls=rounds * calls,
            max_calls=rounds * calls * (options.max_repairs + 1),
            prompt_tokens=int(rounds * (sum(map(message_tokens, prompts)) + calls * lines * line)),
            completion_tokens=rounds * calls * (2 * line + _WORDS),
            search_steps=episodes * spec.horizon,
            finalists=min(options.finalists, rounds * calls),
        )

    @classmethod
    def all_prompts(cls, spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return the prompts of a round, and the answer to a reply without parameters.

        The environment is opened for its actions.
        """
        from promptpo.rollout.worker import actions_of
        from promptpo.spec import Task

        with closing(Task.open(spec)) as task:
            space = space_of(spec, actions_of(task), config)
        asked = dict(cls.iteration(spec, config, space))
        again = again_messages(
            next(iter(asked.values())), "<the reply>", "<what is wrong with it>", space
        )
        return [*asked.items(), ("again, after a reply without parameters", again)]


def space_of(spec: EnvSpec, actions: Actions, config: RunConfig, most: int = MOST) -> Vectors:
    """Return the parameters of a task's policy. Raises UsageError where they are more."""
    options = config.options
    policy = parametric_policy(spec, actions, scaled=options.scaled)
    if policy.program.size > most:
        raise UsageError(
            f"{spec.name}: a {policy.name} policy has {policy.program.size:,} parameters, and"
            f" --method {config.method} asks for {MOST:,} at most; choose a method that writes code"
        )
    return Vectors(policy, -options.bound, options.bound, options.digits)
