"""A coroutine from start to end, wherever it is called from."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from promptpo.common.interrupts import heard_by

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine returns; in a notebook, where a loop is running already, too.

    An interrupt (Ctrl-C, a notebook's stop button, SIGTERM and SIGHUP) cancels it, once. Where it
    returns something all the same, that is the answer; else KeyboardInterrupt is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _here(work)
    return _in_a_thread(work)


def _here(work: Coroutine[Any, Any, T]) -> T:
    cancel = _Cancel()
    with heard_by(cancel):
        try:
            return asyncio.run(cancel.reaching(work))
        except asyncio.CancelledError:
            if not cancel.wanted:
                raise
            raise KeyboardInterrupt from None


class _Cancel:
    """Cancels a coroutine from a signal's handler, whether it has begun or not."""

    def __init__(self) -> None:
        self.wanted = False
        self._cancel: Callable[[], object] = lambda: None

    def __call__(self) -> None:
        self.wanted = True
        with contextlib.suppress(RuntimeError):  # the loop has been closed: it has ended
            self._cancel()

    async def reaching(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns, which can be cancelled from now on."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs inside a task
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        if self.wanted:
            task.cancel()
        return await work


def _in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a loop of another thread, and pass interrupts of this one on to it."""
    cancel: Future[Any] = Future()

    async def main() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None  # noqa: S101 - this runs inside a task
        cancel.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await work

    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, "promptpo-loop") as thread:
        answer = thread.submit(context.run, asyncio.run, main())
        try:
            return answer.result()
        except KeyboardInterrupt:
            cancel.result()()
            try:
                return answer.result()
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
