"""Evaluate one policy on many episodes, spread over the executor's workers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import EpisodeData, Lifetime, PlayJob, PlayRun
from promptpo.types import Episode, Rollout, Stream

#: Episodes in lockstep, at most: each needs an environment of its own in every worker.
MAX_GROUP = 16


def groups_of(seeds: Sequence[int], group: int) -> list[tuple[int, ...]]:
    """The seeds in lockstep groups of ``group``, at most MAX_GROUP; the last may be smaller."""
    size = min(group, MAX_GROUP)
    return [tuple(seeds[i : i + size]) for i in range(0, len(seeds), size)]


async def evaluate(
    executor: Executor,
    source: str,
    stream: Stream,
    seeds: Sequence[int],
    *,
    group: int = 5,
    lifetime: Lifetime = "episode",
    keep: Sequence[int] = (),
    mark: str = "",
) -> tuple[Rollout, tuple[EpisodeData, ...]]:
    """Play one episode per seed and gather what came out, in the seeds' order.

    Episodes run in lockstep groups of ``group`` (at most MAX_GROUP); the grouping depends on
    nothing but the arguments, so a failing policy costs the same steps on every machine. With a
    ``mark`` against the policy every episode has a process of its own. With lifetime "evaluation"
    the episodes follow each other on one policy object. ``keep`` are the seeds of the episodes
    that come back whole.
    """
    whole = lifetime == "evaluation"
    groups = [tuple(seeds)] if whole else groups_of(seeds, 1 if mark else group)
    jobs = [PlayJob(source, g, lifetime, tuple(s for s in g if s in keep)) for g in groups]
    runs = await asyncio.gather(*(executor.run(job) for job in jobs))
    rollout = replace(_gathered(stream, seeds, runs), mark=mark)
    return rollout, tuple(e for run in runs for e in run.episodes)


def _gathered(stream: Stream, seeds: Sequence[int], runs: Sequence[PlayRun]) -> Rollout:
    failed = next((run for run in runs if run.error is not None), None)
    steps = sum(run.steps for run in runs)
    ended = (
        (run.seeds[i], run.returns[i], run.lengths[i], run.successes[i])
        for run in runs
        for i in range(len(run.returns))
    )
    return Rollout(
        stream=stream,
        seeds=tuple(seeds),
        episodes=tuple(Episode(*each) for each in ended),
        steps=steps,
        clipped=sum(run.clipped for run in runs) / max(steps, 1),
        output="".join(run.output for run in runs)[:4000],
        error=failed.error if failed else None,
        error_kind=failed.error_kind if failed else None,
    )
