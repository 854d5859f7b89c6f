"""Files that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

from promptpo.plaintext import clean


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a whole file or nothing: a temporary name beside it, then a rename.

    Text is written without control characters: people will ``cat`` it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(clean(content).encode() if isinstance(content, str) else content)
    temporary.replace(path)
