"""Summaries of runs for lists, remembered beside each run: a list of thousands reads no log twice.

``.summary.json`` in the run's folder names the sizes and times of the files that it was made of, so
that it cannot outlive a change of them. One that is damaged, or of another version, is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.common import text
from promptpo.errors import PromptPOError
from promptpo.stats import ends
from promptpo.store.codec import decode, encode
from promptpo.store.folder import RunFolder
from promptpo.store.run import Run, load_run
from promptpo.types import Score
from promptpo.version import __version__

#: The file, what it depends on, and the bytes that it may have.
FILE = ".summary.json"
_SOURCES = ("events.jsonl", "run.json")

#: Raised where summaries have new fields.
FORMAT = 2

_MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class Summary:
    """A run in a list of runs.

    ``source`` says which episodes ``score`` is of: "held-out", "search" or, where there is none,
    nothing; ``words`` are score and source as the terminal lists them. ``problem`` is a line on
    what cannot be read of the run. ``intervals`` are 95% ones of "success" and "return", (low,
    high).
    """

    status: str
    spec: str = ""
    twin_of: str = ""
    method: str = ""
    made_by: str = ""
    best: str = ""
    score: Score = field(default_factory=lambda: Score(failed=True))
    source: str = ""
    words: str = ""
    steps: int = 0
    cost: float | None = None
    asks_model: bool = False
    problem: str = ""
    name: str = ""
    model: str = ""
    seed: int | None = None
    calls: int = 0
    intervals: dict[str, tuple[float, float] | None] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> Summary:
        """Return the summary of a run."""
        trial, test, played = run.best_trial, run.test, run.evidence
        score = played.score if played else trial.score if trial else Score(failed=True)
        stream = played.stream if played else "search" if trial else ""
        source = "held-out" if stream == "test" else stream
        if test is not None and not test.score.failed:
            score_words = (
                text.success_words(test),
                text.tenth_words(test),
                text.return_words(test),
            )
            words = [f"held-out {next(filter(None, score_words))}"]
        else:
            best = run.best_score if test or not played else score
            of = "search" if test else source
            words = [f"{of} {best}"] if best is not None and not best.failed else []
        words += ["without facts"] * run.facts_withheld + ["no language model"] * run.synthesized
        return cls(
            status=run.status,
            spec=run.spec,
            twin_of=run.twin_of,
            method=run.method,
            made_by=run.made_by,
            best=run.best_name or "",
            score=score,
            source=source,
            words="  ".join(filter(None, [run.label, *words])),
            name=run.name,
            steps=run.usage.searched,
            cost=run.usage.cost,
            asks_model=run.asks_model,
            problem="; ".join(run.unread),
            model=run.model,
            seed=run.settings.get("seed"),
            calls=run.usage.calls,
            intervals={
                "success": ends(played.success_interval if played else None),
                "return": ends(played.return_interval if played else None),
            },
        )


def summary_of(folder: Path) -> Summary:
    """Return the summary of a run: what the file has, or, of a run that goes on, a new one.

    Raises RunError and FileError where the run cannot be read.
    """
    run = RunFolder.open(folder)
    if run.is_running:
        return Summary.of(load_run(folder))
    key = _key(folder)
    with contextlib.suppress(OSError, ValueError, RecursionError):
        data = _read(folder)
        if isinstance(data, dict) and data.get("key") == key:
            return decode(Summary, data["summary"])
    summary = Summary.of(load_run(folder))
    # A problem names a path, which may change.
    if not summary.problem and not run.is_running and _key(folder) == key:
        data = {"key": key, "summary": encode(summary)}
        with contextlib.suppress(OSError, ValueError):
            if folder.stat().st_mode & 0o222:
                run.write(folder / FILE, json.dumps(data, allow_nan=True) + "\n")
    return summary


def remember(folder: Path) -> None:
    """Write the summary of a run that has just ended, where that can be done."""
    with contextlib.suppress(PromptPOError, OSError):
        summary_of(folder)


def _key(folder: Path) -> list[Any]:
    """Return this version, the format, and the size and the time of each file."""
    key: list[Any] = [__version__, FORMAT]
    for name in _SOURCES:
        try:
            status = (folder / name).stat()
        except OSError:
            key.append(None)
        else:
            key.append([status.st_size, status.st_mtime_ns])
    return key


def _read(folder: Path) -> Any:  # noqa: ANN401 - JSON of any kind
    """Return the content of the file. Raises OSError and ValueError where there is none."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(folder / FILE, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("no file")
        return json.loads(file.read(_MOST_BYTES))
