"""Trackers: TensorBoard, Weights & Biases and MLflow, told of a run while it goes on.

A tracker is one more listener of a run's events. It is off unless ``--track`` names it, and what
goes wrong with it is one warning. docs/trackers.md tells users what they find where.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from promptpo.common.values import listed
from promptpo.config import RunConfig, flat
from promptpo.errors import UsageError
from promptpo.spec.calls import one_line
from promptpo.store.events import Event, EventLog, Listener
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run
from promptpo.trackers.base import Delivery, End, Start, Tracker
from promptpo.trackers.courier import Courier, Memory
from promptpo.trackers.feed import Feed

__all__ = ["TRACKERS", "Delivery", "End", "Start", "Tracker", "check_ready", "send", "tracking"]


@dataclass(frozen=True)
class Kind:
    """A tracker by name: its class, and the package that it needs; the extra has its name."""

    module: str
    cls: str
    package: str


TRACKERS = {
    "tensorboard": Kind("tensorboard", "TensorBoard", "tensorboardX"),
    "wandb": Kind("wandb", "WeightsAndBiases", "wandb"),
    "mlflow": Kind("mlflow", "MLflow", "mlflow"),
}

#: What a run leaves for trackers to take at its end, relative to its folder.
_LEFT = ("best/policy.py", "report.html", "videos/*.mp4", "videos/*.gif")


def check_ready(names: Sequence[str]) -> None:
    """Raise UsageError, in one line, where a tracker's package or key is missing."""
    for name in names:
        if importlib.util.find_spec(TRACKERS[name].package) is None:
            raise UsageError(
                f"--track {name}: the package '{TRACKERS[name].package}' is not installed;"
                f" run: pip install 'promptpo[{name}]'"
            )
        check = getattr(_class(name), "check", None)
        if check is not None:
            check()


@contextlib.contextmanager
def tracking(
    config: RunConfig, folder: Path, run: Mapping[str, Any], log: EventLog
) -> Iterator[list[Listener]]:
    """Listeners that tell the run's trackers of it, ended on leaving.

    ``run`` is the data of the run's first event. What goes wrong becomes a notice in ``log``.
    """
    if not config.trackers:
        yield []
        return
    start = _start(folder, run, flat(config.as_dict()))
    following = Following([Courier(n, _class(n)(), start) for n in config.trackers], log)
    try:
        yield [following]
    finally:
        following.close([file for pattern in _LEFT for file in sorted(folder.glob(pattern))])


def send(folder: RunFolder, files: Sequence[Path]) -> list[str]:
    """Add files, such as videos, to the trackers of a run that is over.

    A run that is going on takes what lies in its folder itself when it ends. Returns a line for
    each tracker that did not take the files. Raises RunError where the run's log cannot be read.
    """
    if folder.is_running:
        return []
    record = load_run(folder.path)
    end, start = End(record.status), _start(folder.path, record.header, record.settings)
    problems = []
    for name in dict.fromkeys(listed(str(record.settings.get("track") or ""))):
        try:
            check_ready([name])
            _send(name, start, files, end)
        except Exception as error:  # one tracker's trouble is not the other's
            problems.append(f"{name} did not take the files: {one_line(error)}")
    return problems


def _send(name: str, start: Start, files: Sequence[Path], end: End) -> None:
    memory = Memory(start.folder, name)
    tracker: Tracker = _class(name)()
    tracker.start(replace(start, id=memory.id))
    memory.add()
    for path in files:
        tracker.file(path)
    tracker.finish(end)


class Following:
    """A Listener that turns events into deliveries for couriers."""

    def __init__(self, couriers: Sequence[Courier], log: EventLog) -> None:
        self._couriers = list(couriers)
        self._log = log
        self._feed = Feed()
        self._warned: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Pass on what an event brings."""
        for delivery in self._feed.apply(event):
            for courier in self._couriers:
                courier.put(delivery)
        self._warn()

    def close(self, files: Sequence[Path]) -> None:
        """End every tracker."""
        for courier in self._couriers:
            courier.close(End(self._feed.status, self._feed.summary, tuple(files)))
        self._warn()

    def _warn(self) -> None:
        """Say once of each tracker that fails that it does; the run goes on."""
        for courier in self._couriers:
            if courier.problem and courier.name not in self._warned:
                self._warned.add(courier.name)
                text = f"tracking by {courier.name} has stopped, the run goes on without:"
                self._log.emit("notice", text=f"{text} {courier.problem}")


def _class(name: str) -> Any:  # noqa: ANN401 - a class of the Tracker protocol
    kind = TRACKERS[name]
    return getattr(importlib.import_module(f"promptpo.trackers.{kind.module}"), kind.cls)


def _start(folder: Path, run: Mapping[str, Any], settings: Mapping[str, Any]) -> Start:
    """What trackers learn first, but for the id, which each keeps in its memory."""
    spec = run["spec"]["name"]
    versions = {f"version/{name}": text for name, text in run.get("versions", {}).items()}
    # A file's path tells a group of runs less than the task's name does.
    about = {**settings, "spec": spec, **versions}
    return Start(folder, "", f"{spec}/{folder.name}", spec, about)
