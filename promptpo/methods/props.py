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
from promptpo.methods.parameters import ParameterMethod, ParameterOptions
from promptpo.policies import Vectors
from promptpo.prompts.props import SOME_HISTORY, history_lines, search_messages
from promptpo.prompts.task import Messages
from promptpo.types import Key, Round, best_of

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec


@dataclass(frozen=True, kw_only=True)
class Options(ParameterOptions):
    """Options of all methods of compact policies; a round is an iteration."""


class ProPS(ParameterMethod):
    """ProPS: the model sees parameters and their returns, and nothing of the task."""

    Options: ClassVar[type[Options]] = Options
    defaults: ClassVar[Mapping[str, Any]] = {
        "rounds": 400, "candidates": 1, "episodes": 20, "patience": 0,
    }  # fmt: skip
    described: ClassVar[bool] = False

    async def search(self) -> None:
        """Play iterations until the last one, a target, the patience or a limit."""
        await self.warm_up(self.config.options.warm_up)
        async for number, count in self.next_rounds():
            lines = history_lines(self.space, self.history)
            prompt = search_messages(
                self.services.spec, self.config, self.space, lines, number, described=self.described
            )
            keys = [Key(number, index, role="search") for index in range(1, count + 1)]
            proposed = await all_of(self.propose(key, prompt) for key in keys)
            seeds = self.seeds(number - 1)
            candidates = await all_of(self.played(c, seeds, keep=False) for c in proposed)
            self.history += self.entries(candidates)
            self.rounds.append(Round(number, tuple(candidates), best_of(candidates)))

    @classmethod
    def iteration(
        cls, spec: EnvSpec, config: RunConfig, space: Vectors
    ) -> list[tuple[str, Messages]]:
        """Return the one prompt, for each candidate."""
        prompt = search_messages(spec, config, space, SOME_HISTORY, "<k>", described=cls.described)
        return [("search", prompt)] * config.candidates


class ProPSPlus(ProPS):
    """Numbers with the task's description."""

    described: ClassVar[bool] = True
