"""Files beside a module that its text names: what it opens by its own place.

They are found by looking, for nothing is run: a text in the module that is the name of a file there
is such a file. A file that is found may name others, as a MuJoCo model its meshes.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

#: What tells that a module looks for files by its own place.
_OWN_PLACE = re.compile(r"__file__|__path__|\bresources\b|\bget_data\b")

#: What tells that it takes all files of a folder.
_LISTING = re.compile(r"\b(?:iterdir|listdir|scandir|walk|glob|rglob|iglob)\(")

#: Files that may name others, if they are not larger.
_TEXTS = (".xml", ".mjcf", ".urdf", ".sdf", ".json", ".toml", ".yaml", ".yml")
_MOST_TEXT = 1 << 20


def named_files(module: Path, text: str, root: Path) -> Iterator[Path]:
    """The files under ``root`` that a module names; one that is a folder's may come twice."""
    if not _OWN_PLACE.search(text):
        return
    above = [p for p in module.parents if p.is_relative_to(root)]
    words = list(_words(text))
    for word in words:
        if re.fullmatch(r"\.\w{1,9}", word) and module.with_suffix(word).is_file():
            yield module.with_suffix(word)
    yield from _closure(above, words, root, whole=bool(_LISTING.search(text)))


def _closure(folders: list[Path], words: list[str], root: Path, *, whole: bool) -> Iterator[Path]:
    """What the words name in the folders, in folders that they name, and in the files found."""
    seen: set[Path] = set()
    todo = list(folders)
    while todo:
        folder = todo.pop()
        for word in words:
            for path in _named(folder, word):
                if path in seen or not path.is_relative_to(root):
                    continue
                seen.add(path)
                if path.is_dir():
                    todo.append(path)
                    if whole:
                        yield from _all_files(path)
                elif path.is_file():
                    yield path
                    inner = _words_of_file(path)
                    if inner:
                        yield from _closure([path.parent], inner, root, whole=False)


def _named(folder: Path, word: str) -> Iterator[Path]:
    """The files and folders that a word, which may be a pattern, names in a folder."""
    try:
        if "*" not in word:
            path = Path(os.path.normpath(folder / word))
            if path != folder and path.exists() and not folder.is_relative_to(path):
                yield path
        elif "**" not in word and re.search(r"\.\w+$", word):
            yield from (path for path in sorted(folder.glob(word)) if path.is_file())
    except (OSError, ValueError, NotImplementedError):  # a name that no file can have
        return


def _all_files(folder: Path) -> Iterator[Path]:
    """The files below a folder."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (Path(place, name) for name in sorted(names))


def _words(text: str) -> Iterator[str]:
    """The texts in a module that may be names of files; what is filled in is a ``*``."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        word = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "*") for part in node.values)
            word = "".join(part if isinstance(part, str) else "*" for part in parts)
        if _is_name(word):
            yield word


def _words_of_file(path: Path) -> list[str]:
    """The quoted texts in a data file that may be names of files."""
    try:
        if path.suffix.lower() not in _TEXTS or path.stat().st_size > _MOST_TEXT:
            return []
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    quoted = re.findall(r'"([^"\n]{1,200})"|\'([^\'\n]{1,200})\'', text)
    return sorted({a or b for a, b in quoted if _is_name(a or b) and "*" not in a + b})


def _is_name(word: str) -> bool:
    return bool(word.strip("./*")) and len(word) <= 200 and not re.search(r"[\n\0]|^[/~]", word)
