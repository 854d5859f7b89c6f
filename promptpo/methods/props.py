"""ProPS and ProPS+ (arXiv 2511.21928): a language model as an optimizer of parameters.

1. Random policies, linear or tables, play one episode each (warm-up).
2. Each iteration is one call: all parameters tried so far with their mean returns, and the next
   ones are asked for. ProPS tells the numbers alone; ProPS+ also what the task is and what each
   parameter does. The proposal plays its episodes and enters the history.

There is no incumbent and no selection in the search; those with the best search scores meet on
selection episodes in the end, as with every method here. ``--candidates`` above the paper's 1 asks
for several proposals by one history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from promptpo.common.concurrency import all_of
from promptpo.config import RunConfig
from promptpo.methods.base import Demand, Messages, Method, Services, best_of_all
from promptpo.methods.parameters import (
    ParameterOptions,
    Proposals,
    again_prompt,
    demand,
    guessed_space,
    live_space,
)
from promptpo.policies import Entry, Vectors
from promptpo.prompts import props as prompts
from promptpo.types import Candidate, Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True)
class Options(ParameterOptions):
    """Those of all methods of compact policies; a round is an iteration."""


class ProPS(Method):
    """Numbers alone."""

    Options: ClassVar[type[Options]] = Options
    asks_for_policies: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = {
        "rounds": 400, "candidates": 1, "episodes": 20, "patience": 0,
    }  # fmt: skip
    described: ClassVar[bool] = False

    def __init__(self, services: Services) -> None:
        super().__init__(services)
        self.proposals = Proposals(services)
        self.history: list[Entry] = []

    async def search(self) -> str:
        """Iterations until the last one, a target, the patience or a limit."""
        samples = await self.proposals.warm_up(self.config.options.warm_up)
        self.history += self.proposals.entries(samples)
        while len(self.rounds) < self.config.rounds:
            allowed = await self.services.open_round(self.rounds)
            self.rounds.append(await self._round(len(self.rounds) + 1, allowed))
            self.services.record(self.rounds[-1])
        return "all rounds are done"

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the policies with the best search scores."""
        return best_of_all(self.rounds, self.config.options.finalists)

    async def _round(self, number: int, count: int) -> Round:
        space = self.proposals.space
        told = prompts.history_lines(space, self.history)
        prompt = prompts.search_messages(
            self.services.spec, self.config, space, told, number, described=self.described
        )
        seeds = self.proposals.seeds(number - 1)
        keys = [Key(number, index, role="search") for index in range(1, count + 1)]
        proposed = await all_of(self.proposals.propose(key, prompt) for key in keys)
        candidates = await all_of(self.proposals.played(c, seeds, keep=False) for c in proposed)
        self.history += self.proposals.entries(candidates)
        return Round(number, tuple(candidates), best_of(candidates))

    @classmethod
    def forecast(cls, spec: EnvSpec, config: RunConfig) -> Demand:
        """A call and an evaluation a candidate."""
        space = guessed_space(spec, config)
        asked = [cls._prompt(spec, config, space)] * config.candidates
        return demand(spec, config, space, asked, config.candidates)

    @classmethod
    def all_prompts(cls, spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """The one prompt of every iteration, and the answer to a reply without parameters."""
        space = live_space(spec, config)
        prompt = cls._prompt(spec, config, space)
        return [("search", prompt), again_prompt(prompt, space)]

    @classmethod
    def _prompt(cls, spec: EnvSpec, config: RunConfig, space: Vectors) -> Messages:
        return prompts.search_messages(
            spec, config, space, prompts.SOME_HISTORY, "<k>", described=cls.described
        )


class ProPSPlus(ProPS):
    """Numbers with the task's description."""

    described: ClassVar[bool] = True
