"""Trackers: TensorBoard, Weights & Biases and MLflow, which follow a run while it goes on.

A tracker is one more listener of a run's events. It is off unless ``--track`` names it, and any
error of it is one warning. docs/trackers.md tells users what they find where.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import queue
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from promptpo.common.files import write_atomically
from promptpo.common.plaintext import listed
from promptpo.config import RunConfig, flat
from promptpo.errors import UsageError
from promptpo.spec.calls import one_line
from promptpo.store.events import Event, EventLog, Listener
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run
from promptpo.trackers.feed import Feed
from promptpo.trackers.services import SERVICES, TrackedRun, WeightsAndBiases

__all__ = ["check_ready", "send", "tracking"]

#: Files that trackers take at the end of a run, relative to its folder.
_FILES = ("best/policy.py", "report.html", "videos/*.mp4", "videos/*.gif")

#: Seconds that a tracker has, once the run is over, for what it has not sent yet.
_PATIENCE = 60.0


def check_ready(names: Sequence[str]) -> None:
    """Raise UsageError, in one line, where a tracker's package or key is missing."""
    for name in names:
        package = SERVICES[name].package
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"--track {name}: the package '{package}' is not installed;"
                f" run: pip install 'promptpo[{name}]'"
            )
        if SERVICES[name] is WeightsAndBiases:
            WeightsAndBiases.check()


@contextlib.contextmanager
def tracking(
    config: RunConfig, folder: Path, run: Mapping[str, Any], log: EventLog
) -> Iterator[list[Listener]]:
    """Yield listeners that pass events on to the run's trackers; end the trackers on leaving.

    ``run`` is the data of the run's first event. Errors become notices in ``log``.
    """
    if not config.trackers:
        yield []
        return
    tracked = _tracked(folder, run, flat(config.as_dict()))
    couriers = [_Courier(name, tracked, log) for name in config.trackers]
    try:
        yield [*couriers]
    finally:
        files = [file for pattern in _FILES for file in sorted(folder.glob(pattern))]
        for courier in couriers:
            courier.close(files)


def send(folder: RunFolder, files: Sequence[Path]) -> list[str]:
    """Add files, such as videos, to the trackers of a run that is over.

    A run that is going on takes the files in its folder itself when it ends. Returns a line for
    each tracker that did not take the files. Raises RunError where the run's log cannot be read.
    """
    if folder.is_running:
        return []
    run = load_run(folder.path)
    tracked = _tracked(folder.path, run.header, run.settings)
    problems = []
    for name in dict.fromkeys(listed(str(run.settings.get("track") or ""))):
        try:
            check_ready([name])
            memory = _Memory(folder.path, name)
            service = SERVICES[name](tracked, memory.id)
            memory.add()
            for path in files:
                service.file(path)
            service.finish(run.status, {})
        except Exception as error:  # others may still take the files
            problems.append(f"{name} did not take the files: {one_line(error)}")
    return problems


def _tracked(folder: Path, run: Mapping[str, Any], settings: Mapping[str, Any]) -> TrackedRun:
    spec = run["spec"]["name"]
    versions = {f"version/{name}": text for name, text in run.get("versions", {}).items()}
    # The task's name groups runs better than a file's path does.
    about = {**settings, "spec": spec, **versions}
    return TrackedRun(folder, f"{spec}/{folder.name}", spec, about)


class _Memory:
    """Keys of what a tracker has received, and the run's id, in ``RUN/trackers/NAME.json``."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._path = folder / "trackers" / f"{name}.json"
        stored: dict[str, Any] = {}
        if self._path.is_file():
            stored = json.loads(self._path.read_text(encoding="utf-8"))
        self.id: str = stored.get("id") or uuid.uuid4().hex[:12]
        self.keys = dict.fromkeys(stored.get("told", ()))

    def add(self, *keys: str) -> None:
        """Store the id, and keys of what was received just now."""
        self.keys |= dict.fromkeys(keys)
        text = json.dumps({"id": self.id, "told": list(self.keys)}, indent=1)
        write_atomically(self._path, text + "\n", inside=self._folder)


class _Courier:
    """A Listener that passes events on to one tracker, in a thread: a slow one holds up no run.

    An error that stops it becomes a notice in ``log``, once.
    """

    def __init__(self, name: str, run: TrackedRun, log: EventLog) -> None:
        self._name = name
        self._run = run
        self._log = log
        self._problem = ""
        self._warned = False
        self._files: Sequence[Path] = ()
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name=f"tracker {name}", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        """Hand over one event; return at once."""
        self._events.put(event)
        self._warn()

    def close(self, files: Sequence[Path]) -> None:
        """Hand over the files of a run that has ended, and wait for the tracker, not for ever."""
        self._files = files
        self._events.put(None)
        self._thread.join(_PATIENCE)
        if self._thread.is_alive():
            self._problem = f"it was not done {_PATIENCE:.0f} s after the run and is left behind"
        self._warn()

    def _work(self) -> None:
        try:
            memory, feed = _Memory(self._run.folder, self._name), Feed()
            service = SERVICES[self._name](self._run, memory.id)
            memory.add()
            while (event := self._events.get()) is not None:
                for delivery in feed.apply(event):
                    if delivery.key not in memory.keys:
                        service.track(delivery)
                        memory.add(delivery.key)
            for path in self._files:
                service.file(path)
            service.finish(feed.status, feed.summary)
        except Exception as error:  # no error of a tracker is a reason to lose a run
            self._problem = one_line(error)

    def _warn(self) -> None:
        if self._problem and not self._warned:
            self._warned = True
            text = f"tracking by {self._name} has stopped, the run goes on without: {self._problem}"
            self._log.emit("notice", text=text)
