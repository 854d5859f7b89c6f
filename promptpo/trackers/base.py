"""What a tracker is: somewhere outside the run's folder where people watch and compare runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Start:
    """What a tracker is told when it opens.

    Attributes:
        folder: the run's folder.
        id: names the run for good: who opens the same id again goes on in the same place.
        name: what people see, e.g. ``cartpole/20261120-143000``.
        task: the spec's name, by which runs are grouped.
        settings: the run's settings and versions, plain values: hyperparameters.
    """

    folder: Path
    id: str
    name: str
    task: str
    settings: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Delivery:
    """One thing to track, told once in the life of a run, however often that is resumed.

    Attributes:
        key: says which thing it is.
        step: environment steps of search and tuning so far, the x axis.
        values: scores, costs, counts by name, e.g. ``round/mean_return``.
        source: Python source of the best policy so far; None: it is still the same.
    """

    key: str
    step: int
    values: Mapping[str, float] = field(default_factory=dict)
    source: str | None = None


@dataclass(frozen=True)
class End:
    """How a run ended: ``finished``, ``stopped``, ``interrupted`` or ``failed``; what it leaves."""

    status: str = "finished"
    summary: Mapping[str, float] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


class Tracker(Protocol):
    """One tracker, used by one thread; any exception ends the tracking and never the run."""

    def start(self, start: Start) -> None:
        """Open, or go on where this id left off."""
        ...

    def track(self, delivery: Delivery) -> None:
        """Take one delivery; it is safe with the tracker when this returns."""
        ...

    def file(self, path: Path) -> None:
        """Take a file: a policy, a report, a video. What a tracker cannot show it may leave."""
        ...

    def finish(self, end: End) -> None:
        """Close."""
        ...
