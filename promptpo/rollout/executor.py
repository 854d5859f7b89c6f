"""Executors, which run jobs: their common part, and the one of local processes."""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, TypeVar, cast

from promptpo.common.concurrency import all_of
from promptpo.rollout.cores import available_cores
from promptpo.rollout.jobs import (
    BASE,
    DescribeJob,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    Settings,
    TaskInfo,
    divided,
    joined,
    of_instances,
)
from promptpo.rollout.workers import Workers

R = TypeVar("R")


class Executor(ABC):
    """Runs jobs somewhere, cut into parts for ``slots`` workers that have one part at a time each.

    How many there are decides how a job is cut, and never what comes of it.
    """

    def __init__(self) -> None:
        self._playing = 0

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of workers that there are, or will soon be; 1 or more."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """Name and size of the place where jobs run, for the record of a run."""

    @abstractmethod
    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear notices of a line each, in any thread.

        It is called with the text, and with ``passing=True`` where that is soon of no interest.
        """

    @abstractmethod
    async def part(self, job: Job[R]) -> R:
        """Return the answer of one worker."""

    @abstractmethod
    def close(self) -> None:
        """End every process at once, whatever it is doing."""

    async def describe(self, soon: int = 1) -> TaskInfo:
        """Open the environment and the sandbox in one worker.

        With it so many that will play ``soon``, of those that there are, begin to open theirs.
        Raises SpecError or IsolationError.
        """
        first = asyncio.ensure_future(self.run(DescribeJob()))
        for _ in range(min(soon, self.slots) - 1):
            other = asyncio.ensure_future(self.part(DescribeJob(steps=0)))
            # What fails there fails in the first as well, or will again.
            other.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await first

    async def run(self, job: Job[R]) -> R:
        """Return the answer to one job, of one worker or of several that share its episodes.

        A policy or a Feedback class that fails is an answer. An environment that fails under a
        policy is asked once more; then it is the policy's error, of the kind "environment". Raises
        SpecError where the environment cannot be made, or fails without a policy.
        """
        if isinstance(job, PlayJob):
            return cast("R", await self._shared(job))
        if isinstance(job, InstancesJob):
            # Parts differ in length: whoever is done early takes another.
            runs = await all_of(map(self.part, of_instances(job, self.slots)))
            return cast("R", tuple(chain.from_iterable(runs)))
        return await self.part(job)

    async def _shared(self, job: PlayJob) -> PlayRun:
        """Play among as many workers as there are, but no fewer than BASE episodes for each.

        Policies that are played side by side share the workers: so many parts that no worker is
        without work while others have two.
        """
        self._playing += 1
        try:
            await asyncio.sleep(0)  # all that are asked for together count
            workers = self.slots // math.gcd(self.slots, self._playing)
            parts = divided(job, min(workers, math.ceil(len(job.seeds) / BASE)))
            return joined(await all_of(map(self.part, parts)))
        finally:
            self._playing -= 1


class LocalExecutor(Executor):
    """Processes on this machine, started as jobs need them, up to ``workers`` of them.

    With a worker for every core each keeps to its own; with fewer, environments may use threads.
    """

    def __init__(self, settings: Settings, workers: int | None = None) -> None:
        super().__init__()
        self._slots = workers or available_cores()
        self._workers = Workers(settings, own_core=self._slots == available_cores())
        self._threads = ThreadPoolExecutor(self._slots, "promptpo-job")

    @property
    def slots(self) -> int:
        """Number of processes that there may be."""
        return self._slots

    @property
    def about(self) -> dict[str, Any]:
        """Name and size of the place where jobs run, for the record of a run."""
        return {"name": "local", "workers": self._slots}

    def tell(self, notify: Callable[..., None]) -> None:
        """Let ``notify`` hear of processes that are waited for, and of those that are replaced."""
        self._workers.tell = notify

    async def part(self, job: Job[R]) -> R:
        """Return the answer of one process, once one is free."""
        loop = asyncio.get_running_loop()
        answer: R = await loop.run_in_executor(self._threads, self._workers.answer, job)
        return answer

    def close(self) -> None:
        """End every process at once, whatever it is doing."""
        self._workers.close()
        self._threads.shutdown(cancel_futures=True)
