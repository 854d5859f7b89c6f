"""Takes deliveries to a tracker in a thread of its own: a slow tracker holds up no run."""

from __future__ import annotations

import json
import queue
import threading
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from promptpo.common.files import write_atomically
from promptpo.spec.calls import one_line
from promptpo.trackers.base import Delivery, End, Start, Tracker

#: Seconds that a tracker has, once the run is over, for what it has not sent yet.
PATIENCE = 60.0


class Memory:
    """What a tracker has been told of a run, in ``RUN/trackers/NAME.json``; and the run's id."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._path = folder / "trackers" / f"{name}.json"
        stored: dict[str, Any] = {}
        if self._path.is_file():
            stored = json.loads(self._path.read_text(encoding="utf-8"))
        self.id: str = stored.get("id") or uuid.uuid4().hex[:12]
        self._told = dict.fromkeys(stored.get("told", ()))

    def holds(self, key: str) -> bool:
        """Whether this was told already."""
        return key in self._told

    def add(self, key: str | None = None) -> None:
        """Remember the id, and what was told just now."""
        if key is not None:
            self._told[key] = None
        text = json.dumps({"id": self.id, "told": list(self._told)}, indent=1)
        write_atomically(self._path, text + "\n", inside=self._folder)


class Courier:
    """One tracker's thread. ``problem`` is what stopped it, in one line; None while all is well."""

    def __init__(self, name: str, tracker: Tracker, start: Start) -> None:
        self.name = name
        self.problem: str | None = None
        self._tracker = tracker
        self._start = start
        self._queue: queue.Queue[Delivery | End] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name=f"tracker {name}", daemon=True)
        self._thread.start()

    def put(self, delivery: Delivery) -> None:
        """Hand over one delivery; returns at once."""
        self._queue.put(delivery)

    def close(self, end: End) -> None:
        """Tell how the run ended, and wait for the tracker, but not for ever."""
        self._queue.put(end)
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self.problem = f"it was not done {PATIENCE:.0f} s after the run and is left behind"

    def _work(self) -> None:
        try:
            memory = Memory(self._start.folder, self.name)
            self._tracker.start(replace(self._start, id=memory.id))
            memory.add()
            while isinstance(item := self._queue.get(), Delivery):
                if not memory.holds(item.key):
                    self._tracker.track(item)
                    memory.add(item.key)
            for path in item.files:
                self._tracker.file(path)
            self._tracker.finish(item)
        except Exception as error:  # whatever it is, it is no reason to lose a run
            self.problem = one_line(error)
