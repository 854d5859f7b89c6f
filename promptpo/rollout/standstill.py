"""How long a call in another process has stood still."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from promptpo.spec.calls import BEGUN, CALL, IDLE, SEEN, STEPS

#: So many times the limit may pass by the clock, whatever the process was doing.
GRACE = 10


class Standstill:
    """Looks at the cells of a process from time to time; see ``promptpo.spec.calls``.

    Attributes:
        seconds: how often to look.
        waited: seconds without progress, by the clock; without those in which who looks was
            stopped, or the machine slept.
        stopped: whether the process had been stopped, by a signal or a debugger, when last seen.
    """

    def __init__(self, cells: memoryview, pid: int, limit: float) -> None:
        self.seconds = self.period(limit)
        self._cells, self._limit = cells, limit
        self._folder = Path(f"/proc/{pid}")
        self.start()

    @staticmethod
    def period(limit: float) -> float:
        """Seconds between two looks, where so many seconds are allowed."""
        return min(1.0, limit / 4)

    def start(self) -> None:
        """Something new begins."""
        self._seen: tuple[int, ...] = ()
        self._still = self.waited = 0.0
        self.stopped = False
        self._looked, self._no_core = time.monotonic(), self._core_wait()

    def too_long(self) -> bool:
        """Whether the call under way has stood still beyond the limit.

        Time in which the process was stopped, or had no core, does not count against the limit,
        but against ``GRACE`` times the limit. So does a stop between two calls.
        """
        now, no_core = time.monotonic(), self._core_wait()
        # Who looks may have been stopped, too: then more time has passed than between two looks.
        passed = min(now - self._looked, 2 * self.seconds)
        seen = tuple(self._cells[cell] for cell in (CALL, BEGUN, STEPS, SEEN))
        same = seen == self._seen
        self.stopped = same and self._is_stopped()
        if not same or (seen[CALL] == IDLE and not self.stopped):
            self._still = self.waited = 0.0
        else:
            self.waited += passed
            if not self.stopped:
                self._still += max(0.0, passed - (no_core - self._no_core))
        self._seen, self._looked, self._no_core = seen, now, no_core
        return self.hangs or self.waited >= GRACE * self._limit

    @property
    def hangs(self) -> bool:
        """Whether it has used up the limit itself, by its own doing."""
        return self._still >= self._limit

    def _is_stopped(self) -> bool:
        with contextlib.suppress(OSError, IndexError):
            return (self._folder / "stat").read_text().rpartition(")")[2].split()[0] in "Tt"
        return False

    def _core_wait(self) -> float:
        """Seconds for which its main thread could have run, but had no core."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self._folder / "schedstat").read_text().split()[1]) / 1e9
        return 0.0
