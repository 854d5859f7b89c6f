"""Keeps what is not promptpo's own off the standard output of a command, for as long as it lives.

A spec is imported where its text is needed. It may print then, in Python or in C, or later: from a
thread, or at exit.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from promptpo.common import streams
from promptpo.common.aside import Lines, Speaker, end_all, shown_by, speaker

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
    streams.open_all()
    pipe = _Foreign()
    _pipes.append(pipe)
    streams.keep_output(pipe.writer)
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
    """What is printed at exit has been printed; what comes after it goes nowhere."""
    pipe.drain()
    pipe.speaker.end()
    end_all()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, pipe.writer)
