"""Coroutines: several at once, and one run to its end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from promptpo.common.interrupts import heard_by

T = TypeVar("T")


async def all_of(jobs: Iterable[Awaitable[T]]) -> list[T]:
    """Return all results, in order, or raise the first error once every job has ended.

    Unlike a TaskGroup, one failure takes nothing down: a model's reply that is still under way
    was paid for, and is to be recorded.
    """
    results = await asyncio.gather(*jobs, return_exceptions=True)
    done: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        done.append(result)
    return done


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result; in a notebook, where a loop is running already, too.

    An interrupt (Ctrl-C, a notebook's stop button, SIGTERM and SIGHUP) cancels it, once. A result
    that it returns all the same is the answer; else KeyboardInterrupt is raised.
    """
    cancel = _Cancel()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        with heard_by(cancel):
            try:
                return asyncio.run(cancel.reaching(work))
            except asyncio.CancelledError:
                if not cancel.wanted:
                    raise
                raise KeyboardInterrupt from None
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, "promptpo-loop") as thread:
        answer = thread.submit(context.run, asyncio.run, cancel.reaching(work))
        try:
            return answer.result()
        except KeyboardInterrupt:
            cancel()
            try:
                return answer.result()
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None


class _Cancel:
    """Cancels a coroutine from a signal's handler or another thread, begun or not."""

    def __init__(self) -> None:
        self.wanted = False
        self._cancel: Callable[[], object] = lambda: None

    def __call__(self) -> None:
        self.wanted = True
        with contextlib.suppress(RuntimeError):  # the loop has been closed: it has ended
            self._cancel()

    async def reaching(self, work: Coroutine[Any, Any, T]) -> T:
        """Await the coroutine, which can be cancelled from now on."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs inside a task
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self.wanted:
            task.cancel()
        return await work
