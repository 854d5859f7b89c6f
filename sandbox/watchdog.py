"""Tells the author of a slow program where it was; runs inside the sandboxed process.

The host's deadline is what ends a program. But the host cannot see inside; so a little earlier a
timer looks whether the current call is late, and if so reports the line and ends the process. It
raises nothing, so no ``except`` can swallow it. A loop inside C code never lets it run: then the
host's deadline does its work, without a line.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from types import FrameType

_TICK = 0.05

#: How long the host waits beyond a limit for the report, in seconds.
GRACE = 0.25


class Watchdog:
    """A timer that runs from before the lock-down to the end of the process."""

    def __init__(self) -> None:
        self._deadline: float | None = None
        self._report: Callable[[FrameType | None], None] | None = None
        signal.signal(signal.SIGALRM, self._tick)
        signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)

    def watch(self, seconds: float, report: Callable[[FrameType | None], None]) -> None:
        """Call ``report`` with the running frame if ``rest`` is not called within ``seconds``."""
        self._report = report
        self._deadline = time.monotonic() + seconds

    def rest(self) -> None:
        """The call is over."""
        self._deadline = None

    def _tick(self, number: int, frame: FrameType | None) -> None:
        if self._deadline is None or self._report is None or time.monotonic() < self._deadline:
            return
        self._deadline = None
        try:
            self._report(frame)
        finally:
            os._exit(0)
