"""What every executor does with a job, wherever it runs: share it among the workers, join answers.

How many there are decides how a job is cut, and never what comes of it.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from itertools import chain
from typing import TypeVar, cast

from promptpo.common.concurrency import all_of
from promptpo.rollout.division import BASE, divided, joined, of_instances
from promptpo.rollout.jobs import (
    DescribeJob,
    InstanceRun,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    TaskInfo,
)

R = TypeVar("R")


class Sharing(ABC):
    """Cuts jobs into parts for ``slots`` workers, each of which has one part at a time."""

    def __init__(self) -> None:
        self._playing = 0

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many workers there are, or will soon be; 1 or more."""

    @abstractmethod
    async def part(self, job: Job[R]) -> R:
        """The answer of one worker."""

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox in one worker."""
        return await self.run(DescribeJob())

    async def run(self, job: Job[R]) -> R:
        """The answer of one worker, or of several that share the episodes of a policy."""
        if isinstance(job, PlayJob):
            return cast("R", await self._shared(job))
        if isinstance(job, InstancesJob):
            return cast("R", await self._instances(job))
        return await self.part(job)

    async def _instances(self, job: InstancesJob) -> tuple[InstanceRun, ...]:
        """In more parts than there are workers where that leaves enough to step together.

        Parts differ in length: whoever is done early takes another.
        """
        parts = of_instances(job, self.slots)
        return tuple(chain.from_iterable(await all_of(map(self.part, parts))))

    async def _shared(self, job: PlayJob) -> PlayRun:
        """Among as many workers as there are, but no fewer than BASE episodes for each.

        Policies that are played side by side share the workers: so many parts that no worker is
        without work while others have two.
        """
        self._playing += 1
        try:
            await asyncio.sleep(0)  # all that are asked for together count
            workers = self.slots // math.gcd(self.slots, self._playing)
            parts = divided(job, min(workers, math.ceil(len(job.seeds) / BASE)))
            runs = await all_of(map(self.part, parts))
            return joined(runs)
        finally:
            self._playing -= 1
