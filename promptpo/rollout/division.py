"""How a job's episodes are divided among workers, and what came of the parts as one.

Parts may be of any size: what becomes of an episode does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

from promptpo.rollout.jobs import InstancesJob, PlayJob, PlayRun

#: Episodes at the same time that have their environments whatever these cost, and at most.
BASE, MOST = 5, 16
#: Seconds that a step of a lone episode waits for its process, and not one of many.
_WAIT = 45e-6


def best_width(episodes: int, opened: int, opening: float, horizon: int) -> int:
    """Return how many of so many episodes to play together, for all to be over soonest.

    More at the same time wait less for each other's processes, but need an environment each: w of
    them take ``w * opening`` seconds, and each of ``episodes * horizon`` steps waits for
    ``_WAIT / w``. ``opened`` environments are there already.
    """
    paying = int(math.sqrt(episodes * horizon * _WAIT / max(opening, 1e-9)))
    return max(1, min(episodes, MOST, max(BASE, opened, paying)))


def divided(job: PlayJob, groups: int) -> list[PlayJob]:
    """Return the job in so many parts of nearly equal size, in order: at most one a life."""
    lives = job.lives
    count = min(groups, len(lives))
    ends = [len(lives) * n // count for n in range(count + 1)]
    parts = []
    start = 0
    for seeds in (tuple(chain(*lives[a:b])) for a, b in pairwise(ends)):
        keep = tuple(seed for seed in seeds if seed in job.keep)
        parts.append(replace(job, seeds=seeds, keep=keep, first=job.first + start))
        start += len(seeds)
    return parts


def of_instances(job: InstancesJob, workers: int, parts: int | None = None) -> list[InstancesJob]:
    """Return the job in so many parts, in order; by default enough to keep workers busy."""
    episodes = len(job.constants) * len(job.seeds)
    parts = parts or max(workers, min(2 * workers, episodes // (2 * BASE)))
    parts = min(parts, len(job.constants))
    ends = [len(job.constants) * n // parts for n in range(parts + 1)]
    return [replace(job, constants=job.constants[i:j]) for i, j in pairwise(ends)]


def joined(runs: Sequence[PlayRun]) -> PlayRun:
    """Return what became of a job, from what became of its parts, in order."""
    failed = next((run for run in runs if run.error is not None), PlayRun())
    return PlayRun(
        results=tuple(chain.from_iterable(run.results for run in runs)),
        steps=sum(run.steps for run in runs),
        clipped=tuple(chain.from_iterable(run.clipped for run in runs)),
        output="".join(run.output for run in runs),
        error=failed.error,
        error_kind=failed.error_kind,
        episodes=tuple(chain.from_iterable(run.episodes for run in runs)),
    )
