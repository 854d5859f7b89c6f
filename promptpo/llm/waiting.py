"""The wait for one call: its deadline, and what may still arrive when it is broken off."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

#: Seconds between two looks at the clock, and what a look may take longer on a busy machine.
TICK, LATE = 1.0, 1.0

#: Seconds in which a reply that is on its way may still arrive after an interruption.
GRACE = 0.5


class Wait:
    """Waits for one call for ``limit`` seconds in which this process runs.

    Time in which it is stopped (Ctrl-Z, SIGSTOP) does not count: a reply that came meanwhile lies
    in the socket and is read first. ``sent`` is set by the caller while a request is under way,
    ``broken_off`` forbids to send another one.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.sent = False
        self.broken_off = False
        self._paused = False
        self._spent = 0.0
        self._looked = time.monotonic()

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.limit - self._spent - min(time.monotonic() - self._looked, TICK)

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Time in this block does not count."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    async def until_done(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of ``work``. Raises TimeoutError at the deadline; ``work`` is cancelled then.

        Where the caller is cancelled, a reply that arrives within the grace period is returned all
        the same, so that it can be recorded; the cancellation follows at the next ``await``.
        """
        task = asyncio.ensure_future(work)
        try:
            while not await self._tick(task):
                pass
            return task.result()
        except asyncio.CancelledError:
            if not await self._arrives(task):
                raise
            if caller := asyncio.current_task():
                caller.cancel()
            return task.result()
        finally:
            if not task.done():
                await _cancelled(task)

    async def _tick(self, task: asyncio.Task[T]) -> bool:
        """Wait a little; whether the task is done. Raises TimeoutError at the deadline."""
        self._looked = time.monotonic()
        await asyncio.wait(
            {task}, timeout=TICK if self._paused else min(TICK, max(self.limit - self._spent, 0.0))
        )
        took = time.monotonic() - self._looked
        self._spent += 0.0 if self._paused else min(took, TICK)
        if took > TICK + LATE:  # the process did not run all the while: what came is read first
            await asyncio.wait({task}, timeout=GRACE)
        elif self._spent >= self.limit and not (task.done() or self._paused):
            raise TimeoutError
        return task.done()

    async def _arrives(self, task: asyncio.Task[T]) -> bool:
        """Whether a reply that is on its way comes within the grace period."""
        self.broken_off = True
        if self.sent:
            await asyncio.wait({task}, timeout=GRACE)
        return task.done() and not task.cancelled() and task.exception() is None


async def _cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
