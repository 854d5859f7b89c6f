"""What the end, or the silence, of a process says about its program."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import Disturbed, ProcessDied, SandboxError, TimeLimit

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


def exit_error(code: int, what: str, out_of_memory: bool = False) -> SandboxError:
    """The error for a process that ended with exit ``code`` during the call ``what``.

    Args:
        code: a negative one is the number of a signal. A locked-down process can send none, not
            even to itself; so one that no fault of its own raises came from outside.
        what: the call, for the message.
        out_of_memory: the kernel has been ending processes because memory ran out.
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
    if number == signal.SIGKILL and out_of_memory:
        return Disturbed(
            f"the process of the program was ended in {what}: the machine ran out of memory, and"
            " the kernel chose it"
        )
    return Disturbed(
        f"the process of the program was killed from outside in {what}, by a signal that it did"
        f" not cause itself ({name})"
    )


def silence_error(pid: int, what: str, allowed: float) -> SandboxError:
    """The error for a process that has neither answered nor used up its processor time.

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
    """What the process does, as proc_pid_stat(5) has it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


class OutOfMemoryKills:
    """Counts processes that the kernel has ended because memory ran out, where it tells."""

    def __init__(self) -> None:
        self._seen = _kills()

    def happened(self) -> bool:
        """Whether there were more since the last look."""
        before, self._seen = self._seen, _kills()
        return self._seen > before


def _kills() -> int:
    """Of the control group that this process is in, or else of the machine."""
    for path in (*_group_files(), Path("/proc/vmstat")):
        try:
            words = path.read_text().split()
        except OSError:
            continue
        if "oom_kill" in words:
            return int(words[words.index("oom_kill") + 1])
    return 0


def _group_files() -> Iterator[Path]:
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, group = line.split(":", 2)
        if not kinds:
            yield Path(f"/sys/fs/cgroup{group}/memory.events")
            yield Path("/sys/fs/cgroup/memory.events")
        elif "memory" in kinds.split(","):
            yield Path(f"/sys/fs/cgroup/memory{group}/memory.oom_control")
            yield Path("/sys/fs/cgroup/memory/memory.oom_control")
