"""Forks a process that cannot tell how many there were before it.

As the first process of a process id namespace of its own, each has the number 1.
"""

from __future__ import annotations

import os

from sandbox.lockdown import libc

_OWN = "/proc/self/ns/pid"


def namespace() -> int:
    """Descriptor of the namespace to come back to after each fork.

    Raises:
        OSError: this process may not come back, as an ordinary user may not, or not leave at all.
    """
    own = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        libc.setns(own, libc.NEWPID)  # first, for who leaves and cannot come back forks only once
        libc.unshare(libc.NEWPID)
        libc.setns(own, libc.NEWPID)
    except OSError:
        os.close(own)
        raise
    return own


def fork(own: int) -> int:
    """As ``os.fork``, but into a process id namespace of the child's own."""
    libc.unshare(libc.NEWPID)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid != 0:
            libc.setns(own, libc.NEWPID)
    return pid
