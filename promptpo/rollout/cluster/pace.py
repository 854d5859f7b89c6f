"""How long jobs take, to tell one that hangs, or whose machine does, from one that is long."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Protocol

#: Jobs of a kind that say how long its like takes, and how many of them are enough.
_REMEMBERED, _ENOUGH = 200, 5


class Sized(Protocol):
    """A job as ``Pace`` sees it."""

    @property
    def kind(self) -> str:
        """What it is."""
        ...

    @property
    def size(self) -> float:
        """How much of it."""
        ...


class Pace:
    """Remembers how long jobs took, by what they are and how large.

    Args:
        least: seconds that every job is given.
        times: how much longer than the slowest of its like one may take.
        unknown: seconds that a job is given that is like no other.
    """

    def __init__(self, least: float = 30.0, times: float = 3.0, unknown: float = 600.0) -> None:
        self._least, self._times, self._unknown = least, times, unknown
        self._taken: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def note(self, job: Sized, seconds: float) -> None:
        """A job was done within so many seconds."""
        self._taken[job.kind].append(seconds / job.size)

    def patience(self, job: Sized) -> float:
        """Seconds after which a job is far beyond what its like took."""
        taken = self._taken[job.kind]
        if len(taken) < _ENOUGH:
            return self._unknown
        return max(self._least, self._times * max(taken) * job.size)
