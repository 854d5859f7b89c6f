"""What tuning hands about: what a vector of values has played, how it ranks, what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from promptpo.outcomes import Rollout, Score
from promptpo.tuning.optimizer import Values


@dataclass(frozen=True)
class Bar:
    """Below which mean return nobody needs to know more, and the most that a step may yet bring."""

    mean: float
    pace: float


@dataclass(frozen=True)
class Played:
    """What one vector of values has played.

    ``bound``: what its mean return could have been at best when it was given up, below a bar; None
    where it was played to the end. ``pace``: the most that a few steps in a row have brought, each.
    """

    run: Rollout
    bound: float | None = None
    pace: float = -math.inf


@dataclass(frozen=True)
class Standing:
    """What a judgement has left: steps so far, the incumbent's values and what it has played."""

    steps: int
    values: Values
    run: Rollout


@dataclass
class Tuned:
    """What tuning found. ``history`` begins with the policy as it was written.

    ``before`` and ``after`` are the final episodes of what was written and of what had been found;
    None where nothing else had been. ``values`` are the written ones unless these were beaten.
    ``samples`` are values and which share of its generation each left behind; ``failures`` counts
    those that failed, by why.
    """

    values: Values
    before: Rollout | None = None
    after: Rollout | None = None
    history: list[Standing] = field(default_factory=list)
    steps: int = 0
    generations: int = 0
    restarts: int = 0
    samples: list[tuple[Values, float]] = field(default_factory=list)
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether anything was better beyond noise than what was written."""
        return self.values != self.history[0].values


def ranked(played: Sequence[Played]) -> list[float]:
    """How many others each leaves behind, equal ones half of each other; NaN if it failed.

    Who was given up comes after all who were not, by what it could have reached.
    """
    keys = [
        (0, Score(its.bound)) if its.bound is not None else (1, its.run.score) for its in played
    ]
    return [
        math.nan
        if its.run.error is not None
        else sum(mine > other for other in keys) + 0.5 * (sum(mine == other for other in keys) - 1)
        for its, mine in zip(played, keys, strict=True)
    ]
