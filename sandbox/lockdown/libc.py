"""System calls that Python does not wrap, through ctypes."""

from __future__ import annotations

import ctypes
import os
import sys

LINUX = sys.platform == "linux"

_libc = ctypes.CDLL(None, use_errno=True)

NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_SET_MEMORY_MERGE = 67


def _failed(what: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, f"{what}: {os.strerror(code)}")


def prctl(option: int, argument: int, pointer: object = None, what: str = "prctl") -> None:
    """``prctl(option, argument, pointer)``.

    Raises:
        OSError: the kernel refused.
    """
    last = ctypes.byref(pointer) if pointer is not None else None  # type: ignore[arg-type]
    if _libc.prctl(option, ctypes.c_ulong(argument), last, 0, 0) != 0:
        raise _failed(what)


def syscall(number: int, *args: object, what: str) -> int:
    """A raw system call.

    Raises:
        OSError: the kernel refused.
    """
    result = int(_libc.syscall(ctypes.c_long(number), *args))
    if result < 0:
        raise _failed(what)
    return result


def mprotect(address: int, size: int, protection: int) -> None:
    """What may be done with whole pages from ``address`` on.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), protection) != 0:
        raise _failed("mprotect")


def unshare(flags: int) -> None:
    """Leave the namespaces in ``flags``.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.unshare(ctypes.c_int(flags)) != 0:
        raise _failed("unshare")


def setns(descriptor: int, kind: int) -> None:
    """Join the namespace behind the descriptor.

    Raises:
        OSError: the kernel refused.
    """
    if _libc.setns(ctypes.c_int(descriptor), ctypes.c_int(kind)) != 0:
        raise _failed("setns")
