"""Random search over compact policies: no model, no gradient, nothing learned.

The control that says how hard a task is: policies with numbers drawn at random, linear in the
observation or a table of actions (``promptpo.policies``), each on the same fresh episodes as the
others of its round. The drawing follows from ``--seed``, so a run that is resumed draws the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from promptpo.config import RunConfig, option
from promptpo.methods.base import Demand, Method, Services
from promptpo.policies import ParametricPolicy, parametric_policy
from promptpo.types import Candidate, Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options:
    """A round has ``candidates`` samples; there are ``rounds`` of them."""

    scale: float = option(
        1.0, "standard deviation of the weights of a linear policy", within=(1e-9, 1e9)
    )


class RandomSearch(Method):
    """Rounds of samples; the winners of the rounds are the finalists."""

    Options: ClassVar[type[Options]] = Options
    needs_model: ClassVar[bool] = False

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.policy: ParametricPolicy = parametric_policy(services.spec, services.task.actions)

    async def search(self) -> None:
        """Draw rounds until the last one, a target, the patience or a limit."""
        program, episodes = self.policy.program, self.config.first_episodes
        async for number, count in self.next_rounds():
            generator = random.Random(f"{self.config.seed}/{number}")  # noqa: S311 - no secret
            vectors = [self.policy.draw(generator, self.config.options.scale) for _ in range(count)]
            seeds = self.services.seeds((number - 1) * episodes, episodes)
            keys = [Key(number, index) for index in range(1, count + 1)]
            runs = await self.services.play(
                program, seeds, keys=keys, constants=vectors, keep=False
            )
            candidates = [
                Candidate(key, program.source(vector), run, run.error, "sample")
                for key, vector, run in zip(keys, vectors, runs, strict=True)
            ]
            for candidate in candidates:
                self.services.record(candidate)
            self.rounds.append(Round(number, tuple(candidates), best_of(candidates)))

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Count episodes only."""
        steps = config.rounds * config.candidates * config.first_episodes * spec.horizon
        return Demand(search_steps=steps, finalists=config.rounds)
