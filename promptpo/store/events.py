"""The event log of a run: ``events.jsonl``, append-only, one JSON object a line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.errors import RunError
from promptpo.types import Event, Listener


def read_events(path: Path) -> tuple[list[Event], int]:
    """The events of a log and the length in bytes of its intact part.

    A last line that a kill left half-written is left out; any other line that is not a JSON
    object with a ``type`` raises RunError with the line's number.
    """
    events: list[Event] = []
    good = 0
    raw = path.read_bytes()
    for number, line in enumerate(raw.splitlines(keepends=True), 1):
        try:
            data = json.loads(line)
            event = Event(data.pop("type"), data, data.pop("time", 0.0))
            if not line.endswith(b"\n"):
                break
        except (ValueError, AttributeError, KeyError):
            if good + len(line) == len(raw):
                break
            raise RunError(
                f"{path}:{number}: not an event; restore the file, or start a new run"
            ) from None
        events.append(event)
        good += len(line)
    return events, good


def elapsed(events: Iterable[Event]) -> float:
    """Seconds that the sessions of a run took, the pauses between them left out."""
    total, start, last = 0.0, None, 0.0
    for event in events:
        if event.type in ("run", "resumed"):
            total += last - start if start is not None else 0.0
            start = event.time
        last = event.time
    return total + (last - start if start is not None else 0.0)


@dataclass
class EventLog:
    """Appends events to a file and hands them to listeners.

    Each event is one ``write`` of a whole line to a file opened for appending, so a kill can cut
    at most the last line; replies are also synced to disk, because they were paid for.
    """

    path: Path
    listeners: list[Listener] = field(default_factory=list)
    past: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dropped = 0
        if self.path.exists():
            self.past, good = read_events(self.path)
            self.dropped = self.path.stat().st_size - good
            if self.dropped:
                os.truncate(self.path, good)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def emit(self, kind: str, *, transient: bool = False, **data: Any) -> None:  # noqa: ANN401
        """Record an event, unless it is ``transient``, and tell every listener."""
        event = Event(kind, data, time.time(), transient)
        if not transient:
            line = json.dumps({"type": kind, "time": event.time, **data}, allow_nan=True)
            os.write(self._file, line.encode() + b"\n")
            if kind == "reply":
                os.fsync(self._file)
        for listener in self.listeners:
            listener(event)

    def of_type(self, kind: str) -> Iterator[dict[str, Any]]:
        """The data of past events of one type, in order."""
        return (dict(e.data) for e in self.past if e.type == kind)

    def elapsed(self) -> float:
        """Seconds that earlier sessions of this run took, the pauses between them left out."""
        return elapsed(self.past)

    def close(self) -> None:
        """Close the file; calling it twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
