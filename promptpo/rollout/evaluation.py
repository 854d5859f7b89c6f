"""The executor of a run, and what is played with it: policies and behaviours of the task."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from promptpo.common.concurrency import all_of
from promptpo.errors import SpecError
from promptpo.outcomes import Terms
from promptpo.rollout.executor import Executor, LocalExecutor
from promptpo.rollout.jobs import (
    UNPLAYED,
    Baseline,
    BaselineJob,
    PlayJob,
    PlayRun,
    RehearsalJob,
    Settings,
    joined,
)
from promptpo.types import Rollout, Stream, Trajectory

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.spec import EnvSpec

#: Episodes of a behaviour of the task that a worker plays at a time, one after the other.
_AT_ONCE = 5


def open_executor(config: RunConfig, spec: EnvSpec) -> Executor:
    """Return the executor for the episodes of a run, of ``eval`` and of ``video``.

    Raises UsageError and ClusterError where a Ray cluster is asked for and cannot be had.
    """
    settings = worker_settings(config, spec)
    if not config.on_ray:
        return LocalExecutor(settings, config.workers)
    from promptpo.rollout.cluster import RayExecutor

    return RayExecutor(settings, config.workers, config.ray_address or "")


@contextlib.contextmanager
def connected(config: RunConfig) -> Iterator[None]:
    """Executors that are opened within, one after the other, share a Ray, where it is one."""
    if not config.on_ray:
        yield
        return
    from promptpo.rollout.cluster import connect

    with contextlib.closing(connect(config.ray_address or "", config.workers)):
        yield


def worker_settings(config: RunConfig, spec: EnvSpec) -> Settings:
    """Return the settings of a run that the environment processes need."""
    return Settings(
        spec=spec.ref,
        sandbox=config.sandbox,
        act_timeout=config.act_timeout,
        episode_timeout=config.episode_timeout,
        env_timeout=config.env_timeout,
        policy_seed=config.policy_seed,
    )


async def rehearse(executor: Executor, seeds: tuple[int, ...]) -> None:
    """Play zero actions, then, if the environment fails, random ones.

    Raises SpecError where it fails under both: then the policies are not to blame.
    """
    try:
        await executor.run(RehearsalJob(seeds, "zero action"))
    except SpecError:
        await executor.run(RehearsalJob(seeds, "random"))


async def evaluate(
    executor: Executor,
    source: str,
    stream: Stream,
    seeds: Sequence[int],
    *,
    life: int = 1,
    keep: Sequence[int] = (),
    prepared: bytes = b"",
    terms: Terms | UnsetType = UNSET,
) -> tuple[Rollout, tuple[Trajectory, ...]]:
    """Play one episode per seed and gather what came out, in the seeds' order.

    Episodes that count are played alone: each in a process of its own, so that no episode can
    depend on another. Of a search's, how many share a process is the executor's choice. With a
    ``life`` of several episodes so many follow each other on one policy object, and the next ones
    begin with a fresh one. ``keep`` are the seeds of the episodes that come back whole,
    ``prepared`` the values that policies are made with, ``terms`` what the task asks of episodes.
    """
    alone = stream != "search"
    job = PlayJob(source, tuple(seeds), life, tuple(keep), alone=alone, prepared=prepared)
    run = await executor.run(job)
    return _rollout(stream, seeds, run, life, terms), run.episodes


async def evaluate_baseline(
    executor: Executor,
    controller: Baseline,
    stream: Stream,
    seeds: Sequence[int],
    *,
    life: int = 1,
    terms: Terms | UnsetType = UNSET,
) -> Rollout:
    """Play one episode per seed with a behaviour of the task, in the seeds' order.

    Raises SpecError where it fails.
    """
    groups = [tuple(seeds[i : i + _AT_ONCE]) for i in range(0, len(seeds), _AT_ONCE)]
    runs = await all_of(executor.run(BaselineJob(group, controller, life)) for group in groups)
    return _rollout(stream, seeds, joined(runs), life, terms)


def _rollout(
    stream: Stream, seeds: Sequence[int], run: PlayRun, life: int, terms: Terms | UnsetType
) -> Rollout:
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
        terms=terms,
    )
