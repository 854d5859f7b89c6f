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

    async def search(self) -> str:
        """Rounds until the last one, a target, the patience or a limit."""
        while len(self.rounds) < self.config.rounds:
            allowed = await self.services.open_round(self.rounds)
            self.rounds.append(await self._round(len(self.rounds) + 1, allowed))
            self.services.record(self.rounds[-1])
        return "all rounds are done"

    async def _round(self, number: int, count: int) -> Round:
        generator = random.Random(f"{self.config.seed}/{number}")  # noqa: S311 - no secret
        scale = self.config.options.scale
        vectors = [self.policy.draw(generator, scale) for _ in range(count)]
        episodes = self.config.first_episodes
        seeds = self.services.seeds((number - 1) * episodes, episodes)
        keys = [Key(number, index) for index in range(1, count + 1)]
        program = self.policy.program
        runs = await self.services.play(program, seeds, keys=keys, constants=vectors, keep=False)
        candidates = [
            Candidate(key, program.source(vector), run, run.error, "sample")
            for key, vector, run in zip(keys, vectors, runs, strict=True)
        ]
        for candidate in candidates:
            self.services.record(candidate)
        return Round(number, tuple(candidates), best_of(candidates))

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand:
        """Episodes only."""
        steps = config.rounds * config.candidates * config.first_episodes * spec.horizon
        return Demand(search_steps=steps, finalists=config.rounds)
