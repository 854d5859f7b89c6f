"""Files that are whole or not there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from promptpo.plaintext import clean


def write_atomically(path: Path, content: str | bytes, *, sync: bool = False) -> None:
    """Write a whole file or nothing: a temporary name beside it, then a rename.

    Text is written without control characters: people will ``cat`` it. ``sync``: the file is on
    the disk before it takes the place of another. An OSError names the file.
    """
    data = clean(content).encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb", buffering=0) as file:
            write_all(file.fileno(), data)
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as e:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(e.errno, e.strerror, str(path)) from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write until all is written: a disk that is getting full takes a part at first."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
