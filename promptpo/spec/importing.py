"""Executes spec modules, from a file or from a text; what they raise becomes one line.

A spec file is imported as a module of a package of its own that stands for its folder, so that
``from . import helper`` finds the modules beside it, two folders with equal names never clash,
and nothing on ``sys.path`` is hidden. ``import helper`` works too: the folder comes last there.
A spec of an installed package is imported by its own name.

A run or an export keeps a spec with its own files in one folder, a bundle:

    manifest.json          the spec's file and name, and the digest of each file
    env_specs/traffic.py   the files, in the folders in which they lay
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import json
import linecache
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path, PurePosixPath
from types import ModuleType

from promptpo.common.files import NotText, read_source
from promptpo.common.foreign import foreign
from promptpo.common.plaintext import clean_line
from promptpo.errors import SpecError, file_error
from promptpo.spec.calls import (
    IMPORT,
    TookTooLong,
    activity,
    exit_raises,
    explain,
    one_line,
    reraise_interrupt,
    time_limit,
)
from promptpo.spec.definition import EnvSpec

#: Packages that are no spec's own, wherever it lies.
_PROMPTPO = Path(__file__).resolve().parents[1]
_NOT_OWN = (_PROMPTPO, _PROMPTPO.with_name("sandbox"))


#: Folders of specs that were put at the end of ``sys.path``, so that helpers beside them are found.
APPENDED: set[str] = set()


@dataclass(frozen=True)
class Home:
    """Where the modules of one spec are looked for.

    Attributes:
        root: the folder above the outermost package of the spec, or the spec's own folder.
        module: the spec's file under it, e.g. ``acme_envs/floors/depot.py``.
    """

    root: Path
    module: str

    @property
    def folder(self) -> Path:
        """The spec's own folder."""
        return (self.root / self.module).parent

    def holds(self, path: Path) -> bool:
        """Whether a file or folder, under its own name, is one of the spec's own."""
        if not path.is_relative_to(self.root) or any(path.is_relative_to(p) for p in _NOT_OWN):
            return False
        top = self.module.partition("/")[0]
        return not _holds_packages(self.root) or path.relative_to(self.root).parts[:1] == (top,)

    def folder_of(self, name: str) -> Path | None:
        """Where ``import name`` finds one of the spec's own modules; None for any other."""
        if name in sys.stdlib_module_names:
            return None
        inside = {str(folder / name): folder for folder in (self.folder, self.root)}
        # As in a process that has loaded this spec alone: another's helpers hide none of its own.
        own = {str(self.folder), str(self.root)}
        places = [p for p in sys.path if p in own or p not in APPENDED]
        found = PathFinder.find_spec(name, places)
        if found is None:  # by an importer of its own, as editable installs have it
            known_places = [Path(place) for place in inside]
        else:
            locations = map(Path, [*(found.submodule_search_locations or ()), found.origin or ""])
            known = (p.parent.resolve() / p.stem for p in locations if p.suffix in ("", ".py"))
            known_places = [p for p in known if str(p) in inside]
        there = [p for p in known_places if p.is_dir() or p.with_suffix(".py").is_file()]
        return next((inside[str(p)] for p in there if self.holds(p)), None)


def home_of(path: Path, module: str = "") -> Home:
    """The home of a spec's file; ``module`` is the name of an installed one."""
    if module:
        depth = module.count(".") + (path.name == "__init__.py")
        root = path.parents[depth]
    else:
        root = root_of(path.parent)
    return Home(root, path.relative_to(root).as_posix())


def root_of(folder: Path) -> Path:
    """The folder above the outermost package that a folder is in, or the folder itself."""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder = folder.parent
    return folder


@lru_cache(maxsize=64)
def _holds_packages(folder: Path) -> bool:
    """Whether pip installs packages into a folder: then most of it is nobody's own."""
    return folder.name in ("site-packages", "dist-packages") or any(folder.glob("*.dist-info"))


MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifest:
    """What a bundle is, without the contents of its files.

    Attributes:
        name: the spec's name.
        module: the spec's file, relative to the bundle, with ``/``.
        imports: top-level modules of the bundle that its modules import by their bare names.
        files: digest of each file, by its relative path.
        left_out: a line for each file that belongs to the spec and could not be taken.
    """

    name: str
    module: str
    imports: tuple[str, ...]
    files: dict[str, str]
    left_out: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What stands in ``manifest.json``."""
        return json.dumps(vars(self), indent=2) + "\n"


@dataclass(frozen=True)
class Bundle:
    """A manifest and the contents of its files."""

    manifest: Manifest
    contents: dict[str, bytes]

    def difference(self, other: Manifest) -> str:
        """A file in which it differs from another; empty where it does not."""
        ours, theirs = self.manifest.files, other.files
        differing = [f for f in sorted({*ours, *theirs}) if ours.get(f) != theirs.get(f)]
        if self.manifest.module != other.module:
            return self.manifest.module
        return differing[0] if differing else ""


def digest(content: bytes) -> str:
    """What tells a file's content from any other."""
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> Manifest | None:
    """What a folder holds as a bundle; None where it is none.

    Raises SpecError where its manifest cannot be read, or is not what promptpo writes.
    """
    file = folder / MANIFEST
    try:
        found = json.loads(file.read_bytes())
        manifest = Manifest(
            name=str(found["name"]),
            module=str(found["module"]),
            imports=tuple(map(str, found["imports"])),
            files={str(name): str(value) for name, value in found["files"].items()},
            left_out=tuple(map(str, found["left_out"])),
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise SpecError(str(file_error(error, file))) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # a manifest of something else
    names = [manifest.module, *manifest.files]
    if any(".." in PurePosixPath(name).parts or name.startswith("/") for name in names):
        raise SpecError(
            f"{file}: names a file outside of its folder; it is not what promptpo wrote"
        )
    return manifest


def check_intact(folder: Path, manifest: Manifest) -> None:
    """Raise SpecError where a file of a bundle is not what its manifest says."""
    for name, expected in manifest.files.items():
        file = folder / name
        try:
            content = file.read_bytes()
        except OSError as error:
            raise SpecError(str(file_error(error, file))) from None
        if digest(content) != expected:
            raise SpecError(
                f"{clean_line(str(file))}: has been edited since it was kept; put it back as it"
                " was, or copy the folder elsewhere and name that copy as the spec"
            )


#: Seconds that a spec may take to be imported, where nothing else is said.
LIMIT = 60.0

#: Begins the name of a package that stands for a folder.
_STANDS_FOR_FOLDER = "promptpo_specs_"

#: Where the specs lie that were imported, with what is imported from a bundle by its bare name.
_HOMES: dict[Home, tuple[str, ...]] = {}


def import_file(path: Path, limit: float = LIMIT, module: str = "") -> ModuleType:
    """Execute a spec file as a fresh module, within so many seconds. Raises SpecError.

    ``module`` is the name of a module of an installed package.
    """
    home = home_of(path, module)
    kept = read_manifest(home.root)
    _HOMES[home] = kept.imports if kept else ()
    package, name = module.rpartition(".")[0], module
    if not module:
        package = package_of(path.parent)
        name = f"{package}.{path.stem.replace('.', '_')}"
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    found = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inner)
    if found is None or found.loader is None:
        raise SpecError(f"{path}: cannot be imported as a Python module")
    fresh = importlib.util.module_from_spec(found)
    try:
        with activity.call(IMPORT), foreign(path.stem), exit_raises(), time_limit(limit):
            if package:
                importlib.import_module(package)
            sys.modules[name] = fresh
            found.loader.exec_module(fresh)
    except BaseException as error:
        sys.modules.pop(name, None)
        reraise_interrupt(error)
        raise SpecError(import_message(str(path), read_source(path), error)) from error
    return fresh


def import_named(name: str, path: Path, ref: str) -> ModuleType:
    """Import the module of a family, once. Raises SpecError."""
    try:
        with activity.call(IMPORT), foreign(ref), exit_raises(), time_limit(LIMIT):
            return importlib.import_module(name)
    except BaseException as error:
        reraise_interrupt(error)
        raise SpecError(import_message(str(path), read_source(path), error)) from error


def import_text(text: str, ref: str, name: str, package: str) -> ModuleType:
    """Execute source text as a fresh module that lies, as it were, in a package.

    ``ref`` stands for the file's name in error messages. Raises SpecError.
    """
    filename = text_file(ref)
    module = ModuleType(f"{package}.{name}")
    module.__file__, module.__package__ = filename, package
    # Sources of the module's classes and functions are read through linecache.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    sys.modules[module.__name__] = module
    try:
        with activity.call(IMPORT), foreign(ref):
            exec(compile(text, filename, "exec"), vars(module))  # noqa: S102 - written by a family
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        reraise_interrupt(error)
        raise SpecError(import_message(ref, text, error)) from error
    return module


def text_file(ref: str) -> str:
    """The file name under which a module that was imported from a text is known to Python."""
    return f"<{ref}>"


def is_own(module: str) -> bool:
    """Whether a module is a spec that was imported here, or one of its own modules."""
    top = module.partition(".")[0]
    return top.startswith(_STANDS_FOR_FOLDER) or any(
        top in kept or home.folder_of(top) for home, kept in _HOMES.items()
    )


def package_of(folder: Path) -> str:
    """Name of the package that stands for a folder.

    A folder with an ``__init__.py`` is a package within one that stands for the folder above.
    """
    root = root_of(folder)
    # Not a secret: the digest only keeps the packages of different folders apart.
    digest = hashlib.sha1(str(root).encode(), usedforsecurity=False).hexdigest()[:10]
    package = f"{_STANDS_FOR_FOLDER}{digest}"
    if package not in sys.modules:
        parent = ModuleType(package, f"Specs and helpers in {root}")
        parent.__path__ = [str(root)]
        sys.modules[package] = parent
        _prefer_kept(root, folder)
    for place in (folder, root):
        if str(place) not in sys.path:
            sys.path.append(str(place))
            APPENDED.add(str(place))
    return ".".join([package, *folder.relative_to(root).parts])


def _prefer_kept(root: Path, folder: Path) -> None:
    """Let ``import helper`` find the modules that a bundle holds before any others of the name."""
    kept = read_manifest(root)
    if kept is None or not kept.imports:
        return
    sys.meta_path.insert(0, _Kept(frozenset(kept.imports), [str(folder), str(root)]))
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in kept.imports and not (file or "").startswith(f"{root}/"):
            del sys.modules[name]  # the original's, from before


@dataclass(frozen=True)
class _Kept(MetaPathFinder):
    """Finds some modules in some folders only."""

    names: frozenset[str]
    folders: list[str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks."""
        return PathFinder.find_spec(fullname, self.folders) if fullname in self.names else None


def import_message(where: str, text: str, error: BaseException) -> str:
    """Return the line for a spec that raised while it was imported."""
    words = one_line(error)
    if isinstance(error, TypeError) and "EnvSpec.__init__()" in words:
        where = f"{where}:{line_of(text, '')}"
        if missing := re.findall(r"'(\w+)'", words.partition("missing")[2]):
            return f"{where}: EnvSpec lacks {', '.join(missing)}; {_meaning(missing[0])}"
        if unknown := re.search(r"unexpected keyword argument '(\w+)'", words):
            names = [item.name for item in fields(EnvSpec)]
            near = difflib.get_close_matches(unknown[1], names, n=1, cutoff=0.0)
            return f"{where}: EnvSpec has no argument {unknown[1]!r}; did you mean {near[0]!r}?"
        return f"{where}: EnvSpec takes keyword arguments only; write EnvSpec(make=make, ...)"
    if isinstance(error, SyntaxError | ValueError | UnicodeError):
        for helper in _helpers(text, Path(where).parent):
            try:
                read_source(helper)
            except NotText as e:
                return str(e)
    if isinstance(error, TookTooLong):
        return f"{where}: the import {error}; import what is heavy inside make()"
    return ": ".join(explain(error, Path(where)))


def _helpers(text: str, folder: Path) -> Iterator[Path]:
    """The modules beside a spec that it names."""
    words = set(re.findall(r"\w+", text))
    yield from (path for path in sorted(folder.glob("*.py")) if path.stem in words)


def _meaning(part: str) -> str:
    """Return the remedy for an argument that is missing: what it is, from the documentation."""
    found = re.search(rf"^\s*{part}: (.+?)(?:\.\s|$)", inspect.getdoc(EnvSpec) or "", re.MULTILINE)
    return f"add {part}=...: {found[1].strip()}" if found else f"add {part}=..."


def line_of(text: str, part: str) -> int:
    """Line of an argument in the assignment of SPEC, else of the assignment, else 1."""
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if not any(isinstance(item, ast.Name) and item.id == "SPEC" for item in targets):
            continue
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call):
            for keyword in value.keywords:
                if keyword.arg == part:
                    return keyword.value.lineno
        return node.lineno
    return 1
