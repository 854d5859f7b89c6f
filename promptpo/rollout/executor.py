"""Where jobs run: one interface, and its implementation on the cores of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

import loky
import loky.backend

from promptpo.errors import PromptPOError
from promptpo.rollout import worker
from promptpo.rollout.cores import available_cores
from promptpo.rollout.jobs import (
    PolicyJob,
    PolicyRun,
    ProofJob,
    ProofRun,
    Settings,
    SummaryJob,
    SummaryRun,
    TaskInfo,
)

T = TypeVar("T")
#: How often a job is given to new processes after one died under it.
_TRIES = 2


class Executor(Protocol):
    """Runs jobs somewhere, several at a time."""

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox; raises SpecError or IsolationError."""
        ...

    async def run_policy(self, job: PolicyJob) -> PolicyRun:
        """Play one job's episodes."""
        ...

    async def prove(self, job: ProofJob) -> ProofRun:
        """Feed one recorded episode to a policy that is alone."""
        ...

    async def summarize(self, job: SummaryJob) -> SummaryRun:
        """Turn episodes into text."""
        ...

    def close(self) -> None:
        """End every process at once."""
        ...


class LocalExecutor:
    """Processes on this machine, started as jobs need them, up to ``workers`` of them.

    A worker that dies under a job (a simulator can crash) is replaced and the job given out once
    more. Workers end with this process even when it is killed: each holds one end of a pipe whose
    other end is here. loky rather than concurrent.futures, because its processes can be killed
    and do not import the main module again, which a user's script may not be ready for.

    With a worker for every core each keeps to its own; with fewer, environments may use threads.
    """

    def __init__(self, settings: Settings, workers: int | None = None) -> None:
        self._settings = settings
        self._workers = workers or available_cores()
        self._context = loky.backend.get_context("loky")
        self._open()

    def _open(self) -> None:
        leash, self._leash = self._context.Pipe(duplex=False)
        self._pool = loky.ProcessPoolExecutor(
            self._workers,
            context=self._context,
            initializer=worker.start,
            initargs=(self._settings, leash, self._workers == available_cores()),
        )

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox in one worker."""
        return await self._run(worker.describe)

    async def run_policy(self, job: PolicyJob) -> PolicyRun:
        """Play one job's episodes in one worker."""
        return await self._run(worker.run_policy, job)

    async def prove(self, job: ProofJob) -> ProofRun:
        """Feed one recorded episode to a policy that is alone, in one worker."""
        return await self._run(worker.prove, job)

    async def summarize(self, job: SummaryJob) -> SummaryRun:
        """Turn episodes into text in one worker."""
        return await self._run(worker.summarize, job)

    async def _run(self, function: Callable[..., T], *args: object) -> T:
        for _ in range(_TRIES):
            pool = self._pool
            try:
                return await asyncio.wrap_future(self._submit(function, *args))
            except BrokenProcessPool:
                if pool is self._pool:  # the first of the jobs that it took down opens a new one
                    self.close()
                    self._open()
        raise PromptPOError(
            "an environment process died twice under the same job; is there enough memory?"
            " Fewer --workers need less"
        )

    def _submit(self, function: Callable[..., T], *args: object) -> Future[T]:
        with _interrupts_blocked():  # a process started here must not die of a Ctrl-C meant for us
            future: Future[T] = self._pool.submit(function, *args)
            return future

    def close(self) -> None:
        """End every worker at once, whatever it is doing."""
        self._leash.close()
        self._pool.shutdown(wait=True, kill_workers=True)


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)
