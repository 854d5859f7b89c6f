"""Forks a process that cannot tell how many there were before it.

As the first process of a process id namespace of its own, each has the number 1. ``os.fork`` cannot
do that: entering a namespace beforehand is for good where an ordinary user does it, and it takes in
one process only.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal

from sandbox.lockdown import libc

_CLONE = {"x86_64": 56, "aarch64": 220}
_NUMBER = _CLONE.get(platform.machine()) if libc.LINUX else None
_NEWPID = 0x20000000

#: Keeps the lock of the interpreter, as os.fork does.
_syscall = ctypes.PyDLL(None, use_errno=True).syscall
_ARGUMENTS = (ctypes.c_long(_NEWPID | signal.SIGCHLD), *[ctypes.c_void_p()] * 4)
_python = ctypes.pythonapi
_before, _after_in_child, _after_in_parent = (
    _python.PyOS_BeforeFork,
    _python.PyOS_AfterFork_Child,
    _python.PyOS_AfterFork_Parent,
)


def fork() -> int:
    """As ``os.fork``, but in a process id namespace of its own.

    Raises:
        OSError: the kernel refused, or the call number is not known here.
    """
    if _NUMBER is None:
        raise OSError(f"the clone call of {platform.system()} is not known")
    number = ctypes.c_long(_NUMBER)
    _before()
    pid = int(_syscall(number, *_ARGUMENTS))
    if pid == 0:
        _after_in_child()
        return 0
    error = ctypes.get_errno()
    _after_in_parent()
    if pid < 0:
        raise OSError(error, os.strerror(error))
    return pid


def attempt() -> str:
    """Fork once; "on", or why that is refused."""
    try:
        pid = fork()
    except OSError as error:
        return f"refused here ({error.strerror or error})"
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "on"
