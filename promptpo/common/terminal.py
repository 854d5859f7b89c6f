"""Standard input, output and error, and the one way by which words reach them.

They may be closed, full, or with nobody at the other end.
"""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO, cast

from promptpo.common.plaintext import clean, clean_line
from promptpo.common.text import duration

#: Characters that the last column of a table has, or it stands below the others.
_LEAST = 40

#: Exit code where the reader of the output has gone (128 + SIGPIPE), as other tools have it.
EXIT_PIPE = 141


def open_all() -> None:
    """Give a stream that was closed (``>&-``) something to stand for it.

    Otherwise the next file that is opened, the log of a run for example, would take its number,
    and whatever any library prints would go there. Standard output is opened such that writing
    fails, as it does where it is closed: a command that is there to print says so.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free: this one
            os.set_inheritable(descriptor, True)
    if sys.stdin is None:
        sys.stdin = _text(0, "r")
    if sys.stdout is None:
        sys.stdout = _text(1, "w")
    if sys.stderr is None:
        sys.stderr = _text(2, "w")


#: Standard output, where it is kept for promptpo alone.
_own: list[TextIO] = []


def output() -> TextIO:
    """Return the stream of a command's own output: standard output."""
    return _own[0] if _own else sys.stdout


def keep_output(other: int) -> None:
    """Keep standard output for those who ask for ``output``, as long as this process lives.

    Whatever else is written there, by Python or C, goes to the descriptor ``other``. Child
    processes have that as their standard output, too.
    """
    encoding = sys.stdout.encoding
    own = os.fdopen(os.dup(1), "w", 1, encoding=encoding, errors="replace")
    _own[:] = [cast("TextIO", own)]
    os.dup2(other, 1)
    # By its own descriptor, as descriptor 1 may be closed by somebody.
    module: Any = sys
    module.stdout = module.__stdout__ = _text(other, "w", buffering=1)


def print_to(descriptor: int) -> None:
    """Let standard output and standard error go to a descriptor, what C prints there, too."""
    for number in (1, 2):
        os.dup2(descriptor, number)
    # By a descriptor of their own, as 1 and 2 may be closed by somebody.
    module: Any = sys
    module.stdout = module.__stdout__ = _text(descriptor, "w", buffering=1)
    module.stderr = module.__stderr__ = _text(descriptor, "w", buffering=1)


def _text(descriptor: int, mode: str, buffering: int = -1) -> TextIO:
    stream = os.fdopen(
        descriptor, mode, buffering, encoding="utf-8", errors="replace", closefd=False
    )
    return cast("TextIO", stream)


def silence(stream: TextIO) -> None:
    """Let all further output of a stream that cannot be written go nowhere, at exit too."""
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)
        stream.flush()


def reader_gone() -> int:
    """Return the exit code where the reader (`| head`) has gone, and silence Python about it."""
    silence(output())
    return EXIT_PIPE


class Steady:
    """A stream for the view of a run, which goes on where nothing can be written any more.

    ``problem`` is what ended the writing. All else is as of the stream itself.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.problem: OSError | ValueError | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an attribute of the stream
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, unless that has failed before."""
        self._try(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Flush, unless writing has failed before."""
        self._try(self._stream.flush)

    def _try(self, act: Callable[[], object]) -> None:
        if self.problem is None:
            try:
                act()
            except (OSError, ValueError) as e:  # ValueError: closed
                self.problem = e
                silence(self._stream)


def is_drawn_on(stream: TextIO) -> bool:
    """Return whether a stream is a terminal on which lines can be drawn anew."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Status:
    """A line on standard output that says what a command is doing while it prints nothing else.

    On a terminal it is a line at the cursor, drawn anew twice a second and erased before anything
    else is printed. Elsewhere there is a line of it, where a command has asked for ``lines``, each
    time that nothing was printed for ten seconds.
    """

    #: Seconds between two drawings, and of silence before a line.
    pause, silence = 0.5, 10.0

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._words: Callable[[], str] = str
        self._lines = self._drawn = False
        self._last = self._began = 0.0
        self._thread: threading.Thread | None = None

    def show(self, words: str | Callable[[], str], *, lines: bool = False) -> None:
        """Show words from now on; what is called for them says itself for how long."""
        with self._lock:
            self._began = self._last = time.monotonic()
            self._words = self._timed(words) if isinstance(words, str) else words
            self._lines = self._lines or lines
            if is_drawn_on(output()):
                self._draw()
            if (is_drawn_on(output()) or self._lines) and self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Show nothing any more."""
        with self.erased():
            self._words, self._lines = str, False

    @contextlib.contextmanager
    def erased(self) -> Iterator[None]:
        """Take the line away while something else is printed."""
        with self._lock:
            if self._drawn:
                self._drawn = False
                self._write("\r\x1b[K")
            yield
            self._last = time.monotonic()

    def _timed(self, words: str) -> Callable[[], str]:
        began = self._began
        return lambda: f"{words}, {duration(time.monotonic() - began)}"

    def _run(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody is there to read it
            while True:
                time.sleep(self.pause)
                with self._lock:
                    if is_drawn_on(output()):
                        self._draw()
                    elif self._lines and time.monotonic() - self._last >= self.silence:
                        self._last = time.monotonic()
                        if words := clean_line(self._words()):
                            self._write(words + "\n")

    def _draw(self) -> None:
        if words := clean_line(self._words()):
            self._drawn = True
            self._write(f"\r{words[: columns() - 1]}\x1b[K")

    def _write(self, text: str) -> None:
        output().write(text)
        output().flush()


STATUS = Status()


def say(words: object = "", file: TextIO | None = None) -> None:
    """Print without control characters, at once; ``file`` is standard output where not given.

    An OSError names the stream.
    """
    stream = file or output()
    with named(stream), STATUS.erased():
        print(clean(str(words)), file=stream, flush=True)


def print_rows(rows: Iterable[tuple[str, str]], file: TextIO | None = None) -> None:
    """Print labels and words, a line each; those without words are left out."""
    for label, words in rows:
        if words:
            say(f"{label:11}  {words}", file)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, cut: bool = False) -> None:
    """Print aligned columns within the width of standard output.

    What is too long in the last column goes on below it, or with ``cut`` is left out; where that
    column has little room, it stands on lines of its own.
    """
    lines = [header, *([clean_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    most = columns()
    place = sum(widths[:-1]) + 2 * len(widths[:-1])
    below = place + min(widths[-1], _LEAST // (1 + cut)) > most
    for line in lines:
        cells = zip(line[:-1], widths, strict=False)
        head, last = "".join(f"{cell.ljust(width)}  " for cell, width in cells), line[-1]
        if cut:
            last = textwrap.shorten(last, max(most - (4 if below else place), 4), placeholder="...")
        texts = [head, f"    {last}"] if below else [head + last]
        for text in texts:
            indent = " " * (4 if below else place)
            wrapped = textwrap.wrap(
                text.rstrip(), max(most, 10), subsequent_indent=indent, break_on_hyphens=False
            )
            for part in wrapped:
                say(part)


def flush() -> None:
    """Write what standard output still holds back: what is wrong with it shows here, not later."""
    with named(output()):
        output().flush()


def columns(default: int = 80) -> int:
    """Return the width of standard output in characters."""
    with contextlib.suppress(ValueError, OSError):
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(output().fileno())[0]
    return default


@contextlib.contextmanager
def named(stream: TextIO) -> Iterator[None]:
    """Let an OSError of what is written within name the stream."""
    try:
        yield
    except OSError as e:
        name = "standard error" if stream is sys.stderr else "standard output"
        raise OSError(e.errno, e.strerror, name) from None
