"""Which cores there are, and one for each worker.

A worker and its policy process take turns, so they belong on one core: across cores each hand-over
waits for the other core to wake up.
"""

from __future__ import annotations

import os
import socket
import sys

#: What is held as long as this process lives. The kernel lets go of it however the process ends.
_held: list[socket.socket] = []


def available_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def claim_core(claimants: str = "promptpo-worker") -> int | None:
    """Keep this process, and all that it starts, on a core that no other claimant has.

    Returns its number; None where every core is claimed (by the workers of other runs) or the
    system cannot tell: then the scheduler decides, as without a claim.
    """
    if sys.platform != "linux":
        return None
    for core in sorted(os.sched_getaffinity(0)):
        name = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            name.bind(f"\0{claimants}-on-core-{core}")  # an abstract name: no file is left
        except OSError:
            name.close()
            continue
        _held.append(name)
        os.sched_setaffinity(0, {core})
        return core
    return None
