"""What a run may take, before it takes it: ``--dry-run``."""

from __future__ import annotations

from dataclasses import dataclass

from promptpo.config import RunConfig
from promptpo.methods import Demand, find_method
from promptpo.spec import load_spec


@dataclass(frozen=True)
class Forecast:
    """What the search asks for, and the phases after it; steps are the most there can be.

    ``search`` is None where the method does not say what it will ask for.
    Tokens are rough: four characters a token, prompts that grow up to the history's budget.
    """

    search: Demand | None
    selection_steps: int
    test_steps: int

    @property
    def steps(self) -> int:
        """Environment steps of the whole run."""
        search = self.search.search_steps if self.search else 0
        return search + self.selection_steps + self.test_steps


def forecast(config: RunConfig) -> Forecast:
    """Count what ``config`` asks for. Raises SpecError."""
    spec = load_spec(config.spec, published=config.published_prompt, limit=config.env_timeout)
    config = config.for_spec(spec)
    demand = find_method(config.method).forecast(spec, config)
    count = demand.finalists if demand else config.rounds
    finalists = count if count > 1 else 0
    return Forecast(
        search=demand,
        selection_steps=finalists * config.selection[1] * spec.horizon,
        test_steps=config.held_out * spec.horizon,
    )
