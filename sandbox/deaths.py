"""What the end of a process says about its program."""

from __future__ import annotations

import signal

from sandbox.errors import (
    IsolationUnavailable,
    MemoryLimit,
    ProcessDied,
    SandboxError,
    TimeLimit,
)
from sandbox.parent import NOT_STRICT

_SIGNALS = {
    signal.SIGSEGV: "most likely a recursion that is too deep inside C code, or exhausted stack",
    signal.SIGABRT: "the interpreter gave up",
    signal.SIGBUS: "it touched memory that is not there",
    signal.SIGFPE: "an arithmetic fault in C code",
}


def death(code: int, what: str) -> SandboxError:
    """The error for a process that ended by itself with exit ``code`` during the call ``what``.

    A negative code is a signal's number.
    """
    if code == NOT_STRICT:
        return IsolationUnavailable("a process could not be locked down as strictly as asked")
    if code >= 0:
        return ProcessDied(f"the process of the program ended in {what}")
    number = signal.Signals(-code)
    if number == signal.SIGXCPU:
        return TimeLimit(f"the program used up its processor time in {what}")
    if number == signal.SIGKILL:
        return MemoryLimit(f"the program was killed in {what}; most likely it used up memory")
    if number == signal.SIGSYS:
        return ProcessDied(f"the program made a system call that is not allowed, in {what}")
    reason = _SIGNALS.get(number, "a fault in C code")
    return ProcessDied(f"the program crashed in {what} ({number.name}: {reason})")
