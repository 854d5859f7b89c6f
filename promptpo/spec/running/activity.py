"""What this process is doing for a spec, in memory that another process may watch.

A simulator can hang, crash or end its process, with Python's lock held. So the process that
started this one has to see in which call, and whether there is progress; and that must cost a step
nothing. The call under way is therefore a number in shared memory, and steps are counted by
looking at the tasks from time to time.
"""

from __future__ import annotations

import contextlib
import mmap
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

#: Calls of a spec and its environment, by their number; no number: something else is under way.
CALLS = ("", "import", "make", "reset", "step", "close")
IDLE, IMPORT, MAKE, RESET, STEP, CLOSE = range(len(CALLS))

#: Cells of the memory: the call under way, calls begun, steps of the job, steps seen by ``look``.
CALL, BEGUN, STEPS, SEEN = range(4)

#: Bytes of the memory that the cells take.
SIZE = mmap.PAGESIZE


class Stepping(Protocol):
    """What counts its steps: a task."""

    steps: int


class Activity:
    """The cells of this process: its own memory until ``share`` gives it some that is watched.

    Attributes:
        cells: the memory.
        mend: is called after ``call``, to put right what a spec may have done to the process.
    """

    def __init__(self) -> None:
        self.cells = memoryview(bytearray(SIZE)).cast("q")
        self.mend: Callable[[], None] = lambda: None
        self._tasks: weakref.WeakSet[Stepping] = weakref.WeakSet()

    def share(self, fd: int) -> None:
        """Write into the file ``fd`` of SIZE bytes or more from now on."""
        self.cells = memoryview(mmap.mmap(fd, SIZE)).cast("q")

    def begin(self, call: int) -> None:
        """Note that a call is under way from now on."""
        self.cells[CALL] = call
        self.cells[BEGUN] += 1

    @contextlib.contextmanager
    def call(self, call: int) -> Iterator[None]:
        """Note that a call is under way meanwhile."""
        before = self.cells[CALL]
        self.begin(call)
        try:
            yield
        finally:
            self.cells[CALL] = before
            self.mend()

    def add(self, task: Stepping) -> None:
        """Count the steps of a task, as long as it lives."""
        self._tasks.add(task)

    def look(self) -> None:
        """Note how many steps the tasks have taken; for a thread that does so now and then."""
        with contextlib.suppress(RuntimeError):  # a task was added just now
            self.cells[SEEN] = sum(task.steps for task in tuple(self._tasks))


#: Of this process.
activity = Activity()
