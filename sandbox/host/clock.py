"""How long the host waits for a process: processor time, and wall time as a backstop.

Limits count the processor time of the process, read from outside: a machine that is busy, or a
process that was stopped for a while, fails no program. Wall time counts only while the host waits,
and of each short wait only what was asked for: where it took far longer, the host itself had been
stopped (Ctrl-Z, SIGSTOP, a machine that slept).
"""

from __future__ import annotations

import select
import sys
import time
from contextlib import suppress

#: Longest single wait in seconds, how much more of it counts, and the shortest one.
_SLICE = 1.0
_SLACK = 0.5
_SHORTEST = 0.01


class Exhausted(Exception):
    """The process has used up its processor time."""


class Stalled(Exception):
    """The process has not used up its processor time, but the wall time is over."""


class ProcessClock:
    """Processor time of one process, in seconds.

    Where the system does not tell it (macOS), the time that the host has waited stands for it.

    Attributes:
        waited: wall time that the host has waited for the process.
        begun: what the clock showed at first.
    """

    def __init__(self, pid: int) -> None:
        self.waited = 0.0
        self._last = 0.0
        #: The number that clock_getcpuclockid(3) makes of a process id.
        self._id: int | None = (~pid << 3) | 2 if sys.platform == "linux" else None
        if self._id is not None:
            try:
                time.clock_gettime(self._id)
            except OSError:
                self._id = None
        self.begun = self.read()

    def read(self) -> float:
        """What it shows now, or showed last if the process is gone."""
        if self._id is None:
            return self.waited
        with suppress(OSError):
            self._last = time.clock_gettime(self._id)
        return self._last


class Patience:
    """What is left of the time for one answer, in however many pieces it comes."""

    def __init__(self, clock: ProcessClock, until: float, wall: float) -> None:
        """``until``: what the clock may show; ``wall``: seconds that the host will wait."""
        self._clock = clock
        self._until = until
        self._end = clock.waited + wall

    def wait(self, poll: select.poll) -> None:
        """Wait until ``poll`` has an event.

        Raises:
            Exhausted, Stalled: the time is over, whether there is an event or not.
        """
        clock, ready = self._clock, False
        while not ready:
            cpu, wall = self._until - clock.read(), self._end - clock.waited
            if cpu <= 0:
                raise Exhausted
            if wall <= 0:
                raise Stalled
            asked = min(max(cpu, _SHORTEST), wall, _SLICE)
            begun = time.monotonic()
            ready = bool(poll.poll(asked * 1000))
            clock.waited += min(time.monotonic() - begun, asked + _SLACK)
