"""A process that runs a spec's code, watched from here: it may hang, crash or end itself.

What the spec calls is known at any moment (``promptpo.spec.running.activity``), and a call that
stands still for longer than the limit is ended from outside: Python's lock may be held for ever,
so nothing inside the process can be relied on. Time in which the process was stopped, or waited
for a core, does not count.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import pickle
import re
import signal
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo.rollout.standstill import Standstill
from promptpo.spec.running.activity import CALL, CALLS, IDLE, SIZE, STEPS, activity

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Exit code of a process that cannot use its connection any more.
CUT = 113
#: Bytes in which a dying or hanging process leaves where it was, in Python.
_TRACE = 1 << 16
_PR_SET_PDEATHSIG = 1


class Lost(Exception):
    """A watched process that ended, or was ended, before it had answered.

    Attributes:
        call: the call of the spec that was under way (``make``, ``reset``, ``step``, ...); empty
            where none was.
        words: what happened, without a path.
        location: `` at FILE:LINE`` of the spec where that is known, else empty.
        steps: environment steps of the job that it had been given.
        killed: it was killed from outside, which may not come again.
    """

    def __init__(self, call: str, words: str, location: str, steps: int, *, killed: bool) -> None:
        super().__init__(words)
        self.call, self.words, self.location, self.steps = call, words, location, steps
        self.killed = killed


class Watched:
    """A process of its own that runs ``target(connection, *args)``; messages go both ways.

    loky, as it does not import the main module again, which a user's script may not be ready for.
    Used by one thread at a time, but for ``kill``.
    """

    def __init__(
        self,
        target: Callable[..., None],
        *args: object,
        limit: float,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        import multiprocessing.resource_tracker

        import loky.backend.resource_tracker

        context = loky.backend.get_context("loky")
        self._limit = limit
        self._memory = _shared_memory()
        self._cells = memoryview(mmap.mmap(self._memory, SIZE)).cast("q")
        self._here, there = context.Pipe()
        period = Standstill.period(limit)
        self._process = context.Process(
            target=_begin,
            args=(target, there, _Descriptor(self._memory), period, args),
            env=dict(environ) if environ is not None else None,
        )
        self._lock = threading.Lock()
        with _starting, _blocked(signal.SIGHUP):
            # These let interrupts through again when they are started.
            multiprocessing.resource_tracker.ensure_running()
            loky.backend.resource_tracker.ensure_running()
            with _blocked(signal.SIGINT):
                self._process.start()
        there.close()
        self._still = Standstill(self._cells, self._process.pid, limit)

    @property
    def alive(self) -> bool:
        """Whether it can be given something to do."""
        return self._exit_code() is None

    def send(self, message: object) -> None:
        """Hand it a message. Raises Lost."""
        self._cells[STEPS] = 0
        self._still.start()
        try:
            self._here.send(message)
        except OSError:
            raise self._lost() from None

    def receive(self) -> Any:  # noqa: ANN401 - what the target sends
        """Its next message. Raises Lost where it ends, or a call stands still, before that."""
        while True:
            try:
                if self._here.poll(self._still.seconds):
                    return self._here.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                raise self._lost() from None
            if self._still.too_long():
                raise self._stuck()
            if not self.alive and not self._here.poll(0):
                raise self._lost()

    def kill(self) -> None:
        """End it, and what it started, at once, whatever it is doing; from any thread."""
        from loky.backend.utils import kill_process_tree

        with self._lock:
            kill_process_tree(self._process)

    def close(self) -> None:
        """End it, and forget it."""
        self.kill()
        self._here.close()
        self._cells.release()
        os.close(self._memory)

    def _exit_code(self) -> int | None:
        with self._lock:
            code: int | None = self._process.exitcode
            return code

    def _stuck(self) -> Lost:
        """A call stands still: note where, and end the process."""
        call = CALLS[self._cells[CALL]]
        with contextlib.suppress(OSError):
            os.kill(self._process.pid, signal.SIGUSR1)
        time.sleep(0.2)  # for the trace to be written
        self.kill()
        words = f"{call} did not return within {self._limit:g} s (--env-timeout)"
        return Lost(call, words, self._location(), self._cells[STEPS], killed=False)

    def _lost(self) -> Lost:
        """The process has ended, or cut the connection."""
        call = CALLS[self._cells[CALL]]
        with self._lock:
            self._process.join(2)
        code = self._exit_code()
        self.kill()
        words, killed = _explain_exit(call, code)
        return Lost(call, words, self._location(), self._cells[STEPS], killed=killed)

    def _location(self) -> str:
        """Where in the user's own files the process was, if it has left word of it."""
        text = os.pread(self._memory, _TRACE, SIZE).rstrip(b"\0").decode("utf-8", "replace")
        for file, line in re.findall(r'File "([^"\n]+)", line (\d+)', text):
            if not file.startswith(("<", *_NOT_THEIRS)) and "site-packages" not in file:
                return f" at {file}:{line}"
        return ""


#: Where files lie that are not the user's: Python's own, and promptpo's.
_NOT_THEIRS = (sysconfig.get_path("stdlib"), str(Path(__file__).resolve().parents[1]))

#: Signals that all processes of a terminal get.
_OF_TERMINALS = (signal.SIGINT, signal.SIGHUP)

#: Processes are started one after the other.
_starting = threading.Lock()


def _explain_exit(call: str, code: int | None) -> tuple[str, bool]:
    """How a process ended, in words, and whether it was killed."""
    during = f"in {call}" if call else "between calls of the environment"
    if code in (None, CUT):
        return "the process lost its connection (did it close its files?)", False
    if code >= 0:
        return f"os._exit({code}), or exit in C, was called {during}", False
    name = signal.Signals(-code).name
    if -code in (signal.SIGKILL, signal.SIGTERM):
        return f"the process was killed ({name}) {during}; is there enough memory?", True
    return f"the process crashed ({name}) {during}", False


def _shared_memory() -> int:
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("promptpo")
    else:
        memory, name = tempfile.mkstemp()
        Path(name).unlink()
    os.ftruncate(memory, SIZE + _TRACE)
    os.lseek(memory, SIZE, os.SEEK_SET)  # where traces are written
    return memory


class _Descriptor:
    """A file descriptor that can be handed to a process that is being started."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        starting: Any = get_spawning_popen()
        return int, (starting.duplicate_for_child(self._fd),)


@contextlib.contextmanager
def _blocked(number: signal.Signals) -> Iterator[None]:
    """A process that is started here must not die of what a terminal tells us."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _begin(
    target: Callable[..., None],
    connection: Connection,
    memory: int,
    period: float,
    args: tuple[object, ...],
) -> None:
    """What a watched process runs."""
    for number in _OF_TERMINALS:  # it ends when its parent ends or kills it
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    activity.share(memory)
    faulthandler.enable(memory)
    faulthandler.register(signal.SIGUSR1, memory, all_threads=True)
    threading.Thread(target=_look, args=(period,), daemon=True).start()
    try:
        target(connection, *args)
    except OSError:  # what a job raises is an answer: this is the connection
        os._exit(CUT)
    activity.cells[CALL] = IDLE


def _look(period: float) -> None:
    while True:
        time.sleep(period)
        activity.look()
