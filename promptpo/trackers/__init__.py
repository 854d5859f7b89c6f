"""Trackers: TensorBoard, Weights & Biases and MLflow, told of a run while it goes on.

A tracker is one more listener of a run's events. It is off unless ``--track`` names it, and what
goes wrong with it is one warning. docs/trackers.md tells users what they find where.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo.errors import UsageError
from promptpo.store.events import EventLog
from promptpo.trackers.base import Delivery, End, Start, Tracker
from promptpo.trackers.courier import Courier, Memory
from promptpo.trackers.feed import Feed
from promptpo.types import Event, Listener

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
    names: Sequence[str], folder: Path, run: Mapping[str, Any], log: EventLog
) -> Iterator[list[Listener]]:
    """Listeners that tell these trackers of the run in ``folder``, ended on leaving.

    ``run`` is the data of the run's first event. What goes wrong becomes a notice in ``log``.
    """
    if not names:
        yield []
        return
    start = _start(folder, run)
    following = Following([Courier(name, _class(name)(), start) for name in names], log)
    try:
        yield [following]
    finally:
        following.close(_left(folder))


def send(names: Sequence[str], folder: Path, run: Mapping[str, Any], files: Sequence[Path]) -> None:
    """Add files, such as videos, to the trackers of a run that is over.

    Raises UsageError where a package is missing, and whatever a tracker raises.
    """
    check_ready(names)
    for name in names:
        tracker: Tracker = _class(name)()
        memory = Memory(folder, name)
        start = _start(folder, run, memory.id)
        tracker.start(start)
        memory.add()
        for path in files:
            tracker.file(path)
        tracker.finish(End())


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


def _start(folder: Path, run: Mapping[str, Any], id_: str = "") -> Start:
    spec = run["spec"]["name"]
    versions = {f"version/{name}": text for name, text in run.get("versions", {}).items()}
    settings = {**run["config"], "model": run["model"], **versions}
    # A file's path tells a group of runs less than the task's name does.
    settings["spec"] = spec
    return Start(folder, id_, f"{spec}/{folder.name}", spec, settings)


def _left(folder: Path) -> list[Path]:
    return [path for pattern in _LEFT for path in sorted(folder.glob(pattern))]
