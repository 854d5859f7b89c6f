"""A process that runs a spec's code, watched from here: it may hang, crash or end itself.

What the spec calls is known at any moment (``promptpo.spec.calls``), and a call that
stands still for longer than the limit is ended from outside: Python's lock may be held for ever,
so nothing inside the process can be relied on (``Standstill``). What it prints
comes here through a pipe, which is read as long as it lives (``promptpo.common.foreign``).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import pickle
import re
import select
import signal
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from promptpo.common.foreign import Lines, aside, speaker
from promptpo.common.terminal import print_to
from promptpo.errors import PromptPOError, SpecError
from promptpo.spec.calls import BEGUN, CALL, CALLS, IDLE, SEEN, SIZE, STEPS, activity

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Exit code of a process that cannot use its connection any more.
CUT = 113
_PR_SET_PDEATHSIG = 1


class Descriptor:
    """A file descriptor that can be handed to a process that is being started."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        starting: Any = get_spawning_popen()
        return int, (starting.duplicate_for_child(self._fd),)


@contextlib.contextmanager
def blocked(number: signal.Signals) -> Iterator[None]:
    """Block a signal: a process that is started here must not die of what a terminal tells us."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def begin(
    target: Callable[..., None],
    connection: Connection,
    memory: int,
    printed: int,
    period: float,
    args: tuple[object, ...],
) -> None:
    """Run ``target`` such that it can be watched: what it prints goes to ``printed``."""
    for number in (signal.SIGINT, signal.SIGHUP):  # it ends when its parent ends or kills it
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    print_to(printed)
    activity.mend = lambda: _mend(printed)
    activity.share(memory)
    faulthandler.enable(memory)
    faulthandler.register(signal.SIGUSR1, memory, all_threads=True)
    threading.Thread(target=_look, args=(period,), daemon=True).start()
    try:
        target(connection, *args)
    except OSError:  # what a job raises is an answer: this is the connection
        os._exit(CUT)
    activity.cells[CALL] = IDLE


def _mend(printed: int) -> None:
    """Open again what an environment has closed: else the next socket would take its number."""
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(printed, descriptor)


def _look(period: float) -> None:
    while True:
        time.sleep(period)
        activity.look()


#: So many times the limit may pass by the clock, whatever the process was doing.
GRACE = 10


class Standstill:
    """Looks at the cells of a process from time to time; see ``promptpo.spec.calls``.

    Attributes:
        seconds: how often to look.
        waited: seconds without progress, by the clock; without those in which who looks was
            stopped, or the machine slept.
        stopped: whether the process had been stopped, by a signal or a debugger, when last seen.
    """

    def __init__(self, cells: memoryview, pid: int, limit: float) -> None:
        self.seconds = self.period(limit)
        self._cells, self._limit = cells, limit
        self._folder = Path(f"/proc/{pid}")
        self.start()

    @staticmethod
    def period(limit: float) -> float:
        """Seconds between two looks, where so many seconds are allowed."""
        return min(1.0, limit / 4)

    def start(self) -> None:
        """Something new begins."""
        self._seen: tuple[int, ...] = ()
        self._still = self.waited = 0.0
        self.stopped = False
        self._looked, self._no_core = time.monotonic(), self._core_wait()

    def too_long(self) -> bool:
        """Tell whether the call under way has stood still beyond the limit.

        Time in which the process was stopped, or had no core, does not count against the limit,
        but against ``GRACE`` times the limit. So does a stop between two calls.
        """
        now, no_core = time.monotonic(), self._core_wait()
        # Who looks may have been stopped, too: then more time has passed than between two looks.
        passed = min(now - self._looked, 2 * self.seconds)
        seen = tuple(self._cells[cell] for cell in (CALL, BEGUN, STEPS, SEEN))
        same = seen == self._seen
        self.stopped = same and self._is_stopped()
        if not same or (seen[CALL] == IDLE and not self.stopped):
            self._still = self.waited = 0.0
        else:
            self.waited += passed
            if not self.stopped:
                self._still += max(0.0, passed - (no_core - self._no_core))
        self._seen, self._looked, self._no_core = seen, now, no_core
        return self.hangs or self.waited >= GRACE * self._limit

    @property
    def hangs(self) -> bool:
        """True where the process has used up the limit by its own doing."""
        return self._still >= self._limit

    def _is_stopped(self) -> bool:
        with contextlib.suppress(OSError, IndexError):
            return (self._folder / "stat").read_text().rpartition(")")[2].split()[0] in "Tt"
        return False

    def _core_wait(self) -> float:
        """Seconds for which its main thread could have run, but had no core."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self._folder / "schedstat").read_text().split()[1]) / 1e9
        return 0.0


#: Bytes in which a dying or hanging process leaves where it was, in Python.
_TRACE = 1 << 16

#: Ends what is said of a call that did not return in time.
HUNG = "(--set env_timeout)"

#: Seconds after which it is said what is waited for; and again after twice as many.
_PATIENCE = 10.0

#: Seconds for which what an ended process has printed is waited for.
_LAST_WORDS = 0.5


class Lost(Exception):
    """A watched process that ended, or was ended, before it had answered.

    Attributes:
        call: the call of the spec that was under way (``make``, ``reset``, ``step``, ...); empty
            where none was.
        words: what happened, without a path.
        location: `` at FILE:LINE`` of the spec where that is known, else empty.
        steps: environment steps of the job that it had been given.
        killed: it was killed or stopped from outside, which may not come again.
        hung: the call did not return in time.
    """

    def __init__(self, end: _End, location: str, steps: int) -> None:
        super().__init__(end.words)
        self.call, self.words, self.killed, self.hung = end
        self.location, self.steps = location, steps


class _End(NamedTuple):
    """The end of a process; see ``Lost``."""

    call: str
    words: str
    killed: bool = False
    hung: bool = False


def say_aside(text: str, *, passing: bool = False) -> None:
    """Say on standard error what is waited for (``passing``), or what became of a process."""
    aside(f"promptpo: {text}")


class Watched:
    """A process of its own that runs ``target(connection, *args)``; messages go both ways.

    loky, as it does not import the main module again, which a user's script may not be ready for.
    Used by one thread at a time, but for ``kill``.

    Args:
        target: a function of a module.
        args: what it is given besides the connection.
        limit: seconds that a call of the environment may stand still.
        spec: whose code it runs; what it prints is shown under that name, and nowhere without.
        environ: environment variables, if not those of this process.
        tell: hears what is waited for, in another thread.
    """

    def __init__(
        self,
        target: Callable[..., None],
        *args: object,
        limit: float,
        spec: str = "",
        environ: Mapping[str, str] | None = None,
        tell: Callable[..., None] = say_aside,
    ) -> None:
        import multiprocessing.resource_tracker

        import loky.backend.resource_tracker

        context = loky.backend.get_context("loky")
        self.spec, self._limit, self._tell = spec, limit, tell
        self._memory = _shared_memory()
        self._cells = memoryview(mmap.mmap(self._memory, SIZE)).cast("q")
        self._here, there = context.Pipe()
        reader, writer = os.pipe()
        period = Standstill.period(limit)
        given = there, Descriptor(self._memory), Descriptor(writer), period, args
        self._process = context.Process(
            target=begin,
            args=(target, *given),
            env=dict(environ) if environ is not None else None,
        )
        self._lock = threading.Lock()
        try:
            with _starting, blocked(signal.SIGHUP):
                # These let interrupts through again when they are started.
                multiprocessing.resource_tracker.ensure_running()
                loky.backend.resource_tracker.ensure_running()
                with blocked(signal.SIGINT):
                    self._process.start()
        finally:
            there.close()
            os.close(writer)
        self._still = Standstill(self._cells, self._process.pid, limit)
        self._first = self._patience = min(_PATIENCE, limit / 2)
        self._end: _End | None = None
        self._asked, self._closed, self._killed = False, threading.Event(), threading.Event()
        self._watching = threading.Thread(target=self._watch, args=(reader,), daemon=True)
        self._watching.start()

    @property
    def alive(self) -> bool:
        """True where the process can take a message."""
        return self._exit_code() is None

    def send(self, message: object) -> None:
        """Hand it a message. Raises Lost."""
        self._cells[STEPS] = 0
        self._asked = True
        try:
            self._here.send(message)
        except OSError:
            raise self._lost() from None

    def receive(self) -> Any:  # noqa: ANN401 - what the target sends
        """Its next message. Raises Lost where it ends, or a call stands still, before that."""
        self._asked = True
        try:
            while not self._here.poll(self._still.seconds):
                if not self.alive and not self._here.poll(0):
                    raise self._lost()
            message = self._here.recv()
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self._lost() from None
        finally:
            self._asked = False
        if self._end is not None:  # our signal may have ended the call that hung
            raise self._lost()
        return message

    def kill(self) -> None:
        """End it, and what it started, at once, whatever it is doing; from any thread."""
        from loky.backend.utils import kill_process_tree

        with self._lock:
            kill_process_tree(self._process)

    def close(self) -> None:
        """End it, and forget it, once its last words are shown."""
        self.kill()
        self._here.close()
        self._closed.set()
        self._watching.join(_LAST_WORDS)

    def _exit_code(self) -> int | None:
        with self._lock:
            code: int | None = self._process.exitcode
            return code

    def _watch(self, reader: int) -> None:
        """Show what the process prints, and end it where a call stands still; in a thread.

        What it has started may live on and print: that is read, too, as long as it comes.
        """
        lines, poll, due = Lines(), select.poll(), 0.0
        poll.register(reader, select.POLLIN)
        printing = True
        while True:
            left = max(0.0, due - time.monotonic())
            if printing and poll.poll(1000 * left):
                data = os.read(reader, 1 << 16)
                if self.spec:
                    lines.feed(data, speaker(self.spec))
                printing = bool(data)
            elif self._closed.wait(0.0 if printing else left):
                break
            if time.monotonic() >= due:
                self._look()
                due = time.monotonic() + self._still.seconds
        if self.spec:
            lines.end(speaker(self.spec))
        os.close(reader)
        self._cells.release()
        os.close(self._memory)

    def _look(self) -> None:
        """See whether the call under way stands still."""
        if not self._asked or self._end is not None or self._closed.is_set():
            return
        still = self._still
        if still.too_long():
            self._end_it(CALLS[self._cells[CALL]])
        elif still.waited < self._first:
            self._patience = self._first
        elif still.waited >= self._patience:
            self._patience = 2 * still.waited
            self._tell(self._waiting(CALLS[self._cells[CALL]]), passing=True)

    def _waiting(self, call: str) -> str:
        what = f"{call}()" if call else "a process"
        what = "the import" if call == "import" else what
        stopped = " (its process is stopped)" if self._still.stopped else ""
        name = speaker(self.spec).name
        return f"waiting for {what} of {name}, {self._still.waited:.0f} s{stopped}"

    def _end_it(self, call: str) -> None:
        """A call stands still: note where, and end the process."""
        if self._still.hangs:
            words = f"{call} did not return within {self._limit:g} s {HUNG}"
            self._end = _End(call, words, hung=True)
            with contextlib.suppress(OSError):
                os.kill(self._process.pid, signal.SIGUSR1)
            time.sleep(0.2)  # for the trace to be written
        else:
            why = "was stopped" if self._still.stopped else "had no core"
            words = f"the process {why} {_during(call)}, for {self._still.waited:.3g} s"
            self._end = _End(call, words, killed=True)
        self.kill()
        self._killed.set()

    def _lost(self) -> Lost:
        """Return the error for a process that has ended, was ended, or cut the connection."""
        call = CALLS[self._cells[CALL]]
        if self._end is not None:
            self._killed.wait()
        with self._lock:
            self._process.join(2)
        code = self._exit_code()
        self.kill()
        end = self._end or _explain_exit(call, code)
        return Lost(end, self._location(), self._cells[STEPS])

    def _location(self) -> str:
        """Return where in the user's files the process was, if it has left a trace of it."""
        text = os.pread(self._memory, _TRACE, SIZE).rstrip(b"\0").decode("utf-8", "replace")
        for file, line in re.findall(r'File "([^"\n]+)", line (\d+)', text):
            if not file.startswith(("<", *_NOT_THEIRS)) and "site-packages" not in file:
                return f" at {file}:{line}"
        return ""


#: Where files lie that are not the user's: Python's own, and promptpo's.
_NOT_THEIRS = (sysconfig.get_path("stdlib"), str(Path(__file__).resolve().parents[1]))

#: Processes are started one after the other.
_starting = threading.Lock()


def _during(call: str) -> str:
    return f"in {call}" if call else "between calls of the environment"


def _explain_exit(call: str, code: int | None) -> _End:
    """Return the end of a process with an exit code."""
    if code in (None, CUT):
        return _End(call, "the process lost its connection (did it close its files?)")
    if code >= 0:
        return _End(call, f"os._exit({code}), or exit in C, was called {_during(call)}")
    name = signal.Signals(-code).name
    if -code in (signal.SIGKILL, signal.SIGTERM):
        words = f"the process was killed ({name}) {_during(call)}; is there enough memory?"
        return _End(call, words, killed=True)
    return _End(call, f"the process crashed ({name}) {_during(call)}")


def _shared_memory() -> int:
    if hasattr(os, "memfd_create"):
        memory = os.memfd_create("promptpo")
    else:
        memory, name = tempfile.mkstemp()
        Path(name).unlink()
    os.ftruncate(memory, SIZE + _TRACE)
    os.lseek(memory, SIZE, os.SEEK_SET)  # where traces are written
    return memory


T = TypeVar("T")


def apart(spec: str, limit: float, function: Callable[..., T], *args: object) -> T:
    """Call a function of a module in a process of its own; return or raise what it does.

    Raises SpecError where the process ends before that, or a call of the environment of ``spec``
    takes longer than ``limit`` seconds.
    """
    process = Watched(_answer, function, args, limit=limit, spec=spec)
    try:
        kind, answer = process.receive()
    except Lost as lost:
        raise SpecError(f"{spec}: {lost.words}{lost.location}") from None
    finally:
        process.close()
    if kind == "raised":
        raise answer
    result: T = answer
    return result


def _answer(connection: Connection, function: Callable[..., Any], args: tuple[object, ...]) -> None:
    try:
        answer: tuple[str, object] = ("done", function(*args))
    except BaseException as error:
        answer = ("raised", portable(error))
    connection.send(answer)


def portable(error: BaseException) -> Exception:
    """Return an exception that another process can raise; a bug's traceback goes with it."""
    if isinstance(error, PromptPOError):
        return error
    trace = "".join(traceback.format_exception(error))
    return RuntimeError(f"in an environment process: {error!r}\n{trace}")
