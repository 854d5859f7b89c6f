"""Gives jobs to places, one at a time to each, and sees to it that each is answered once.

A place that is lost loses nothing: what it was doing is done elsewhere. A job that takes far longer
than its like is begun elsewhere too, and the first answer counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from promptpo.errors import ClusterError, PromptPOError
from promptpo.rollout.cluster.pace import Pace
from promptpo.rollout.cluster.places import Crew, Gone, Place, Refused, Task

#: Seconds between two looks at the cluster and at what takes long.
LOOK = 1.0
#: Places that a job may lose before it is taken for their end, and that may be lost in a row
#: before one has begun.
MOST_LOST = 5
#: Seconds that a run waits for the others once one place is open, and after which it says that it
#: waits for the first.
_GRACE, _LONG = 20.0, 30.0


@dataclass(eq=False)
class _Order:
    task: Task
    future: Future[Any] = field(default_factory=Future)
    begun: dict[Place, float] = field(default_factory=dict)
    lost: int = 0

    def settle(self, answer: object = None, error: BaseException | None = None) -> None:
        """Answer it, unless that has been done."""
        if self.future.done():
            return
        if error is None:
            self.future.set_result(answer)
        else:
            self.future.set_exception(error)


class Dispatch:
    """Runs in a thread of its own; ``submit`` and ``close`` may be called from any.

    Attributes:
        notify: hears one-line notices, in that thread.
    """

    def __init__(self, crew: Crew, notify: Callable[[str], None], pace: Pace | None = None) -> None:
        self.notify = notify
        self._crew = crew
        self._pace = pace or Pace()
        self._places: set[Place] = set()
        self._open: set[Place] = set()
        self._idle: deque[Place] = deque()
        self._refused: dict[Place, Refused] = {}
        self._said: set[str] = set()
        self._waiting: deque[_Order] = deque()
        self._running: set[_Order] = set()
        self._began: Future[object] = Future()
        self._asked = self._lost_early = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="promptpo-cluster")
        self._thread.daemon = True
        self._thread.start()
        self._loop.call_soon_threadsafe(self._spawn, self._tend())

    @property
    def slots(self) -> int:
        """How many places are open; before there is one, how many were asked for."""
        return len(self._open) or max(self._asked, 1)

    @property
    def nodes(self) -> int:
        """On how many machines they are."""
        return len({place.node for place in tuple(self._open)})

    def begun(self) -> Future[object]:
        """What the first place found, once all that were there had a chance to begin.

        Raises the error of one that cannot take part.
        """
        return self._began

    def submit(self, task: Task) -> Future[Any]:
        """The answer to a task, once there is one. Raises PromptPOError."""
        order = _Order(task)
        try:
            self._loop.call_soon_threadsafe(self._take, order)
        except RuntimeError:  # the loop is closed
            order.settle(error=_closed())
        return order.future

    def close(self) -> None:
        """End every place at once; what was not answered is not going to be."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._spawn, self._end())
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        for place in self._places:
            place.kill()
        await asyncio.gather(*tasks, return_exceptions=True)
        for order in (*self._waiting, *self._running):
            order.settle(error=_closed())
        if not self._began.done():
            self._began.set_exception(_closed())
        with contextlib.suppress(TimeoutError):  # the crew may be asking a cluster that is gone
            await asyncio.wait_for(self._loop.shutdown_default_executor(), 5)
        self._loop.call_soon(self._loop.stop)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tend(self) -> None:
        began = time.monotonic()
        while True:
            try:
                self._asked = await asyncio.to_thread(self._crew.wanted)
                while len(self._places) < self._asked:
                    place = self._crew.hire()
                    self._places.add(place)
                    self._spawn(self._begin(place))
            except Exception as error:  # nobody else would hear of it
                self._fail(error)
            self._hasten()
            waited = time.monotonic() - began
            if waited > _LONG and not self._open and not self._refused:
                self._say(
                    f"no core of the cluster has been free for {_LONG:g} s; the run goes on as soon"
                    " as one is (`ray status` says who has them)"
                )
            await asyncio.sleep(LOOK)

    async def _begin(self, place: Place) -> None:
        try:
            found = await place.open()
        except Gone as error:
            self._places.discard(place)
            self._lost_early += 1
            if self._lost_early >= MOST_LOST and not self._open:
                self._fail(ClusterError(f"workers end before they have begun: {error}"))
            return
        except Refused as refused:
            # It stays, and does nothing: its core would only be given to another one.
            self._refused[place] = refused
            self._complain(refused)
            return
        except Exception as error:  # a mistake of ours
            self._fail(error)
            return
        self._lost_early = 0
        self._open.add(place)
        self._idle.append(place)
        if len(self._open) == 1:
            self._spawn(self._settle(found))
        self._match()

    async def _settle(self, found: object) -> None:
        """Let the others begin, too, or say why they cannot; then the run may."""
        deadline = time.monotonic() + _GRACE
        while len(self._open) < self._asked and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        if not self._began.done():
            self._began.set_result(found)

    def _complain(self, refused: Refused) -> None:
        if not self._began.done():
            self._began.set_exception(refused.error)
        elif not self._open and len(self._refused) == len(self._places):
            self._fail(refused.error)
        else:
            self._say(f"{refused.error}; until then it is not used", key=refused.node)

    def _say(self, text: str, key: str = "") -> None:
        if (key or text) not in self._said:
            self._said.add(key or text)
            self.notify(text)

    def _fail(self, error: BaseException) -> None:
        """Nothing can be done at all."""
        if not self._began.done():
            self._began.set_exception(error)
        while self._waiting:
            self._waiting.popleft().settle(error=error)

    def _take(self, order: _Order) -> None:
        if self._closed:
            order.settle(error=_closed())
            return
        self._waiting.append(order)
        self._match()

    def _match(self) -> None:
        while self._waiting and self._idle:
            order = self._waiting.popleft()
            if order in self._running or order.future.set_running_or_notify_cancel():
                self._running.add(order)
                self._start(order, self._idle.popleft())

    def _start(self, order: _Order, place: Place) -> None:
        order.begun[place] = time.monotonic()
        self._spawn(self._do(order, place))

    async def _do(self, order: _Order, place: Place) -> None:
        try:
            answer = await place.do(order.task)
        except Gone as error:
            self._lose(order, place, error)
            return
        except Exception as error:  # a mistake of ours
            order.settle(error=error)
        else:
            self._pace.note(order.task, time.monotonic() - order.begun[place])
            order.settle(answer)
        del order.begun[place]
        self._running.discard(order)
        self._idle.append(place)
        self._match()

    def _lose(self, order: _Order, place: Place, why: Gone) -> None:
        """Its job is done elsewhere, unless it is so already."""
        self._open.discard(place)
        self._places.discard(place)
        place.kill()
        del order.begun[place]
        order.lost += 1
        if order.future.done():
            self._running.discard(order)
        elif order.lost >= MOST_LOST:
            self._running.discard(order)
            order.settle(error=ClusterError(f"{order.lost} workers were lost by one job: {why}"))
        elif not order.begun:
            self._waiting.appendleft(order)
            self._match()

    def _hasten(self) -> None:
        """Begin elsewhere, too, what takes far longer than its like, where a place has no work."""
        now = time.monotonic()
        for order in tuple(self._running):
            if not self._idle:
                return
            if len(order.begun) != 1 or order.future.done():
                continue
            ((place, began),) = order.begun.items()
            if now - began > self._pace.patience(order.task):
                other = next((p for p in self._idle if p.node != place.node), self._idle[0])
                self._idle.remove(other)
                self._start(order, other)


def _closed() -> PromptPOError:
    return PromptPOError("this executor is closed")
