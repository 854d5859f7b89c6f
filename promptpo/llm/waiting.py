"""Limits of model calls: how many run at once, and the deadline of each."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import random
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from promptpo.errors import file_error

T = TypeVar("T")

#: The environment variable that names the folder of runs that share their slots.
TURNS = "PROMPTPO_TURNS"

#: Seconds between two attempts at a slot of a folder, at the least and at the most.
_SOON, _LATE = 0.02, 0.3

#: Seconds between two looks at the clock, and after which the process must have been stopped.
TICK, STOPPED = 0.25, 1.25

#: Seconds in which a reply that is on its way may still arrive after an interruption.
GRACE = 0.5


class Turns:
    """Slots for ``count`` calls at once: in this run, or in all runs that share a ``folder``.

    A call in a shared folder holds the lock of one of its files; the kernel releases it however
    the process ends.
    """

    def __init__(self, count: int, folder: Path | None) -> None:
        self._count, self._folder = count, folder
        self._here = asyncio.Semaphore(count)

    @classmethod
    def of_environment(cls, count: int) -> Turns:
        """Return the slots of the runs that were started together, or of this run alone."""
        folder = os.environ.get(TURNS)
        return cls(count, Path(folder) if folder else None)

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a slot, and hold it within the block. Raises FileError."""
        async with self._here:
            if self._folder is None:
                yield
                return
            descriptor = await self._locked(self._folder)
            try:
                yield
            finally:
                os.close(descriptor)

    async def _locked(self, folder: Path) -> int:
        """Return a descriptor with the lock of one of the folder's files."""
        wait = _SOON
        while True:
            try:
                folder.mkdir(exist_ok=True)  # without its parents: these were deleted on purpose
                for number in range(self._count):
                    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                    descriptor = os.open(folder / str(number), flags, 0o644)
                    try:
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        os.close(descriptor)
                    else:
                        return descriptor
            except OSError as error:
                raise file_error(error, folder) from None
            await asyncio.sleep(wait * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            wait = min(2 * wait, _LATE)


class Deadline:
    """The deadline of one call: ``limit`` seconds in which this process runs.

    Time in which the process is stopped (Ctrl-Z, SIGSTOP) does not count: a reply that came
    meanwhile is in the socket and is read first. The caller sets ``sent`` while a request is under
    way and ``paused`` while the clock is to stop; once ``broken_off`` it must send no other.
    """

    def __init__(self, limit: float) -> None:
        self.left = limit
        self.sent = self.paused = self.broken_off = False

    async def until_done(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of ``work``. Raises TimeoutError at the deadline and cancels it.

        Where the caller is cancelled, a reply that arrives within the grace period is returned all
        the same, so that it can be recorded; the cancellation follows at the next ``await``.
        """
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                started = time.monotonic()
                await asyncio.wait({task}, timeout=min(TICK, max(self.left, 0.0)))
                took = time.monotonic() - started
                self.left -= 0.0 if self.paused else min(took, TICK)
                if took > STOPPED:
                    await asyncio.wait({task}, timeout=GRACE)
                elif self.left <= 0 and not (task.done() or self.paused):
                    raise TimeoutError
            return task.result()
        except asyncio.CancelledError:
            self.broken_off = True
            if self.sent:
                await asyncio.wait({task}, timeout=GRACE)
            if not task.done() or task.cancelled() or task.exception():
                raise
            if caller := asyncio.current_task():
                caller.cancel()
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
