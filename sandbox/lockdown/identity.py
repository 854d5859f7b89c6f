"""Identity and limits of a locked-down process: users, namespaces, resources."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.lockdown import kernel

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
    kernel.syscall(_NUMBER, *_ARGUMENTS, what="capset")


def leave_namespaces() -> str:
    """Move into an empty network and a new IPC namespace; as an ordinary user, by a user namespace.

    Must run in a process with one thread.

    Returns:
        "on", or why not.
    """
    if not kernel.LINUX:
        return "namespaces are a Linux facility"
    root = os.geteuid() == 0
    try:
        kernel.unshare((0 if root else _NEWUSER) | _NEWNET | _NEWIPC)
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


_PAGE = resource.getpagesize()
#: More than any machine has, less than any limit can say.
_MOST = 1 << 60


def address_space() -> int:
    """Bytes of address space that this process has now (0 where that cannot be told)."""
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(descriptor, 100).split()[0]) * _PAGE
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class Highest:
    """Ceilings of processor time and address space, looked up once, in the parent."""

    cpu: int
    address_space: int

    @classmethod
    def now(cls) -> Highest:
        """The ceilings of this process, which its children inherit; cores and locks: none at all.

        Raises:
            OSError: the system refused one of them.
        """
        for name in ("RLIMIT_CORE", "RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE"):
            _set(name, 0, 0)
        return cls(_ceiling("RLIMIT_CPU"), _ceiling("RLIMIT_AS"))

    def limit(self, memory: int, cpu_seconds: float) -> None:
        """Allow ``memory`` more bytes and ``cpu_seconds``; no files, no processes.

        Raises:
            OSError: the system refused one of them.
        """
        cpu = min(math.ceil(cpu_seconds), _MOST) + 1
        _set("RLIMIT_CPU", min(cpu, self.cpu), min(cpu + 1, self.cpu))
        if kernel.LINUX:
            most = min(address_space() + min(memory, _MOST), self.address_space)
            _set("RLIMIT_AS", most, most)
        for name in ("RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_NOFILE"):
            _set(name, 0, 0)


def _ceiling(name: str) -> int:
    _, highest = resource.getrlimit(getattr(resource, name))
    return _MOST if highest == resource.RLIM_INFINITY else highest


def _set(name: str, soft: int, hard: int) -> None:
    number = getattr(resource, name, None)
    if number is None:
        return
    try:
        resource.setrlimit(number, (soft, hard))
    except ValueError as error:
        raise OSError(f"{name}: {error}") from None


def prefer_for_oom_killer() -> None:
    """Should memory run out, the kernel takes this process and its children first."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        return


def merge_no_pages() -> None:
    """Keep the kernel from merging equal pages of processes, as it may where told to.

    Whoever writes to such a page can tell by the time it takes that somebody has an equal one.
    """
    with suppress(OSError):
        kernel.prctl(kernel.PR_SET_MEMORY_MERGE, 0)
