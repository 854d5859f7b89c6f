"""Tells the author of a slow program where it was.

The host's limit is what ends a program. But the host cannot see inside; so a little earlier a timer
looks whether the current call has used up its processor time, and if so reports the line and ends
the process. It raises nothing, so no ``except`` can swallow it. A loop inside C code never lets it
run: then the host's limit does its work, without a line.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

#: Processor time between two looks, in seconds.
_TICK = 0.02


class Watchdog:
    """A timer that runs from before the lock-down to the end of the process.

    It runs on processor time, and nothing reads a clock but the timer itself: a call costs two
    assignments, and its time counts from the timer's first look at it.
    """

    def __init__(self) -> None:
        self._seconds: float | None = None
        self._until: float | None = None
        self._report: Callable[[FrameType | None], None] | None = None
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def watch(self, seconds: float, report: Callable[[FrameType | None], None]) -> None:
        """Call ``report`` with the running frame if ``rest`` is not called within ``seconds``."""
        self._report = report
        self._until = None
        self._seconds = seconds

    def rest(self) -> None:
        """The call is over."""
        self._seconds = None

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if self._seconds is None or self._report is None:
            return
        now = time.process_time()
        if self._until is None:
            self._until = now + self._seconds
            return
        if now < self._until:
            return
        self._seconds = None
        try:
            self._report(frame)
        finally:
            os._exit(0)
