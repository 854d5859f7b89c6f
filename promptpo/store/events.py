"""The event log of a run: ``events.jsonl``, append-only, one JSON object a line."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import msgspec

from promptpo.common.files import fate, write_all, write_atomically
from promptpo.errors import FileError, RunError, file_error
from promptpo.llm.recording import FORMAT
from promptpo.store.shapes import check_event

__all__ = ["FORMAT", "Event", "EventLog", "Listener", "all_of", "mend", "read_log"]

#: Kept free for replies while a run goes on: on a full disk, those under way still find room.
_RESERVE = 256 * 1024
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Event:
    """One line of ``events.jsonl``; ``time`` is seconds since the epoch.

    Events with ``transient`` set reach listeners only and are not written down.
    """

    type: str
    data: Mapping[str, Any] = field(default_factory=dict)
    time: float = 0.0
    transient: bool = False


class Listener(Protocol):
    """Receives every event of a run, in order, in the run's own thread."""

    def __call__(self, event: Event, /) -> None:
        """Take note of one event; must not block."""
        ...


def all_of(listeners: Sequence[Listener]) -> Listener | None:
    """Return one listener that calls all of them; None for none."""
    if not listeners:
        return None

    def tell(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return tell


@dataclass
class Contents:
    """The events of a log, and the lines that cannot be read.

    ``good`` and ``damaged`` are the lines that are events and the others, by their numbers from 1;
    ``defect`` says what is wrong with the first of the latter. ``cut`` is the part of the last line
    that a kill or a full disk left.
    """

    events: list[Event] = field(default_factory=list)
    good: dict[int, bytes] = field(default_factory=dict)
    damaged: dict[int, bytes] = field(default_factory=dict)
    defect: str = ""
    cut: bytes = b""

    def unbegun(self, log: Path) -> RunError:
        """Return the error of a log without the first event of a run, which nothing replaces."""
        holds = f"{len(self.events)} events, but not the first" if self.events else "nothing"
        return RunError(
            f"{log}: no run is recorded in it (it holds {holds}), and nothing can be resumed;"
            " delete the folder, and start a new run"
        )

    def words(self, name: str) -> str:
        """Return a notice of the lines that cannot be read; empty where there are none."""
        if not self.damaged:
            return ""
        numbers = [str(number) for number in self.damaged]
        if len(numbers) == 1:
            return f"line {numbers[0]} of {name} cannot be read ({self.defect})"
        if len(numbers) > 10:
            return (
                f"{len(numbers):,} lines of {name}, the first of them {numbers[0]}, cannot be read"
            )
        return f"lines {', '.join(numbers[:-1])} and {numbers[-1]} of {name} cannot be read"


def read_log(path: Path) -> Contents:
    """Read a log, which may be written to meanwhile.

    Raises FileError where it cannot be read, RunError where it is of another format.
    """
    try:
        *lines, last = path.read_bytes().split(b"\n")
    except OSError as e:
        raise file_error(e, path) from None
    contents = Contents()
    for number, line in enumerate([*lines, last], 1):
        try:
            data = _decoded(line)
            _check_format(path, data)
            check_event(data)
        except (ValueError, RecursionError) as e:
            if number > len(lines):
                return replace(contents, cut=last)
            if line.strip():
                defect = str(e) if isinstance(e, msgspec.ValidationError) else "not JSON"
                contents.defect = contents.defect or defect
                contents.damaged[number] = line
        else:
            contents.events.append(Event(data.pop("type"), data, data.pop("time", 0.0)))
            contents.good[number] = line
    return contents


def _decoded(line: bytes) -> Any:  # noqa: ANN401 - JSON of any kind
    try:
        return msgspec.json.decode(line)
    except ValueError:  # or numbers that are not finite, and lone surrogates
        return json.loads(line)


def _check_format(path: Path, data: object) -> None:
    """Raise RunError where a line is the first event of a run of another format."""
    if not isinstance(data, dict) or data.get("type") != "run":
        return
    number = data.get("format", 1)
    if isinstance(number, int) and number != FORMAT:
        raise RunError(
            f"{path}: written by another version of promptpo (format {number}, here {FORMAT});"
            " use that version, or start a new run"
        )


def mend(path: Path, contents: Contents) -> str:
    """Set lines that cannot be read aside, in ``events.jsonl.damaged``; return a notice, if any.

    The caller holds the run's lock. Killed at any moment, it can be done again.
    """
    if not (contents.damaged or contents.cut):
        return ""
    aside = path.with_name(path.name + ".damaged")
    try:
        before = aside.read_bytes() if aside.exists() else b""
        lines = [*contents.damaged.values(), *([contents.cut] if contents.cut else [])]
        new = [line + b"\n" for line in lines if line + b"\n" not in before]
        write_atomically(aside, before + b"".join(new), sync=True)
        if contents.damaged:
            write_atomically(
                path, b"".join(line + b"\n" for line in contents.good.values()), sync=True
            )
        else:
            os.truncate(path, path.stat().st_size - len(contents.cut))
    except OSError as e:
        raise file_error(e, aside) from None
    lines_lost = contents.words(path.name)
    half = f"the last event was half-written ({len(contents.cut)} bytes)" if contents.cut else ""
    what = "; ".join(filter(None, (lines_lost, half)))
    return f"{what}: set aside in {aside.name}; what is missing now is done again"


@dataclass
class EventLog:
    """Appends events to a file and hands them to listeners; the caller holds the run's lock.

    Each event is a whole line in a file opened for appending: a kill can cut at most the last one,
    and a write that fails part-way is taken back. Replies are also synced to disk, because they
    were paid for. What cannot be read of a log that is there is set aside (``notice`` says so).
    """

    path: Path
    listeners: list[Listener] = field(default_factory=list)
    past: Sequence[Event] = ()
    notice: str = ""

    def __post_init__(self) -> None:
        if self.path.exists():
            contents = read_log(self.path)
            self.past, self.notice = contents.events, mend(self.path, contents)
        self._file = -1
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            self._size = os.fstat(self._file).st_size
            self._torn = self._size > 0 and os.pread(self._file, 1, self._size - 1) != b"\n"
        except OSError as e:
            self.close()
            raise file_error(e, self.path) from None
        with contextlib.suppress(OSError, AttributeError):  # macOS has no posix_fallocate
            if shutil.disk_usage(self.path.parent).free > 4 * _RESERVE:
                with self._reserve.open("wb") as file:
                    os.posix_fallocate(file.fileno(), 0, _RESERVE)

    @property
    def _reserve(self) -> Path:
        return self.path.with_name(".reserve")  # the folder of a new run is renamed meanwhile

    def emit(self, kind: str, /, *, transient: bool = False, **data: Any) -> Event:  # noqa: ANN401
        """Record an event, unless it is ``transient``, and hand it to every listener.

        Raises FileError where it cannot be recorded; then no listener gets it.
        """
        if not transient:
            self.check_kept()
        event = Event(kind, data, time.time(), transient)
        if not transient:
            line = json.dumps({"type": kind, "time": event.time, **data}, allow_nan=True)
            try:
                self._append(line.encode() + b"\n", precious=kind == "reply")
            except OSError as e:
                raise file_error(e, self.path) from None
        for listener in self.listeners:
            listener(event)
        return event

    @property
    def lost(self) -> str:
        """The reason why nothing more is kept; empty while the file is in its place."""
        what = fate(self._file, self.path) if self._file >= 0 else ""
        if not what:
            return ""
        remedy = {
            "deleted": "start a new run",
            "moved": "go on with --resume and the folder where it is now, or start a new run",
        }
        return (
            f"{self.path}: {what} while the run went on, which ends, because nothing more would be"
            f" kept; {remedy[what]}"
        )

    def check_kept(self) -> None:
        """Raise FileError where the file has been deleted, moved or replaced."""
        try:
            if why := self.lost:
                raise FileError(why)
        except OSError as e:
            raise file_error(e, self.path) from None

    def _append(self, line: bytes, *, precious: bool) -> None:
        try:
            self._write(line)
        except OSError as e:
            if not (precious and e.errno in _FULL and self._give_up_reserve()):
                raise
            self._write(line)
        if precious:
            os.fsync(self._file)

    def _write(self, line: bytes) -> None:
        whole = b"\n" * self._torn + line
        try:
            write_all(self._file, whole)
        except OSError:
            self._take_back()
            raise
        self._size += len(whole)
        self._torn = False

    def _give_up_reserve(self) -> bool:
        try:
            self._reserve.unlink()
        except OSError:
            return False
        return True

    def _take_back(self) -> None:
        """Leave no part of a line; where even that fails, the next one starts on its own."""
        try:
            os.ftruncate(self._file, self._size)
        except OSError:
            self._torn = True
            self._size = os.fstat(self._file).st_size

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return self._file >= 0

    def close(self) -> None:
        """Close the file; calling it twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self._give_up_reserve()
