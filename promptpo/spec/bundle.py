"""A spec with all of its own files: its module, its other modules, the files that they open.

Imports and names of files are read from the text, those inside functions too; nothing is run. What
is installed is not the spec's own, and neither is what merely lies beside it.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from promptpo.common.files import NotText, read_source
from promptpo.common.plaintext import clean_line
from promptpo.spec.catalog import Member, find, name_of
from promptpo.spec.importing import Bundle, Home, Manifest, digest, home_of, read_manifest
from promptpo.spec.validation import PUBLISHED

#: Bytes of all files together, and their number; a run keeps no more.
MOST_BYTES = 64 << 20
MOST_FILES = 1_000

#: The text of a package's ``__init__.py`` where it has none.
_NO_TEXT = b""


def bundle_of(ref: str, text: str | None = None) -> Bundle:
    """The spec that a reference names, with all of its own files.

    ``text`` is that of a family's member, which is else written again. Files that cannot be read,
    or are too large, are left out, and the manifest says so. Raises SpecError where there is no
    such spec.
    """
    found = find(ref.removesuffix(PUBLISHED))
    if isinstance(found, Member):
        entry, name = found.family.entry, name_of(found.ref)
        home = home_of(entry.path, entry.module)
        module = f"{PurePosixPath(home.module).with_name(name)}.py"
        text = found.family.source(found.name) if text is None else text
        return _Collecting(Home(home.root, module), name).bundle(text.encode())
    home = home_of(found.path, found.module)
    kept = read_manifest(home.root)
    if kept and kept.module == home.module:
        contents = {name: (home.root / name).read_bytes() for name in kept.files}
        return Bundle(kept, contents)
    return _Collecting(home, found.name).bundle()


@dataclass
class _Collecting:
    """The files of one spec as they are found; names are relative to ``home.root``."""

    home: Home
    name: str
    contents: dict[str, bytes] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def bundle(self, text: bytes | None = None) -> Bundle:
        """Everything, from the spec's module on; ``text`` is that of a module without a file."""
        module = self.home.root / self.home.module
        if text is not None:
            self.contents[self.home.module] = text
        self._packages_of(module)
        self._module(module, known=text)
        files = {name: digest(content) for name, content in sorted(self.contents.items())}
        left_out = tuple(f"{name} ({why})" for name, why in sorted(self.left_out.items()))
        imports = tuple(sorted(self.imports))
        manifest = Manifest(self.name, self.home.module, imports, files, left_out)
        return Bundle(manifest, self.contents)

    def _module(self, path: Path, known: bytes | None = None) -> None:
        """Take a module, and all that it needs of the spec's own."""
        todo = [(path, known)]
        while todo:
            module, content = todo.pop()
            if content is None:
                if not self._take(module):
                    continue
                try:
                    text = read_source(module)
                except (OSError, NotText):
                    continue  # Python cannot read it either; it is kept all the same
            else:
                text = content.decode()
            todo += [(other, None) for other in self._imported(module, text)]
            for file in named_files(module, text, self._data_root()):
                if len(self.contents) >= MOST_FILES:
                    self.left_out[self._relative(file.parent)] = (
                        f"too many files, from {file.name} on"
                    )
                    break
                self._take(file)

    def _imported(self, module: Path, text: str) -> Iterator[Path]:
        """The spec's own modules that a module imports, their packages included."""
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
        package = module.parent.relative_to(self.home.root).parts
        for level, name in _names(tree):
            parts = tuple(filter(None, name.split(".")))
            if level:
                base = package[: len(package) - level + 1]
                if level - 1 <= len(package):
                    yield from self._chain(self.home.root, (*base, *parts))
            elif parts and (place := self.home.folder_of(parts[0])):
                self.imports.add(parts[0])
                yield from self._chain(place, parts)

    def _chain(self, place: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """The files that are executed to import ``parts`` from a folder."""
        for part in parts:
            place = place / part
            if not self.home.holds(place):
                return
            if not place.is_dir():
                file = place.with_name(f"{part}.py")
                if file.is_file():
                    yield file
                return
            if (place / "__init__.py").is_file():
                yield place / "__init__.py"

    def _packages_of(self, module: Path) -> None:
        """Take the packages that the spec's module lies in, whether they have a file or not."""
        for folder in module.parents:
            if folder == self.home.root:
                return
            if (folder / "__init__.py").is_file():
                self._module(folder / "__init__.py")
            else:
                self.contents[self._relative(folder / "__init__.py")] = _NO_TEXT

    def _data_root(self) -> Path:
        """The folder above which no file is the spec's own."""
        top, inner, _ = self.home.module.partition("/")
        return self.home.root / top if inner else self.home.root

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.home.root).as_posix()

    def _take(self, path: Path) -> bool:
        """Keep a file's content, once; whether it is new and could be read."""
        name = self._relative(path)
        if name in self.contents or name in self.left_out:
            return False
        try:
            size = path.stat().st_size
            if self.size + size > MOST_BYTES:
                self.left_out[name] = f"too large, {size / 1e6:.0f} MB"
                return False
            self.contents[name] = path.read_bytes()
        except OSError as error:
            self.left_out[name] = clean_line(error.strerror or type(error).__name__)
            return False
        self.size += len(self.contents[name])
        for terms in (path.with_suffix(".LICENSE"), path.with_name(f"{path.name}.license")):
            if terms.is_file():
                self._take(terms)
        return True


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Level and dotted name of everything that a module may import, attributes included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield node.level, base
            yield from ((node.level, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            first = node.args[0] if node.args else None
            if called in ("import_module", "__import__") and isinstance(first, ast.Constant):
                name = str(first.value)
                yield len(name) - len(name.lstrip(".")), name.lstrip(".")


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
