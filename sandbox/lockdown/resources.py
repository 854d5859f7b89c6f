"""Resource limits of a locked-down process."""

from __future__ import annotations

import math
import os
import resource
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.lockdown import libc

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
    """What processor time and address space may be at most, looked up once, in the parent."""

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
        if libc.LINUX:
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
        libc.prctl(libc.PR_SET_MEMORY_MERGE, 0)
