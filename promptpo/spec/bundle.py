"""A spec with all of its own files: its module, its other modules, the files that they open.

Imports and names of files are read from the text, those inside functions too; nothing is run. What
is installed is not the spec's own, and neither is what merely lies beside it.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from promptpo.common.files import NotText, read_source
from promptpo.common.plaintext import clean_line
from promptpo.errors import SpecError, file_error
from promptpo.spec.catalog import Member, find, name_of
from promptpo.spec.importing import Home, Manifest, home_of, read_manifest
from promptpo.spec.validation import PUBLISHED

#: Bytes of all files together, and their number; a run keeps no more.
MOST_BYTES = 64 << 20
MOST_FILES = 1_000

#: A module that looks for files by its own place.
_OWN_PLACE = re.compile(r"__file__|__path__|\bresources\b|\bget_data\b")

#: A module that takes all files of a folder.
_LISTING = re.compile(r"\b(?:iterdir|listdir|scandir|walk|glob|rglob|iglob)\(")

#: Files that may name others, as a MuJoCo model its meshes, if they are not larger.
_TEXTS = (".xml", ".mjcf", ".urdf", ".sdf", ".json", ".toml", ".yaml", ".yml")
_MOST_TEXT = 1 << 20


@dataclass(frozen=True)
class Bundle:
    """A manifest and the contents of its files."""

    manifest: Manifest
    contents: dict[str, bytes]

    def difference(self, other: Manifest) -> str:
        """Return a file in which it differs from another; empty where it does not."""
        ours, theirs = self.manifest.files, other.files
        differing = [f for f in sorted({*ours, *theirs}) if ours.get(f) != theirs.get(f)]
        if self.manifest.module != other.module:
            return self.manifest.module
        return differing[0] if differing else ""


def check_intact(folder: Path, manifest: Manifest) -> None:
    """Raise SpecError where a file of a bundle is not what its manifest says."""
    for name, expected in manifest.files.items():
        file = folder / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise SpecError(str(file_error(error, file))) from None
        if _digest(content) != expected:
            raise SpecError(
                f"{clean_line(str(file))}: has been edited since it was kept; put it back as it"
                " was, or copy the folder elsewhere and name that copy as the spec"
            )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def bundle_of(ref: str, text: str | None = None) -> Bundle:
    """Return the spec that a reference names, with all of its own files.

    ``text`` is that of a family's member, which is else written again. Files that cannot be read,
    or are too large, are left out, and the manifest says so. Raises SpecError where there is no
    such spec.
    """
    entry = find(ref.removesuffix(PUBLISHED))
    if isinstance(entry, Member):
        name = name_of(entry.ref)
        home = home_of(entry.family.path, entry.family.module)
        module = f"{PurePosixPath(home.module).with_name(name)}.py"
        text = entry.family.source(entry.name) if text is None else text
        return _Collector(Home(home.root, module), name).bundle(text)
    home = home_of(entry.path, entry.module)
    manifest = read_manifest(home.root)
    if manifest and manifest.module == home.module:
        contents = {name: (home.root / name).read_bytes() for name in manifest.files}
        return Bundle(manifest, contents)
    return _Collector(home, entry.name).bundle()


@dataclass
class _Collector:
    """Collects the files of one spec; names are relative to ``home.root``."""

    home: Home
    name: str
    contents: dict[str, bytes] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)
    left_out: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def bundle(self, text: str | None = None) -> Bundle:
        """Return everything from the spec's module on; ``text`` is that of one without a file."""
        spec, seen = self.home.root / self.home.module, set()
        todo = [spec]
        for folder in spec.parents[: self.home.module.count("/")]:
            init = folder / "__init__.py"
            if init.is_file():
                todo.append(init)
            else:
                self.contents[self._relative(init)] = b""
        while todo:
            module = todo.pop()
            if module in seen:
                continue
            seen.add(module)
            if module == spec and text is not None:
                source = text
                self.contents[self.home.module] = text.encode()
            else:
                self._take(module)
                try:
                    source = read_source(module)
                except (OSError, NotText):
                    continue  # Python cannot read it either; it is kept all the same
            todo += self._imported(module, source)
            self._take_data(module, source)
        return Bundle(self._manifest(), self.contents)

    def _manifest(self) -> Manifest:
        files = {name: _digest(content) for name, content in sorted(self.contents.items())}
        left_out = tuple(f"{name} ({why})" for name, why in sorted(self.left_out.items()))
        imports = tuple(sorted(self.imports))
        return Manifest(self.name, self.home.module, imports, files, left_out)

    def _imported(self, module: Path, source: str) -> Iterator[Path]:
        """Yield the spec's own modules that a module imports, their packages included."""
        package = module.parent.relative_to(self.home.root).parts
        for level, name in _imports(source):
            parts = tuple(filter(None, name.split(".")))
            if level:
                if level - 1 <= len(package):
                    base = package[: len(package) - level + 1]
                    yield from self._chain(self.home.root, (*base, *parts))
            elif parts and (place := self.home.folder_of(parts[0])):
                self.imports.add(parts[0])
                yield from self._chain(place, parts)

    def _chain(self, place: Path, parts: tuple[str, ...]) -> Iterator[Path]:
        """Yield the files that are executed to import ``parts`` from a folder."""
        for part in parts:
            place = place / part
            if not self.home.holds(place):
                return
            file = place / "__init__.py" if place.is_dir() else place.with_name(f"{part}.py")
            if file.is_file():
                yield file
            if not place.is_dir():
                return

    def _take_data(self, module: Path, source: str) -> None:
        """Take the files that a module names; none above the spec's outermost package is its own.

        They are found by looking, for nothing is run: a text in the module that is the name of a
        file there is such a file.
        """
        if not _OWN_PLACE.search(source):
            return
        top, inner, _ = self.home.module.partition("/")
        root = self.home.root / top if inner else self.home.root
        above = [folder for folder in module.parents if folder.is_relative_to(root)]
        words = list(_words(source))
        endings = [word for word in words if re.fullmatch(r"\.\w{1,9}", word)]
        beside = [file for end in endings if (file := module.with_suffix(end)).is_file()]
        whole = bool(_LISTING.search(source))
        for file in (*beside, *_named_files(above, words, root, whole=whole)):
            if len(self.contents) >= MOST_FILES:
                self.left_out[self._relative(file.parent)] = f"too many files, from {file.name} on"
                return
            self._take(file)

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.home.root).as_posix()

    def _take(self, path: Path) -> None:
        """Keep a file's content, once, and the terms of its licence."""
        name = self._relative(path)
        if name in self.contents or name in self.left_out:
            return
        try:
            size = path.stat().st_size
            if self.size + size > MOST_BYTES:
                self.left_out[name] = f"too large, {size / 1e6:.0f} MB"
                return
            self.contents[name] = path.read_bytes()
        except OSError as error:
            self.left_out[name] = clean_line(error.strerror or type(error).__name__)
            return
        self.size += len(self.contents[name])
        for terms in (path.with_suffix(".LICENSE"), path.with_name(f"{path.name}.license")):
            if terms.is_file():
                self._take(terms)


def _nodes(source: str) -> Iterator[ast.AST]:
    """Yield the nodes of a module; none where it cannot be parsed."""
    try:
        yield from ast.walk(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError):
        return


def _imports(source: str) -> Iterator[tuple[int, str]]:
    """Yield level and dotted name of everything that a module may import, attributes included."""
    for node in _nodes(source):
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


def _words(source: str) -> Iterator[str]:
    """Yield the texts in a module that may be names of files; what is filled in is a ``*``."""
    for node in _nodes(source):
        word = getattr(node, "value", "") if isinstance(node, ast.Constant) else ""
        if isinstance(node, ast.JoinedStr):
            parts = (getattr(part, "value", "*") for part in node.values)
            word = "".join(part if isinstance(part, str) else "*" for part in parts)
        if isinstance(word, str) and _is_name(word):
            yield word


def _is_name(word: str) -> bool:
    return bool(word.strip("./*")) and len(word) <= 200 and not re.search(r"[\n\0]|^[/~]", word)


def _named_files(
    folders: list[Path], words: list[str], root: Path, *, whole: bool
) -> Iterator[Path]:
    """Yield the files under ``root`` that words name in folders, or in folders that they name.

    ``whole``: all files of such a folder. A file may name others beside it.
    """
    seen: set[Path] = set()
    todo = list(folders)
    while todo:
        folder = todo.pop()
        for path in (path for word in words for path in _named(folder, word)):
            if path in seen or not path.is_relative_to(root):
                continue
            seen.add(path)
            if path.is_dir():
                todo.append(path)
                inside = sorted(path.rglob("*")) if whole else []
                yield from (p for p in inside if p.is_file() and "__pycache__" not in p.parts)
            elif path.is_file():
                yield path
                if inner := _words_of_file(path):
                    yield from _named_files([path.parent], inner, root, whole=False)


def _named(folder: Path, word: str) -> Iterator[Path]:
    """Yield the files and folders that a word, which may be a pattern, names in a folder."""
    try:
        if "*" not in word:
            path = Path(os.path.normpath(folder / word))
            if path != folder and path.exists() and not folder.is_relative_to(path):
                yield path
        elif "**" not in word and re.search(r"\.\w+$", word):
            yield from (path for path in sorted(folder.glob(word)) if path.is_file())
    except (OSError, ValueError, NotImplementedError):  # a name that no file can have
        return


def _words_of_file(path: Path) -> list[str]:
    """Return the quoted texts in a data file that may be names of files."""
    try:
        if path.suffix.lower() not in _TEXTS or path.stat().st_size > _MOST_TEXT:
            return []
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    quoted = re.findall(r'"([^"\n]{1,200})"|\'([^\'\n]{1,200})\'', text)
    return sorted({a or b for a, b in quoted if _is_name(a or b) and "*" not in a + b})
