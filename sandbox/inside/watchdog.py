"""Tells the author of a slow program where it was.

The host's limit is what ends a program. But the host cannot see inside; so a little earlier a timer
looks whether the current call has used up its processor time, and if so reports the line and ends
the process. It raises nothing, so no ``except`` can swallow it. A loop inside C code never lets it
run: then the host's limit does its work, without a line.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from time import process_time  # the real one: a program's is virtual
from types import FrameType

#: Processor time between two looks, in seconds.
_TICK = 0.02


class Watchdog:
    """A timer that runs from before the lock-down to the end of the process.

    It runs on processor time, and nothing reads a clock but the timer itself: a call costs two
    assignments, and its time counts from the timer's first look at it.

    Attributes:
        call: number of the call that runs; None between calls.
        seconds: processor time that it may take.
        report: called with the running frame when it takes longer.
    """

    def __init__(self) -> None:
        self.call: int | None = None
        self.seconds = 0.0
        self.report: Callable[[FrameType | None], None] | None = None
        self._seen: int | None = None
        self._until = 0.0
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)

    def _tick(self, number: int, frame: FrameType | None) -> None:
        now, call = process_time(), self.call
        if call is None or call != self._seen:
            self._seen, self._until = call, now + self.seconds
            return
        if now < self._until or self.report is None:
            return
        self.call = None
        try:
            self.report(frame)
        finally:
            os._exit(0)
