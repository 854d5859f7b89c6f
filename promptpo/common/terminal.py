"""The one way by which words reach a terminal, a pipe or a log."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from promptpo.common.plaintext import clean
from promptpo.common.streams import output


def say(words: object = "", file: TextIO | None = None) -> None:
    """Print without control characters, at once; ``file`` is standard output where not given.

    An OSError names the stream.
    """
    stream = file or output()
    with named(stream):
        print(clean(str(words)), file=stream, flush=True)


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
