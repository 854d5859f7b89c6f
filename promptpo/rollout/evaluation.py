"""Evaluate one policy on many episodes."""

from __future__ import annotations

from collections.abc import Sequence

from promptpo.common.concurrency import all_of
from promptpo.rollout.division import joined
from promptpo.rollout.executor import Executor
from promptpo.rollout.jobs import UNPLAYED, Baseline, BaselineJob, PlayJob, PlayRun
from promptpo.types import Rollout, Stream, Trajectory

#: Episodes of a behaviour of the task that a worker plays at a time, one after the other.
_AT_ONCE = 5


async def evaluate(
    executor: Executor,
    source: str,
    stream: Stream,
    seeds: Sequence[int],
    *,
    life: int = 1,
    keep: Sequence[int] = (),
    prepared: bytes = b"",
) -> tuple[Rollout, tuple[Trajectory, ...]]:
    """Play one episode per seed and gather what came out, in the seeds' order.

    Episodes that count are played alone: each in a process of its own, so that no episode can
    depend on another. Of a search's, how many share a process is the executor's choice. With a
    ``life`` of several episodes so many follow each other on one policy object, and the next ones
    begin with a fresh one. ``keep`` are the seeds of the episodes that come back whole,
    ``prepared`` the values that policies are made with.
    """
    alone = stream != "search"
    job = PlayJob(source, tuple(seeds), life, tuple(keep), alone=alone, prepared=prepared)
    run = await executor.run(job)
    return _rollout(stream, seeds, run, life), run.episodes


async def evaluate_baseline(
    executor: Executor,
    controller: Baseline,
    stream: Stream,
    seeds: Sequence[int],
    *,
    life: int = 1,
) -> Rollout:
    """Play one episode per seed with a behaviour of the task, in the seeds' order.

    Raises SpecError where it fails.
    """
    groups = [tuple(seeds[i : i + _AT_ONCE]) for i in range(0, len(seeds), _AT_ONCE)]
    runs = await all_of(executor.run(BaselineJob(group, controller, life)) for group in groups)
    return _rollout(stream, seeds, joined(runs), life)


def _rollout(stream: Stream, seeds: Sequence[int], run: PlayRun, life: int) -> Rollout:
    return Rollout(
        stream=stream,
        seeds=tuple(seeds),
        episodes=tuple(result for result in run.results if result.error != UNPLAYED),
        steps=run.steps,
        clipped=sum(run.clipped) / max(run.steps, 1),
        output=run.output[:4000],
        error=run.error,
        error_kind=run.error_kind,
        life=life,
    )
