"""The one way by which words reach a terminal, a pipe or a log."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from promptpo.common.plaintext import clean, clean_line
from promptpo.common.streams import output


def say(words: object = "", file: TextIO | None = None) -> None:
    """Print without control characters, at once; ``file`` is standard output where not given.

    An OSError names the stream.
    """
    stream = file or output()
    with named(stream):
        print(clean(str(words)), file=stream, flush=True)


def print_rows(rows: Iterable[tuple[str, str]], file: TextIO | None = None) -> None:
    """Print labels and words, a line each; those without words are left out."""
    for label, words in rows:
        if words:
            say(f"{label:11}  {words}", file)


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns; the last one may be of any length."""
    lines = [header, *([clean_line(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        say("  ".join([*cells, line[-1]]).rstrip())


def flush() -> None:
    """Write what standard output still holds back: what is wrong with it shows here, not later."""
    with named(output()):
        output().flush()


def columns(default: int = 80) -> int:
    """How wide standard output is."""
    with contextlib.suppress(ValueError, OSError):
        return int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(output().fileno())[0]
    return default


@contextlib.contextmanager
def named(stream: TextIO) -> Iterator[None]:
    """Whatever is written to the stream within: an OSError names it."""
    try:
        yield
    except OSError as e:
        name = "standard error" if stream is sys.stderr else "standard output"
        raise OSError(e.errno, e.strerror, name) from None
