"""Landlock: no file, no TCP port, no signal or abstract socket beyond the own process."""

from __future__ import annotations

import ctypes

from sandbox.lockdown import libc

_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION_FLAG = 1

#: How many file system rights each ABI version knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NET_SINCE, _SCOPE_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def version() -> int:
    """The kernel's ABI version.

    Raises:
        OSError: this kernel has no Landlock, or it is switched off.
    """
    return libc.syscall(
        _CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG), what="Landlock"
    )


def deny_everything(abi: int) -> int:
    """A ruleset that handles each right of ``abi`` and grants none; returns its descriptor.

    Raises:
        OSError: the kernel refused.
    """
    rights = (1 << _RIGHTS[min(abi, max(_RIGHTS))]) - 1
    rules = _Ruleset(rights, 3 if abi >= _NET_SINCE else 0, 3 if abi >= _SCOPE_SINCE else 0)
    size = 24 if abi >= _SCOPE_SINCE else 16 if abi >= _NET_SINCE else 8
    return libc.syscall(
        _CREATE_RULESET,
        ctypes.byref(rules),
        ctypes.c_size_t(size),
        ctypes.c_uint32(0),
        what="Landlock ruleset",
    )


def enforce(ruleset: int) -> None:
    """Put the ruleset in force for this process; needs no_new_privs.

    Raises:
        OSError: the kernel refused.
    """
    libc.syscall(_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0), what="Landlock")
