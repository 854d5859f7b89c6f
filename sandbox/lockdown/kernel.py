"""Calls of the kernel that Python does not wrap, through ctypes; namespaces and Landlock."""

from __future__ import annotations

import ctypes
import os
import sys

LINUX = sys.platform == "linux"

NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_SET_MEMORY_MERGE = 67

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1
#: How many file system rights each ABI version of Landlock knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_SINCE, _SCOPE_SINCE = 4, 6

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def prctl(option: int, argument: int, pointer: object = None, what: str = "prctl") -> None:
    """Call ``prctl(option, argument, pointer)``.

    Raises:
        OSError: the kernel refused.
    """
    last = ctypes.byref(pointer) if pointer is not None else None  # type: ignore[arg-type]
    _checked(_libc.prctl(option, ctypes.c_ulong(argument), last, 0, 0), what)


def syscall(number: int, *args: object, what: str) -> int:
    """Make a raw system call.

    Raises:
        OSError: the kernel refused.
    """
    return _checked(int(_libc.syscall(ctypes.c_long(number), *args)), what)


def unshare(flags: int) -> None:
    """Leave the namespaces in ``flags``.

    Raises:
        OSError: the kernel refused.
    """
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def _enter_process_ids(descriptor: int) -> None:
    _checked(_libc.setns(ctypes.c_int(descriptor), ctypes.c_int(NEWPID)), "setns")


def leave_process_ids() -> int:
    """Return the descriptor of the process id namespace to come back to after each fork.

    Raises:
        OSError: this process may not come back, as an ordinary user may not, or not leave at all.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _enter_process_ids(own)  # first: who leaves and cannot come back forks only once
        unshare(NEWPID)
        _enter_process_ids(own)
    except OSError:
        os.close(own)
        raise
    return own


def fork(own: int) -> int:
    """Fork as ``os.fork`` does, but into a process id namespace of the child's own.

    It is the first process there and has the number 1: it cannot tell how many there were before.
    """
    unshare(NEWPID)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid != 0:
            _enter_process_ids(own)
    return pid


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def deny_everything() -> int:
    """Return a Landlock ruleset, a descriptor: no file, no TCP port, no signal to others.

    It handles each right that the kernel knows and grants none.

    Raises:
        OSError: this kernel has no Landlock, or it is switched off.
    """
    size, flags = ctypes.c_size_t, ctypes.c_uint32
    abi = syscall(_CREATE_RULESET, None, size(0), flags(_VERSION_FLAG), what="Landlock")
    rights = (1 << _RIGHTS[min(abi, max(_RIGHTS))]) - 1
    rules = _Ruleset(rights, 3 if abi >= _NET_SINCE else 0, 3 if abi >= _SCOPE_SINCE else 0)
    length = size(24 if abi >= _SCOPE_SINCE else 16 if abi >= _NET_SINCE else 8)
    return syscall(_CREATE_RULESET, ctypes.byref(rules), length, flags(0), what="Landlock ruleset")


def enforce_landlock(ruleset: int) -> None:
    """Put the ruleset in force for this process; needs no_new_privs.

    Raises:
        OSError: the kernel refused.
    """
    syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0), what="Landlock")
