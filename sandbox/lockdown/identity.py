"""Who the process is: users, capabilities, namespaces, an empty root directory."""

from __future__ import annotations

import ctypes
import os
import platform
import tempfile
from pathlib import Path

from sandbox.lockdown import libc

_NEWUSER, _NEWNET, _NEWIPC = 0x10000000, 0x40000000, 0x08000000
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION = 0x20080522

#: User ids that nobody else has, and who is taken where they are not mapped.
_OWN_UIDS = range(1_900_000_000, 1_900_000_000 + (1 << 27))
_NOBODY = 65534
#: The true one: in the warm parent the name in ``os`` comes to lead to something else.
_random_bytes = os.urandom


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


#: Made once, in the parent.
_HEAD = _CapabilityHeader(_CAPABILITY_VERSION, 0)
_NUMBER = _CAPSET.get(platform.machine())
_ARGUMENTS = ctypes.byref(_HEAD), ctypes.byref((ctypes.c_uint32 * 6)())


def drop_capabilities() -> None:
    """Give up all capabilities.

    Raises:
        OSError: the kernel refused, or the call number is not known here.
    """
    if _NUMBER is None:
        raise OSError(f"the capset call of {platform.machine()} is not known")
    libc.syscall(_NUMBER, *_ARGUMENTS, what="capset")


def leave_namespaces() -> str:
    """Move into an empty network and a new IPC namespace; as an ordinary user, by a user namespace.

    Must run in a process with one thread.

    Returns:
        "on", or why not.
    """
    if not libc.LINUX:
        return "namespaces are a Linux facility"
    root = os.geteuid() == 0
    try:
        libc.unshare((0 if root else _NEWUSER) | _NEWNET | _NEWIPC)
    except OSError as error:
        return f"new namespaces are refused here ({error.strerror})"
    return "on"


def free_uids() -> range | None:
    """User ids of nobody's, of which a process may become any; None where only root could."""
    if os.geteuid() != 0:
        return None
    try:
        rows = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except OSError:
        rows = []
    for row in rows:
        start, _, count = map(int, row)
        if start <= _OWN_UIDS.start and _OWN_UIDS.stop <= start + count:
            return _OWN_UIDS
    return range(_NOBODY, _NOBODY + 1)


def any_of(uids: range) -> int:
    """One of them by chance: a number that counts would tell how many were taken before."""
    return uids[int.from_bytes(_random_bytes(8), "little") % len(uids)]


def become(uid: int) -> None:
    """Become ``uid`` and the group of the same number, for good."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def open_empty_root() -> int:
    """Descriptor of an empty directory that has no name any more: nothing is ever left behind."""
    path = tempfile.mkdtemp(prefix="sandbox-root-")
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    Path(path).rmdir()
    return descriptor


def enter_root(descriptor: int) -> None:
    """Make that directory the root.

    Raises:
        OSError: the process may not.
    """
    os.fchdir(descriptor)
    os.chroot(".")
