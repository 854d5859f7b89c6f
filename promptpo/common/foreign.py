"""Output of code that is not promptpo's own: clean, bounded, on standard error.

Standard output is for what a command is there to tell. A spec is imported where its text is needed.
It may print then, in Python or in C, or later: from a thread, or at exit. So what it prints comes
through pipes.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import PurePath

from promptpo.common import terminal
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say

#: Lines of one speaker that are shown, and characters of a line.
LINES, WIDTH = 20, 400

#: Bytes of a line that are kept until it ends.
_KEPT = 4 * WIDTH

_ENDS = re.compile(rb"[\r\n]+")

#: What shows a line where standard error is not to be written, the latest last.
_shows: list[Callable[[str], None]] = []


def aside(line: str) -> None:
    """Show a line on standard error, or above the picture that is kept on the terminal."""
    line = clean_line(line)
    for show in _shows[-1:]:
        show(line)
        return
    with contextlib.suppress(OSError, ValueError):
        say(line, sys.stderr)


@contextlib.contextmanager
def shown_by(show: Callable[[str], None]) -> Iterator[None]:
    """Give the lines to ``show`` meanwhile, in any thread."""
    _shows.append(show)
    try:
        yield
    finally:
        _shows.remove(show)


class Speaker:
    """A source of printed lines: a spec, by its name. Any thread may use it; see ``speaker``.

    The first LINES lines are shown, each once; the rest is counted.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._shown: set[str] = set()
        self._more = 0

    @property
    def full(self) -> bool:
        """True where nothing more is shown."""
        return len(self._shown) >= LINES

    def hear(self, line: str) -> None:
        """Show a line, or count it."""
        line = clean_line(line).rstrip()
        if not line.strip():
            return
        line = line if len(line) <= WIDTH else f"{line[:WIDTH]} ..."
        with self._lock:
            if self.full or line in self._shown:
                self._more += 1
                return
            self._shown.add(line)
        self._say(line)

    def count(self, lines: int) -> None:
        """Count lines that nobody looks at."""
        with self._lock:
            self._more += lines

    def end(self) -> None:
        """Say how many lines were left out; what is heard after that is shown anew."""
        with self._lock:
            more, self._more = self._more, 0
            self._shown.clear()
        if more:
            self._say(f"... and {more:,} more line{'s' * (more > 1)}")

    def _say(self, line: str) -> None:
        aside(f"{self.name}: {line}" if self.name else line)


_speakers: dict[str, Speaker] = {}


def speaker(ref: str) -> Speaker:
    """Return the one speaker of a spec, whichever processes print; a file goes by its name."""
    name = PurePath(ref).stem if ref.endswith(".py") else ref
    return _speakers.setdefault(name, Speaker(name))


def end_all() -> None:
    """Say of every speaker what was left out."""
    for each in list(_speakers.values()):
        each.end()


class Lines:
    """Cuts what a pipe gives into lines for a speaker; keeps little, however long a line is."""

    def __init__(self) -> None:
        self._begun = b""

    def feed(self, data: bytes, speaker: Speaker) -> None:
        """Take in what came."""
        if speaker.full:
            ends = data.count(b"\n") or data.count(b"\r")
            speaker.count(ends)
            if ends:
                self._begun = b""
            return
        *whole, rest = _ENDS.split(data)
        for line in whole:
            speaker.hear(_text(self._begun + line[:_KEPT]))
            self._begun = b""
        self._begun = (self._begun + rest[:_KEPT])[:_KEPT]

    def end(self, speaker: Speaker) -> None:
        """Nothing more comes: what is left is a line."""
        begun, self._begun = self._begun, b""
        speaker.hear(_text(begun))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


#: Ends what has been printed so far: nobody prints this.
_MARK = b"\0promptpo\0\n"

#: Seconds for which what has been printed is waited for, at the most.
_PATIENCE = 2.0


class _Foreign:
    """A pipe of this process, and the thread that reads it."""

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self.speaker = Speaker("")
        self.diverting = threading.Lock()
        self._met = threading.Event()
        threading.Thread(target=self._read, args=(reader,), daemon=True).start()

    def _read(self, reader: int) -> None:
        lines, tail = Lines(), b""
        while data := os.read(reader, 1 << 16):
            # A mark may come in two parts.
            *parts, tail = (tail + data).split(_MARK)
            for part in parts:
                lines.feed(part, self.speaker)
                lines.end(self.speaker)
                self._met.set()
            keep = next((n for n in range(len(_MARK), 0, -1) if tail.endswith(_MARK[:n])), 0)
            lines.feed(tail[: len(tail) - keep], self.speaker)
            tail = tail[len(tail) - keep :]

    def drain(self) -> None:
        """Wait until what has been printed is shown."""
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
        self._met.clear()
        os.write(self.writer, _MARK)
        self._met.wait(_PATIENCE)


#: That of this process, where it is a command.
_pipes: list[_Foreign] = []


def keep_output() -> None:
    """Keep standard output for what this command says, until the process ends."""
    if _pipes:
        return
    terminal.open_all()
    pipe = _Foreign()
    _pipes.append(pipe)
    terminal.keep_output(pipe.writer)
    atexit.register(_end, pipe)


@contextlib.contextmanager
def foreign(ref: str) -> Iterator[None]:
    """Code of a spec is run in this process meanwhile: its standard error, too, is cleaned.

    Does nothing where standard output is not kept: then this process is not promptpo's.
    """
    pipe = next(iter(_pipes), None)
    if pipe is None or not pipe.diverting.acquire(blocking=False):
        yield
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    real, before, pipe.speaker = os.dup(2), pipe.speaker, speaker(ref)
    os.dup2(pipe.writer, 2)
    try:
        with shown_by(lambda line: _write(real, line)):
            try:
                yield
            finally:
                with contextlib.suppress(OSError, ValueError):
                    sys.stderr.flush()
                pipe.drain()
    finally:
        os.dup2(pipe.writer, 1)  # it may have been closed
        os.dup2(real, 2)
        os.close(real)
        pipe.speaker = before
        pipe.diverting.release()


def _write(descriptor: int, line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(descriptor, f"{line}\n".encode(errors="replace"))


def _end(pipe: _Foreign) -> None:
    """Show what has been printed at exit, and discard all that follows."""
    pipe.drain()
    pipe.speaker.end()
    end_all()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, pipe.writer)
