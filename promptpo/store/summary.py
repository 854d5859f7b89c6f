"""What lists show of a run, remembered beside it: a list of thousands reads no log twice.

``.summary.json`` in the run's folder names the sizes and times of the files that it was made of, so
that it cannot outlive a change of them. One that is damaged, or from elsewhere, is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from promptpo.common import text
from promptpo.errors import PromptPOError
from promptpo.llm.messages import BUILTIN
from promptpo.store.codec import decode, encode
from promptpo.store.folder import RunFolder
from promptpo.store.reading import LIVE, RunRecord, read_record, standing
from promptpo.store.shapes import fits, shape_of
from promptpo.types import Score
from promptpo.version import __version__

#: The file, what it depends on, and the bytes that it may have.
FILE = ".summary.json"
_SOURCES = ("events.jsonl", "run.json")
_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Line:
    """A run in the list of the terminal: what its ``run.json`` tells.

    ``problem`` is what could not be read of it.
    """

    status: str
    best: str
    score: str
    twin_of: str
    problem: str


@dataclass(frozen=True)
class Summary:
    """A run in a table of runs: what its log tells."""

    spec: str
    twin_of: str
    status: str
    method: str
    made_by: str
    score: Score
    source: str
    steps: int
    cost: float | None
    asks_model: bool

    @classmethod
    def of(cls, run: RunRecord) -> Summary:
        """That of a record."""
        trial, test = run.best_trial, run.held_out
        score = test.score if test else trial.score if trial else Score(failed=True)
        source = "held-out" if test else "search" if trial else ""
        return cls(
            run.spec, run.twin_of, run.status, run.method, run.made_by, score,
            source,
            run.usage.searched, run.usage.cost, run.asks_model,
        )  # fmt: skip


def line_of(folder: Path) -> Line:
    """How a run stands, in words. Raises RunError and FileError where that cannot be read."""
    return _remembered(RunFolder.open(folder), "line", Line, _line)


def summary_of(folder: Path) -> Summary:
    """The summary of a run. Raises RunError and FileError where it cannot be read."""
    return _remembered(
        RunFolder.open(folder), "summary", Summary, lambda run: Summary.of(read_record(run.path))
    )


def remember(folder: Path) -> None:
    """Write down both of a run that has just ended, if that can be done."""
    with contextlib.suppress(PromptPOError, OSError):
        line_of(folder)
        summary_of(folder)


def _line(run: RunFolder) -> Line:
    found = standing(run)
    info, test = found.info, found.test
    best = info.get("best") or {}
    if test is not None and not test.score.failed:
        words = [text.success_words(test), text.return_words(test)]
        score = f"held-out {next(w for w in words if w)}"
    else:
        score = f"search {text.score(best['search'])}" if best.get("search") else ""
    if info.get("facts") and info.get("config", {}).get("facts") is False:
        score += "  without facts"
    if info.get("config", {}).get("model") == BUILTIN:
        score += "  no language model"
    status = str(info.get("status", LIVE))
    if status == LIVE and not run.is_running:
        status = "killed"
    return Line(status, best.get("name", ""), score, str(info.get("twin_of", "")), found.problem)


R = TypeVar("R", Line, Summary)


def _remembered(run: RunFolder, name: str, kind: type[R], make: Callable[[RunFolder], R]) -> R:
    """What the file has under a name, or what is made now; of a run that goes on always that."""
    if run.is_running:
        return make(run)
    key = _key(run.path)
    known = _read(run.path, key)
    if fits(known.get(name), shape_of(kind)):
        return decode(kind, known[name])
    made = make(run)
    named = isinstance(made, Line) and made.problem  # a path, which may change
    if not named and not run.is_running and _key(run.path) == key:
        _write(run, {**known, "key": key, name: encode(made)})
    return made


def _key(folder: Path) -> list[Any]:
    """This version, and the size and the time of each file."""
    key: list[Any] = [__version__]
    for name in _SOURCES:
        try:
            found = (folder / name).stat()
        except OSError:
            key.append(None)
        else:
            key.append([found.st_size, found.st_mtime_ns])
    return key


def _read(folder: Path, key: list[Any]) -> Mapping[str, Any]:
    """What the file holds; empty where it is damaged, no file, or of other files."""
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(folder / FILE, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return {}
            data = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(data, dict) or data.get("key") != key:
        return {}
    return cast("dict[str, Any]", data)


def _write(run: RunFolder, data: Mapping[str, Any]) -> None:
    """Keep it, where the folder may be written to."""
    with contextlib.suppress(OSError, ValueError):
        if run.path.stat().st_mode & 0o222:
            run.write(run.path / FILE, json.dumps(data, allow_nan=True) + "\n")
