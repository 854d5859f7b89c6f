"""How a watched process begins, on both sides; see ``promptpo.rollout.watched``."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any

from promptpo.common.streams import print_to
from promptpo.spec.calls import CALL, IDLE, activity

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: Exit code of a process that cannot use its connection any more.
CUT = 113
_PR_SET_PDEATHSIG = 1


class Descriptor:
    """A file descriptor that can be handed to a process that is being started."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        starting: Any = get_spawning_popen()
        return int, (starting.duplicate_for_child(self._fd),)


@contextlib.contextmanager
def blocked(number: signal.Signals) -> Iterator[None]:
    """Block a signal: a process that is started here must not die of what a terminal tells us."""
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def begin(
    target: Callable[..., None],
    connection: Connection,
    memory: int,
    printed: int,
    period: float,
    args: tuple[object, ...],
) -> None:
    """Run ``target`` such that it can be watched: what it prints goes to ``printed``."""
    for number in (signal.SIGINT, signal.SIGHUP):  # it ends when its parent ends or kills it
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    print_to(printed)
    activity.mend = lambda: _mend(printed)
    activity.share(memory)
    faulthandler.enable(memory)
    faulthandler.register(signal.SIGUSR1, memory, all_threads=True)
    threading.Thread(target=_look, args=(period,), daemon=True).start()
    try:
        target(connection, *args)
    except OSError:  # what a job raises is an answer: this is the connection
        os._exit(CUT)
    activity.cells[CALL] = IDLE


def _mend(printed: int) -> None:
    """Open again what an environment has closed: else the next socket would take its number."""
    for descriptor in (1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(printed, descriptor)


def _look(period: float) -> None:
    while True:
        time.sleep(period)
        activity.look()
