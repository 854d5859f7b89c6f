"""One sandboxed process as the host holds it: its clock, its end, and what that end says.

Limits count the processor time of the process, read from outside: a machine that is busy, or a
process that was stopped for a while, fails no program. Wall time counts only while the host waits,
and of each short wait only what was asked for: where it took far longer, the host itself had been
stopped (Ctrl-Z, SIGSTOP, a machine that slept).
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sandbox.errors import (
    Disturbed,
    IsolationUnavailable,
    ProcessDied,
    SandboxError,
    SandboxFailed,
    TimeLimit,
)
from sandbox.isolation import NOT_STRICT

#: Longest single wait in seconds, how much more of it counts, and the shortest one.
_SLICE = 1.0
_SLACK = 0.5
_SHORTEST = 0.01


class Exhausted(Exception):
    """The process has used up its processor time."""


class Stalled(Exception):
    """The process has not used up its processor time, but the wall time is over."""


class ProcessClock:
    """Processor time of one process, in seconds.

    Where the system does not tell it (macOS), the time that the host has waited stands for it.

    Attributes:
        waited: wall time that the host has waited for the process.
        begun: what the clock showed at first.
    """

    def __init__(self, pid: int) -> None:
        self.waited = 0.0
        self._last = 0.0
        #: The number that clock_getcpuclockid(3) makes of a process id.
        self._id: int | None = (~pid << 3) | 2 if sys.platform == "linux" else None
        if self._id is not None:
            try:
                time.clock_gettime(self._id)
            except OSError:
                self._id = None
        self.begun = self.read()

    def read(self) -> float:
        """Return the time in seconds; the last one read if the process is gone."""
        if self._id is None:
            return self.waited
        with suppress(OSError):
            self._last = time.clock_gettime(self._id)
        return self._last


class Patience:
    """Time that is left for one answer, in however many pieces it comes."""

    def __init__(self, clock: ProcessClock, until: float, wall: float) -> None:
        """``until``: what the clock may show; ``wall``: seconds that the host will wait."""
        self._clock = clock
        self._until = until
        self._end = clock.waited + wall

    def wait(self, poll: select.poll) -> None:
        """Wait until ``poll`` has an event.

        Raises:
            Exhausted, Stalled: the time is over, whether there is an event or not.
        """
        clock, ready = self._clock, False
        while not ready:
            cpu, wall = self._until - clock.read(), self._end - clock.waited
            if cpu <= 0:
                raise Exhausted
            if wall <= 0:
                raise Stalled
            asked = min(max(cpu, _SHORTEST), wall, _SLICE)
            begun = time.monotonic()
            ready = bool(poll.poll(asked * 1000))
            clock.waited += min(time.monotonic() - begun, asked + _SLACK)


_CRASHES: dict[int, str] = {
    signal.SIGSEGV: "most likely a recursion that is too deep inside C code, exhausted stack, or"
    " C code that was let write to a read-only array: copy() it first",
    signal.SIGABRT: "the interpreter gave up",
    signal.SIGBUS: "it touched memory that is not there",
    signal.SIGFPE: "an arithmetic fault in C code",
    signal.SIGILL: "a fault in C code",
    signal.SIGTRAP: "a fault in C code",
}

_STOPPED = {"T", "t"}
_WANTS_TO_RUN = {"R", "D"}

#: How often a silent process is looked at, and how long apart, in seconds.
_LOOKS, _APART = 20, 0.02


def exit_error(code: int, what: str) -> SandboxError:
    """Return the error for a process that ended with exit ``code`` during the call ``what``.

    Args:
        code: a negative one is the number of a signal. A locked-down process can send none, not
            even to itself; so one that no fault of its own raises came from outside.
        what: the call, for the message.
    """
    if code >= 0:
        return ProcessDied(f"the process of the program ended in {what}")
    number = -code
    if number == signal.SIGXCPU:
        return TimeLimit(f"the program used up its processor time in {what}")
    if number == signal.SIGSYS:
        return ProcessDied(f"the program made a system call that is not allowed, in {what}")
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if number in _CRASHES:
        return ProcessDied(f"the program crashed in {what} ({name}: {_CRASHES[number]})")
    hint = "; is there enough memory?" if number == signal.SIGKILL else ""
    return Disturbed(
        f"the process of the program was killed from outside in {what}, by a signal that it did"
        f" not cause itself ({name}{hint})"
    )


def silence_error(pid: int, what: str, allowed: float) -> SandboxError:
    """Return the error for a process that has neither answered nor used up its processor time.

    Args:
        pid: of the process.
        what: the call, for the message.
        allowed: its processor time in seconds.
    """
    text = f"{what} did not return for long, nor did it use its {allowed:g} s of processor time"
    states = set()
    for _ in range(_LOOKS):
        states.add(_state(pid))
        if not states <= _STOPPED | _WANTS_TO_RUN:
            return TimeLimit(f"{text}; it must compute or return, not wait")
        time.sleep(_APART)
    if states <= _STOPPED:
        return Disturbed(f"{text}: the process was stopped from outside")
    return Disturbed(f"{text}: the machine was too busy to let the process run")


def _state(pid: int) -> str:
    """Return the state of the process, a letter of proc_pid_stat(5)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


#: How long a process that has closed its pipes may take to end by itself, in seconds.
_ENDING = 5.0


class Process:
    """A process that is to be killed and reaped."""

    def __init__(
        self,
        pid: int,
        pidfd: int,
        reap: Callable[[int], int],
        forget: Callable[[int], None],
    ) -> None:
        """Take over a process.

        Args:
            pid: of the process, leader of its group.
            pidfd: of the process, or -1.
            reap: gives the wait status of the ended process; raises SandboxFailed.
            forget: told of a process that was killed and whose wait status nobody wants.
        """
        self.pid = pid
        self.pidfd = pidfd
        self._reap = reap
        self._forget = forget
        self.clock = ProcessClock(pid)
        self.alive = True

    def kill(self) -> None:
        """End the process and its group; its memory may be freed a moment later."""
        if self.alive:
            self._signal()
            self._forget(self.pid)

    def died(self, what: str, has_program: bool) -> SandboxError:
        """Return the error for a process that has closed its pipe in the call ``what``.

        Before it is given a program, and only then, it is believed about protections.
        """
        own = self._ends_by_itself()
        try:
            code = os.waitstatus_to_exitcode(self._finish())
        except SandboxFailed as error:
            return error
        if not own and code == -signal.SIGKILL:
            return ProcessDied(f"the process of the program closed its pipe in {what}")
        if code == NOT_STRICT and not has_program:
            return IsolationUnavailable("a process could not be locked down as strictly as asked")
        return exit_error(code, what)

    def silent(self, what: str, allowed: float) -> SandboxError:
        """Return the error for a process that has not answered; it is killed."""
        error = silence_error(self.pid, what, allowed)
        self.kill()
        return error

    def _finish(self) -> int:
        """Kill it, whether it has ended or not, and return the wait status."""
        self._signal()
        return self._reap(self.pid)

    def _ends_by_itself(self) -> bool:
        if self.pidfd < 0:
            time.sleep(0.05)
            return False
        ending = select.poll()  # select() would fail where there are over 1024 descriptors
        ending.register(self.pidfd, select.POLLIN)
        return bool(ending.poll(_ENDING * 1000))

    def _signal(self) -> None:
        self.alive = False
        try:
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)
            with suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return  # its parent is gone, and it was reaped: the number may be another's by now
        finally:
            if self.pidfd >= 0:
                os.close(self.pidfd)
