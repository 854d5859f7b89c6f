"""Calls of a spec's own code: the one under way, limits on it, and words for its exceptions.

A simulator can hang, crash or end its process, with Python's lock held. The process that started
this one therefore sees the call under way as a number in shared memory, and counts steps by looking
at the tasks from time to time, so that a step costs nothing.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import signal
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, Protocol

from promptpo.common.interrupts import hear
from promptpo.errors import SpecError
from promptpo.spec.definition import EnvSpec

#: Calls of a spec and its environment, by their number; no number: something else is under way.
CALLS = ("", "import", "make", "reset", "step", "close")
IDLE, IMPORT, MAKE, RESET, STEP, CLOSE = range(len(CALLS))

#: Cells of the memory: the call under way, calls begun, steps of the job, steps seen by ``look``.
CALL, BEGUN, STEPS, SEEN = range(4)

#: Bytes of the memory that the cells take.
SIZE = mmap.PAGESIZE


class Stepping(Protocol):
    """A task that counts its steps."""

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


#: Seconds between two looks at the time. They are counted, so that Ctrl-Z is no time that passes.
_TICK = 0.25


class ProcessExit(BaseException):
    """A call that would have ended the command without a word, or as if by Ctrl-C."""


class TookTooLong(BaseException):
    """A call that has not returned within its limit."""


@contextlib.contextmanager
def exit_raises() -> Iterator[None]:
    """Let ``os._exit`` raise ProcessExit meanwhile, in this thread of this process."""
    real, caller = os._exit, (os.getpid(), threading.get_ident())
    meanwhile = True

    def named(status: int) -> NoReturn:
        if meanwhile and (os.getpid(), threading.get_ident()) == caller:
            raise ProcessExit(f"os._exit({status!r}) was called")
        real(status)

    os._exit = named
    try:
        yield
    finally:
        meanwhile = False
        if os._exit is named:
            os._exit = real


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in the main thread where it takes longer.

    It is interrupted as by Ctrl-C; so where something else answers to that, there is no limit.
    """
    main = threading.main_thread()
    before: Any = signal.getsignal(signal.SIGINT)
    raises = before in (signal.default_int_handler, hear)
    if threading.current_thread() is not main or not raises:
        yield
        return
    done, late, heard = threading.Event(), threading.Event(), threading.Event()

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if late.is_set():
            raise KeyboardInterrupt
        heard.set()
        before(signum, frame)

    def watch() -> None:
        for _ in range(math.ceil(seconds / _TICK)):
            if done.wait(_TICK):
                return
        late.set()
        while not done.wait(_TICK):  # more than once, for a spec may suppress it
            signal.pthread_kill(main.ident or 0, signal.SIGINT)

    signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt as error:
        if late.is_set():
            raise TookTooLong(f"took longer than {seconds:g} s") from None
        if not heard.is_set():
            raise ProcessExit("KeyboardInterrupt was raised") from error
        raise
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def reraise_interrupt(error: BaseException) -> None:
    """Raise again what Ctrl-C raised: every other exception in a spec's code is the spec's.

    ``SystemExit`` is, and so is ``KeyboardInterrupt`` where nobody can interrupt.
    """
    heard = threading.current_thread() is threading.main_thread() and signal.getsignal(
        signal.SIGINT
    ) not in (signal.SIG_IGN, None)
    if isinstance(error, KeyboardInterrupt) and heard:
        raise error


#: Begins the name of a package that stands for a folder of specs.
FOLDER_PACKAGE = "promptpo_specs_"

#: Arguments of pip for a missing module, where its name on PyPI is another, or an extra is needed.
_PIP_NAMES = {
    "mujoco": "gymnasium[mujoco]",
    "Box2D": "gymnasium[box2d]",
    "ale_py": "gymnasium[atari]",
    "pygame": "gymnasium[classic-control]",
    "gymnasium_robotics": "gymnasium-robotics",
    "libsumo": "libsumo",
    "yaml": "PyYAML",
    "cv2": "opencv-python",
    "sklearn": "scikit-learn",
}


def one_line(error: BaseException, limit: int = 300) -> str:
    """Return type and message of an exception on one line."""
    if isinstance(error, ProcessExit | TookTooLong):
        return str(error)
    if isinstance(error, SystemExit):
        return f"sys.exit({'' if error.code is None else repr(error.code)}) was called"
    try:
        text = " ".join(str(error).split())
    except Exception:  # its own __str__ raised
        text = ""
    text = text if len(text) <= limit else f"{text[:limit]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def line_in(error: BaseException, path: Path) -> int | None:
    """Return the innermost line of ``path`` at which an exception arose; None if there is none."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else None


def explain(error: BaseException, path: Path, install: str = "") -> tuple[str, str]:
    """Return ``file:line`` and ``problem; remedy`` for an exception of a spec or its environment.

    ``install`` is what the spec itself says brings its packages.
    """
    line = line_in(error, path)
    where, words = f"{path}:{line}" if line else str(path), one_line(error)
    if isinstance(error, SyntaxError):
        where = f"{error.filename or path}:{error.lineno or 1}"
        words = f"{type(error).__name__}: {error.msg}; correct the line"
    elif isinstance(error, ModuleNotFoundError) and (error.name or "").startswith(FOLDER_PACKAGE):
        helper = (error.name or "").rpartition(".")[2]
        words = f"there is no module {helper!r} beside this spec; put {helper}.py in {path.parent}"
    elif isinstance(error, ModuleNotFoundError) and error.name:
        top = error.name.partition(".")[0]
        name = install or _PIP_NAMES.get(top, top)
        words = f"the package {top!r} is not installed; run: pip install '{name}'"
    elif install and type(error).__name__ == "DependencyNotInstalled":
        words += f"; run: pip install '{install}'"
    return where, words


class EnvironmentFault(SpecError):
    """Raised for an environment that raises, or returns no observation, reward or flag.

    Attributes:
        where: the spec's file, with the line where it is known.
        problem: what happened, without ``where``, so that a model may read it.
        remedy: what the spec's author may do about it, or empty.
    """

    def __init__(self, where: str, problem: str, remedy: str = "") -> None:
        super().__init__(where, problem, remedy)
        self.where, self.problem, self.remedy = where, problem, remedy

    def at(self, place: str) -> EnvironmentFault:
        """Return the same fault with a place in the episode."""
        return EnvironmentFault(self.where, f"{self.problem} ({place})", self.remedy)

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.where}: {self.problem}{remedy}"


class UnsupportedSpace(Exception):
    """A space that has no flat row of numbers; the message says what to do."""


def raised(spec: EnvSpec, problem: str, error: BaseException) -> EnvironmentFault:
    """Return the fault for an exception, with the spec's line where it passed through one."""
    if isinstance(error, EnvironmentFault):
        return error
    where, reason = explain(error, spec.path or Path(spec.where), spec.install)
    return EnvironmentFault(where, f"{problem}: {reason}")


@contextlib.contextmanager
def raising_faults(spec: EnvSpec, problem: str) -> Iterator[None]:
    """Raise what a spec's code raises as a fault; a SpecError and an interrupt as they are."""
    try:
        yield
    except SpecError:
        raise
    except BaseException as error:
        reraise_interrupt(error)
        raise raised(spec, problem, error) from error
