"""Episodes that stand or fall together, and what became of a job's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from promptpo.rollout.episode import Running
from promptpo.rollout.jobs import UNPLAYED, InstanceRun, InstancesJob, PlayJob, PlayRun, unplayed
from promptpo.types import Episode

#: Steps in a row whose rewards make up a pace.
PACE = 10
#: Characters of an error that are kept for a vector of constants.
_MAX_ERROR = 500


@dataclass
class Contender:
    """Episodes that fail together: those of one life, or of one vector of constants.

    Attributes:
        lives: their seeds; those of a life follow each other on one policy object.
        first: the number of the first seed among those of the job.
        constants: the values at the places of the program.
        error, error_kind: why it failed.
        bound: the mean return that it could have reached at best when it was given up.
        ended: what came of the episodes that came to an end.
        output: what its policies printed.
    """

    lives: Sequence[tuple[int, ...]]
    first: int = 0
    constants: tuple[float, ...] = ()
    error: str | None = None
    error_kind: str | None = None
    bound: float | None = None
    ended: list[Running] = field(default_factory=list)
    failed: list[Running] = field(default_factory=list)
    output: str = ""
    rounds: int = 0

    @property
    def over(self) -> bool:
        """Whether it has failed or was given up."""
        return self.error is not None or self.bound is not None

    @property
    def steps(self) -> int:
        """Environment steps."""
        return sum(episode.steps for episode in (*self.ended, *self.failed))

    def look(self, job: InstancesJob, playing: Sequence[Running]) -> None:
        """Give up where even the best pace cannot bring the mean return up to the bar any more."""
        under_way = [episode for episode in playing if not episode.over]
        if job.bar is None or self.over or not under_way:
            return
        horizon, best = playing[0].task.horizon, max(job.pace, 0.0)
        total = sum(episode.total for episode in (*self.ended, *playing))
        total += sum((horizon - episode.steps) * best for episode in under_way)
        total += (len(job.seeds) - len(self.ended) - len(playing)) * horizon * best
        if total / len(job.seeds) < job.bar:
            self.bound = total / len(job.seeds)


def pace(rewards: Sequence[float]) -> float:
    """Return the highest mean reward of ``PACE`` steps in a row, or of a shorter episode's."""
    if len(rewards) <= PACE:
        return float(np.mean(rewards)) if rewards else -math.inf
    sums = np.cumsum(np.concatenate(([0.0], rewards)))
    return float(np.max(sums[PACE:] - sums[:-PACE])) / PACE


def run_of(job: PlayJob, contenders: Sequence[Contender]) -> PlayRun:
    """Return what became of a PlayJob whose lives the contenders played."""
    found: dict[int, tuple[Running, Episode]] = {}
    for contender in contenders:
        found |= {e.seed: (e, e.result()) for e in contender.ended}
        error = contender.error or UNPLAYED
        found |= {e.seed: (e, e.result(error)) for e in contender.failed}
    failed = next((c for c in contenders if c.error is not None), Contender([]))
    return PlayRun(
        results=tuple(found[s][1] if s in found else unplayed(s) for s in job.seeds),
        steps=sum(contender.steps for contender in contenders),
        clipped=tuple(found[s][0].clipped if s in found else 0 for s in job.seeds),
        output="".join(contender.output for contender in contenders),
        error=failed.error,
        error_kind=failed.error_kind,
        episodes=tuple(e.trajectory() for c in contenders for e in c.ended if e.keep),
    )


def instance_run(job: InstancesJob, contender: Contender) -> InstanceRun:
    """Return what became of one vector of constants."""
    ended = {episode.seed: episode for episode in contender.ended}
    error = contender.error
    paces = [pace(episode.rewards) for episode in (*contender.ended, *contender.failed)]
    return InstanceRun(
        results=tuple(ended[seed].result() for seed in job.seeds if seed in ended),
        steps=contender.steps,
        error=None if error is None else error[-_MAX_ERROR:],
        bound=contender.bound,
        pace=max(paces, default=-math.inf),
    )
