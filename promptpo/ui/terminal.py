"""The one way by which words reach a terminal, a pipe or a log."""

from __future__ import annotations

import sys
from typing import TextIO

from promptpo.plaintext import clean


def say(words: object = "", file: TextIO | None = None) -> None:
    """Print without control characters, at once; ``file`` is standard output where not given."""
    print(clean(str(words)), file=file or sys.stdout, flush=True)
