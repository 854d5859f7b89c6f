"""Files: text that people write (UTF-8, not endless), and what is written whole or not at all."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import tokenize
from pathlib import Path

from promptpo.common.plaintext import clean

#: Bytes of a file that a person may have written.
MOST_BYTES = 4 << 20

_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}


class NotText(ValueError):
    """A file that is no UTF-8 text; the message names file, line and remedy."""


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """Return the text of a file, its line ends as newlines. Raises OSError or NotText."""
    return decoded(_read(path, most), path)


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise NotText(f"{path}: larger than {most >> 20} MiB; is this the right file?")
    return data


def read_source(path: Path) -> str:
    """Return the text of a Python file, in the coding that the file names.

    Raises OSError or NotText.
    """
    data = _read(path, MOST_BYTES)
    if data.startswith(tuple(_MARKS)):
        return decoded(data, path)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise NotText(f"{path}:{line}: a NUL byte; is this a text file, saved as UTF-8?")
    try:
        return decoded(data, path, tokenize.detect_encoding(io.BytesIO(data).readline)[0])
    except SyntaxError as e:
        if "utf-8" in str(e):
            return decoded(data, path)
        line = 1 + (b"coding" not in data.partition(b"\n")[0])
        raise NotText(f"{path}:{line}: {e.msg}; save it as UTF-8 and remove the line") from None


def other_encoding(data: bytes) -> str:
    """Return the encoding of a byte-order mark that is not UTF-8's; else an empty text."""
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")


def decoded(data: bytes, path: Path, coding: str = "utf-8") -> str:
    """Return the text of a file's bytes, its line ends as newlines. Raises NotText."""
    if name := other_encoding(data):
        raise NotText(f"{path}:1: the file is {name}; save it as UTF-8")
    unicode = coding.startswith("utf-8")
    try:
        text = data.decode("utf-8-sig" if unicode else coding)
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        wanted = (
            "UTF-8 (is the file Latin-1?)" if unicode else f"{coding}, which the file says it is"
        )
        problem = f"the byte 0x{data[e.start]:02x} is not {wanted}"
        raise NotText(f"{path}:{line}: {problem}; save it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_atomically(
    path: Path, content: str | bytes, *, sync: bool = False, inside: Path | None = None
) -> None:
    """Write a whole file or nothing: a temporary name beside it, then a rename.

    Text is written without control characters: people will ``cat`` it. ``sync``: the file is on
    the disk before it takes the place of another. Folders are made where they are missing, but for
    the one that it lies ``inside`` and those above that. An OSError names the file.
    """
    data = clean(content).encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _make_folder(path.parent, inside)
        with temporary.open("wb", buffering=0) as file:
            write_all(file.fileno(), data)
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as e:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise OSError(e.errno, e.strerror, str(path)) from None


def _make_folder(folder: Path, inside: Path | None) -> None:
    if inside is None:
        folder.mkdir(parents=True, exist_ok=True)
        return
    for name in reversed([folder, *folder.parents]):
        if name != inside and name.is_relative_to(inside):
            name.mkdir(exist_ok=True)


def fate(descriptor: int, path: Path) -> str:
    """Return "deleted" or "moved" for an open file that ``path`` no longer leads to; else ""."""
    mine = os.fstat(descriptor)
    try:
        if os.path.samestat(mine, path.stat()):
            return ""
    except (FileNotFoundError, NotADirectoryError):
        pass
    return "moved" if mine.st_nlink else "deleted"


def write_all(descriptor: int, data: bytes) -> None:
    """Write until all is written: a disk that is getting full takes a part at first."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
