"""Reads a run's folder; nothing is written, and a run that is going on may be read at any time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from promptpo.errors import RunError
from promptpo.store.codec import decode, encode, score_data
from promptpo.store.evals import kept
from promptpo.store.events import read_log
from promptpo.store.folder import RunFolder
from promptpo.store.record import Record
from promptpo.types import Rollout

#: The status of a run that is going on; "killed" is one that nothing is carrying on.
LIVE = "running"


class RunRecord(Record):
    """A run as its folder tells it.

    Attributes:
        folder: where it lies, resolved.
        info: ``run.json``, or where it is missing or cannot be read, what the log tells.
        unread: what cannot be read of its files and is left out here, a line each.
        evaluations: what ``promptpo eval --keep`` found since, the oldest first.
        running: whether a process is carrying it on.
    """

    def __init__(self, folder: RunFolder) -> None:
        super().__init__()
        contents = read_log(folder.events)
        for event in contents.events:
            self.apply(event)
        self.folder = folder.path.resolve()
        self.running = folder.is_running
        self.info: Mapping[str, Any] = {}
        problems = [contents.words(folder.events.name)]
        try:
            self.info = folder.read_info()
        except RunError as e:
            problems.append(f"{e}; this is from the log")
        if not self.run:
            self._take_first_event()
        self.info = self.info or info_of(self)
        remedy = f"`promptpo --resume {folder.path}` sets it aside and does again what is lost"
        self.evaluations, damaged = kept(self.folder)
        self.unread = (*(f"{words}; {remedy}" for words in problems if words), *damaged)

    def _take_first_event(self) -> None:
        """What ``run.json`` has of the first event, which is lost."""
        info = self.info
        if not info.get("config"):
            return
        about = {name: info.get(name) for name in ("config", "model", "versions", "isolation")}
        spec = {"name": info.get("spec", ""), "title": info.get("title", ""), "sha": ""}
        spec["twin_of"] = info.get("twin_of", "")
        known = {"references": info.get("references") or {}, "facts": info.get("facts", False)}
        self.run = {**about, "spec": {**spec, **known}}
        self.configs = self.configs or [info["config"]]

    @property
    def spec(self) -> str:
        """Name of the task."""
        return super().spec or self.folder.parent.name

    @property
    def status(self) -> str:
        """How the run stands; "killed" is one that has not ended and that nothing carries on."""
        told = str(self.info.get("status") or (self.finished or {}).get("status") or LIVE)
        return "killed" if told == LIVE and not self.running else told

    @property
    def reason(self) -> str:
        """Why it ended, in a phrase; empty where it has not."""
        return str(self.info.get("reason") or (self.finished or {}).get("reason") or "")

    @property
    def elapsed(self) -> float:
        """Seconds that the run took, for one that goes on up to now."""
        if self.status == LIVE:
            return max(self.seconds, time.time() - self.latest + self.seconds)
        return float(self.info["seconds"]) if self.info.get("ended") else self.seconds

    @property
    def videos(self) -> tuple[Path, ...]:
        """MP4 files that were made of it."""
        return tuple(sorted((self.folder / "videos").glob("*.mp4")))


def read_record(path: Path) -> RunRecord:
    """Everything that is known of the run in ``path``.

    Raises RunError where there is no run, or one of another format, FileError where its log cannot
    be read.
    """
    folder = RunFolder.open(path)
    record = RunRecord(folder)
    if not record.run:  # killed before its first line was whole
        raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
    return record


@dataclass(frozen=True)
class Standing:
    """``info``, as ``run.json`` has it, and ``problem``, one line on what could not be read."""

    info: Mapping[str, Any]
    problem: str = ""

    @property
    def test(self) -> Rollout | None:
        """The best policy's held-out episodes."""
        return decode(Rollout, self.info["test"]) if self.info.get("test") else None


def standing(folder: RunFolder) -> Standing:
    """How a run stands, by its log only where ``run.json`` does not tell.

    Raises RunError or FileError where neither can be read.
    """
    problem = ""
    try:
        if info := folder.read_info():
            return Standing(info)
    except RunError as e:
        problem = f"{e}; this is from the log"
    return Standing(info_of(Record(read_log(folder.events).events)), problem)


def info_of(record: Record) -> dict[str, Any]:
    """What ``run.json`` would say, as far as the events tell."""
    finished, run = record.finished or {}, record.run
    info: dict[str, Any] = {
        **{name: value for name, value in run.items() if name != "spec"},
        "config": record.config,
        "spec": run.get("spec", {}).get("name", ""),
        "title": record.title,
        "twin_of": record.twin_of,
        "facts": bool(run.get("spec", {}).get("facts")),
        "references": run.get("spec", {}).get("references") or {},
        "status": finished.get("status", LIVE),
        "reason": finished.get("reason", ""),
        "seconds": round(record.seconds, 1),
    }
    score = record.best_score
    if record.best is not None and score is not None and not score.failed:
        info["best"] = {"name": record.best, "search": score_data(score)}
    if record.held_out is not None:
        info["test"] = encode(record.held_out)
    return info
