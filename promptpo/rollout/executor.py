"""Where jobs run: the interface, and the one place that opens it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from promptpo.errors import SpecError
from promptpo.rollout.jobs import Job, RehearsalJob, Settings, TaskInfo
from promptpo.rollout.local import LocalExecutor

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.spec import EnvSpec

R = TypeVar("R")


class Executor(Protocol):
    """Runs jobs somewhere, several at a time."""

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox; raises SpecError or IsolationError."""
        ...

    async def run(self, job: Job[R]) -> R:
        """The answer to one job.

        A policy or a Feedback class that fails is an answer. An environment that fails under a
        policy is asked once more; then it is the policy's error, of the kind "environment". Raises
        SpecError where the environment cannot be made, or fails without a policy.
        """
        ...

    @property
    def about(self) -> dict[str, Any]:
        """Where jobs are run, for the record of a run."""
        ...

    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear notices of a line each, in any thread.

        It is called with the text, and with ``passing=True`` where that is soon of no interest.
        """
        ...

    def close(self) -> None:
        """End every process at once."""
        ...


def open_executor(config: RunConfig, spec: EnvSpec) -> Executor:
    """The executor for the episodes of a run, of ``eval`` and of ``video``.

    Raises UsageError and ClusterError where a Ray cluster is asked for and cannot be had.
    """
    settings = worker_settings(config, spec)
    if not config.on_ray:
        return LocalExecutor(settings, config.workers)
    from promptpo.rollout.cluster.executor import RayExecutor

    return RayExecutor(settings, config.workers, config.ray_address or "")


@contextlib.contextmanager
def connected(config: RunConfig) -> Iterator[None]:
    """Executors that are opened within, one after the other, share a Ray, where it is one."""
    if not config.on_ray:
        yield
        return
    from promptpo.rollout.cluster.connection import connect

    with contextlib.closing(connect(config.ray_address or "", config.workers)):
        yield


def worker_settings(config: RunConfig, spec: EnvSpec) -> Settings:
    """What the environment processes need to know of a run's settings."""
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
