"""How a job's episodes are divided into groups, and what came of the groups as one.

Groups may be of any size: what is told of the whole does not depend on it. That takes care where
a policy fails only, for episodes of other groups may have gone on meanwhile, or not come so far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, pairwise

from promptpo.rollout.jobs import InstancesJob, Moment, PlayJob, PlayRun, bystander
from promptpo.types import Episode

#: Episodes in lockstep that have their environments whatever these cost.
BASE = 5
#: Episodes in lockstep, at most, and numbers of their observations: more bring nothing more.
_EPISODES, _NUMBERS = 64, 8192
#: Seconds that a hand-over takes.
_HAND_OVER = 30e-6


def best_width(episodes: int, opened: int, opening: float, horizon: int, numbers: int) -> int:
    """How many of so many episodes to step together, for all to be over soonest.

    Wider groups need fewer hand-overs, one for each of an episode's steps, but an environment for
    each episode: w of them take ``w * opening`` seconds, and ``episodes / w * horizon`` hand-overs
    follow. ``opened`` environments are there already; ``numbers`` is what one observation has.
    """
    paying = int(math.sqrt(episodes * horizon * _HAND_OVER / max(opening, 1e-9)))
    most = min(_EPISODES, max(BASE, _NUMBERS // max(numbers, 1)))
    return max(1, min(episodes, most, max(BASE, opened, paying)))


def divided(job: PlayJob, groups: int) -> list[PlayJob]:
    """The job in so many parts of nearly equal size, in order; not more than it has lives."""
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
    """The job in so many parts, in order; by default as many as keep so many workers busy."""
    episodes = len(job.constants) * len(job.seeds)
    parts = parts or max(workers, min(2 * workers, episodes // (2 * BASE)))
    parts = min(parts, len(job.constants))
    ends = [len(job.constants) * n // parts for n in range(parts + 1)]
    return [replace(job, constants=job.constants[i:j]) for i, j in pairwise(ends)]


def unplayed(seeds: Sequence[int]) -> PlayRun:
    """What becomes of episodes that another failure leaves no time to begin."""
    return PlayRun(tuple(map(bystander, seeds)), clipped=(0,) * len(seeds))


def first_failure(runs: Sequence[PlayRun]) -> PlayRun | None:
    """The run that failed before all others; the last of them is one that left no word of when."""
    failed = [run for run in runs if run.error is not None]
    return min(failed, key=lambda run: (not run.failed_at, run.failed_at or ()), default=None)


def joined(runs: Sequence[PlayRun], first: int = 0) -> PlayRun:
    """What became of a job, from what became of its parts, in order.

    ``first`` is the slot of the first part's first seed.
    """
    failed = first_failure(runs)
    whole = concatenated(runs)
    if failed is None:
        return whole
    if failed.failed_at is not None:
        whole = _until(failed.failed_at, whole, first)
    return replace(
        whole, error=failed.error, error_kind=failed.error_kind, failed_at=failed.failed_at
    )


def joined_lives(runs: Sequence[PlayRun]) -> PlayRun:
    """As ``joined``, of parts that have lives in them, which are played one after another.

    Nothing is told of those after the first that failed: whether they were played depends on who
    played what at once.
    """
    end = next((i for i, run in enumerate(runs, 1) if run.error is not None), len(runs))
    after = [result.seed for run in runs[end:] for result in run.results]
    return joined([*runs[:end], unplayed(after)])


def concatenated(runs: Sequence[PlayRun]) -> PlayRun:
    """What was played, one run after the other; of failures nothing is told."""
    return PlayRun(
        results=tuple(chain.from_iterable(run.results for run in runs)),
        steps=sum(run.steps for run in runs),
        clipped=tuple(chain.from_iterable(run.clipped for run in runs)),
        output="".join(run.output for run in runs),
        episodes=tuple(chain.from_iterable(run.episodes for run in runs)),
    )


def _until(moment: Moment, whole: PlayRun, first: int) -> PlayRun:
    """What was played, as it stood when all episodes had been stepped until the moment."""
    results = [_result_at(moment, result, slot) for slot, result in enumerate(whole.results, first)]
    clipped = tuple(
        count if result.error is None else 0
        for result, count in zip(results, whole.clipped, strict=True)
    )
    ended = {result.seed for result in results if result.error is None}
    steps = sum(result.length for result in results)
    return replace(
        whole,
        results=tuple(results),
        steps=steps,
        clipped=clipped,
        episodes=tuple(episode for episode in whole.episodes if episode.seed in ended),
    )


def _result_at(moment: Moment, result: Episode, slot: int) -> Episode:
    steps = moment.steps_before(slot)
    if result.error is None and result.length <= steps:
        return result
    length = min(result.length, steps)
    if slot == moment.slot:
        return replace(result, length=length)
    return bystander(result.seed, length)
