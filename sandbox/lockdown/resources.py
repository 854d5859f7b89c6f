"""Resource limits of a locked-down process."""

from __future__ import annotations

import math
import os
import resource
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


def limit(memory: int, cpu_seconds: float) -> None:
    """Allow ``memory`` more bytes and ``cpu_seconds``; no files, processes, cores or queues.

    Raises:
        OSError: the system refused one of them.
    """
    cpu = min(math.ceil(cpu_seconds), _MOST) + 1
    limits = {
        "RLIMIT_CPU": (cpu, cpu + 1),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_FSIZE": (0, 0),
        "RLIMIT_NPROC": (0, 0),
        "RLIMIT_MEMLOCK": (0, 0),
        "RLIMIT_MSGQUEUE": (0, 0),
        "RLIMIT_NOFILE": (0, 0),
    }
    if libc.LINUX:
        ceiling = address_space() + min(memory, _MOST)
        limits["RLIMIT_AS"] = (ceiling, ceiling)
    for name, (soft, hard) in limits.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        _, highest = resource.getrlimit(number)
        wanted = (soft, hard)
        if highest != resource.RLIM_INFINITY:
            wanted = (min(soft, highest), min(hard, highest))
        try:
            resource.setrlimit(number, wanted)
        except ValueError as error:
            raise OSError(f"{name}: {error}") from None


def prefer_for_oom_killer() -> None:
    """Should memory run out, the kernel takes this process and its children first."""
    try:
        Path("/proc/self/oom_score_adj").write_text("1000")
    except OSError:
        return
