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
import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import inspect
import json
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path, PurePosixPath
from types import ModuleType

from promptpo.common.files import NotText, read_source
from promptpo.common.foreign import foreign
from promptpo.errors import SpecError, file_error
from promptpo.spec.calls import (
    FOLDER_PACKAGE,
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

#: Seconds that a spec may take to be imported, where nothing else is said.
LIMIT = 60.0

#: Where the specs lie that were imported, with the modules that a bundle imports by bare names.
_HOMES: dict[Home, tuple[str, ...]] = {}

#: The file of a bundle that says what it is.
MANIFEST = "manifest.json"

#: Packages that are no spec's own, wherever it lies.
_PROMPTPO = Path(__file__).resolve().parents[1]
_NOT_OWN = (_PROMPTPO, _PROMPTPO.with_name("sandbox"))


#: Folders of specs that were put at the end of ``sys.path``, so that helpers beside them are found.
_APPENDED: set[str] = set()


@dataclass(frozen=True)
class Home:
    """The folders of one spec's modules.

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
        """Return whether a file or folder, under its own name, is one of the spec's own."""
        if not path.is_relative_to(self.root) or any(path.is_relative_to(p) for p in _NOT_OWN):
            return False
        top = self.module.partition("/")[0]
        return not _holds_packages(self.root) or path.relative_to(self.root).parts[:1] == (top,)

    def folder_of(self, name: str) -> Path | None:
        """Return where ``import name`` finds one of the spec's own modules; None for others."""
        if name in sys.stdlib_module_names:
            return None
        inside = {str(folder / name): folder for folder in (self.folder, self.root)}
        # As in a process that has loaded this spec alone: another's helpers hide none of its own.
        own = {str(self.folder), str(self.root)}
        places = [p for p in sys.path if p in own or p not in _APPENDED]
        spec = PathFinder.find_spec(name, places)
        candidates = [Path(place) for place in inside]
        if spec is not None:  # else by an importer of its own, as editable installs have it
            locations = map(Path, [*(spec.submodule_search_locations or ()), spec.origin or ""])
            modules = (p.parent.resolve() / p.stem for p in locations if p.suffix in ("", ".py"))
            candidates = [module for module in modules if str(module) in inside]
        candidates = [p for p in candidates if p.is_dir() or p.with_suffix(".py").is_file()]
        return next((inside[str(p)] for p in candidates if self.holds(p)), None)


def home_of(path: Path, module: str = "") -> Home:
    """Return the home of a spec's file; ``module`` is the name of an installed one."""
    if module:
        depth = module.count(".") + (path.name == "__init__.py")
        root = path.parents[depth]
    else:
        root = root_of(path.parent)
    return Home(root, path.relative_to(root).as_posix())


def root_of(folder: Path) -> Path:
    """Return the folder above the outermost package of a folder, or the folder itself."""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder = folder.parent
    return folder


@lru_cache(maxsize=64)
def _holds_packages(folder: Path) -> bool:
    """Return whether pip installs packages into a folder: most of it is then nobody's own."""
    return folder.name in ("site-packages", "dist-packages") or any(folder.glob("*.dist-info"))


@dataclass(frozen=True)
class Manifest:
    """A bundle without the contents of its files.

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
        """The text of ``manifest.json``."""
        return json.dumps(vars(self), indent=2) + "\n"


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a folder; None where it is no bundle.

    Raises SpecError where its manifest cannot be read, or is not what promptpo writes.
    """
    file = folder / MANIFEST
    try:
        data = json.loads(file.read_bytes())
        manifest = Manifest(
            name=str(data["name"]),
            module=str(data["module"]),
            imports=tuple(map(str, data["imports"])),
            files={str(name): str(value) for name, value in data["files"].items()},
            left_out=tuple(map(str, data["left_out"])),
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


# --- Import ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def executing(ref: str, limit: float = LIMIT) -> Iterator[None]:
    """Run a spec's own statements within so many seconds; what they print is shown as of ``ref``.

    What would hang or end the process raises an exception.
    """
    with activity.call(IMPORT), foreign(ref), exit_raises(), time_limit(limit):
        yield


@contextlib.contextmanager
def _importing(ref: str, where: str, text: Callable[[], str], limit: float) -> Iterator[None]:
    """Execute as above; raises SpecError with the line of ``where`` in which something failed."""
    try:
        with executing(ref, limit):
            yield
    except BaseException as error:
        reraise_interrupt(error)
        raise SpecError(_message(where, text(), error)) from error


def import_file(path: Path, limit: float = LIMIT, module: str = "") -> ModuleType:
    """Execute a spec file as a fresh module, within so many seconds. Raises SpecError.

    ``module`` is the name of a module of an installed package.
    """
    home = home_of(path, module)
    manifest = read_manifest(home.root)
    _HOMES[home] = manifest.imports if manifest else ()
    package, name = module.rpartition(".")[0], module
    if not module:
        package = package_of(path.parent)
        name = f"{package}.{path.stem.replace('.', '_')}"
    inner = [str(path.parent)] if path.name == "__init__.py" else None
    loader = SourceFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(
        name, path, loader=loader, submodule_search_locations=inner
    )
    if spec is None:
        raise SpecError(f"{path}: cannot be imported as a Python module")
    fresh = importlib.util.module_from_spec(spec)
    with _importing(path.stem, str(path), lambda: read_source(path), limit):
        if package:
            importlib.import_module(package)
        with _registered(name, fresh):
            # Not from a .pyc, which does not know of an edit within the second.
            exec(loader.source_to_code(path.read_bytes(), path), vars(fresh))  # noqa: S102
    return fresh


def import_named(name: str, path: Path, ref: str) -> ModuleType:
    """Import the module of a family, once. Raises SpecError."""
    with _importing(ref, str(path), lambda: read_source(path), LIMIT):
        return importlib.import_module(name)


def import_text(text: str, ref: str, name: str, package: str) -> ModuleType:
    """Execute source text as a fresh module in a package, as if a file of it lay there.

    ``ref`` stands for the file's name in error messages. Raises SpecError.
    """
    filename = text_file(ref)
    fresh = ModuleType(f"{package}.{name}")
    fresh.__file__, fresh.__package__ = filename, package
    # Sources of the module's classes and functions are read through linecache.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    with _importing(ref, ref, lambda: text, LIMIT), _registered(fresh.__name__, fresh):
        exec(compile(text, filename, "exec"), vars(fresh))  # noqa: S102 - written by a family
    return fresh


@contextlib.contextmanager
def _registered(name: str, module: ModuleType) -> Iterator[None]:
    """Register a module; withdraw it where it cannot be executed."""
    sys.modules[name] = module
    try:
        yield
    except BaseException:
        sys.modules.pop(name, None)
        raise


def text_file(ref: str) -> str:
    """Return the file name that Python has of a module which was imported from a text."""
    return f"<{ref}>"


def is_own(module: str) -> bool:
    """Return whether a module is a spec that was imported here, or one of its own modules."""
    top = module.partition(".")[0]
    return top.startswith(FOLDER_PACKAGE) or any(
        top in imports or home.folder_of(top) for home, imports in _HOMES.items()
    )


def package_of(folder: Path) -> str:
    """Return the name of the package that stands for a folder.

    A folder with an ``__init__.py`` is a package within one that stands for the folder above.
    """
    root = root_of(folder)
    # Not a secret: the digest only keeps the packages of different folders apart.
    digest = hashlib.sha1(str(root).encode(), usedforsecurity=False).hexdigest()[:10]
    package = f"{FOLDER_PACKAGE}{digest}"
    if package not in sys.modules:
        parent = ModuleType(package, f"Specs and helpers in {root}")
        parent.__path__ = [str(root)]
        sys.modules[package] = parent
        _prefer_bundle(root, folder)
    for place in (folder, root):
        if str(place) not in sys.path:
            sys.path.append(str(place))
            _APPENDED.add(str(place))
    return ".".join([package, *folder.relative_to(root).parts])


def _prefer_bundle(root: Path, folder: Path) -> None:
    """Let ``import helper`` find the modules of a bundle before any others of the name."""
    manifest = read_manifest(root)
    if manifest is None or not manifest.imports:
        return
    sys.meta_path.insert(0, _BundleFinder(frozenset(manifest.imports), [str(folder), str(root)]))
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] in manifest.imports and not file.startswith(f"{root}/"):
            del sys.modules[name]  # the original's, from before


@dataclass(frozen=True)
class _BundleFinder(MetaPathFinder):
    """Finds some modules in some folders only."""

    names: frozenset[str]
    folders: list[str]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Answer the import system."""
        return PathFinder.find_spec(fullname, self.folders) if fullname in self.names else None


# --- Errors ---------------------------------------------------------------------------------------


def _message(where: str, text: str, error: BaseException) -> str:
    """Return the line for a spec that raised while it was imported."""
    if isinstance(error, TypeError) and "EnvSpec.__init__()" in str(error):
        return f"{where}:{line_of(text, '')}: {_wrong_call(one_line(error))}"
    if isinstance(error, SyntaxError | ValueError | UnicodeError):
        words = set(re.findall(r"\w+", text))
        for helper in sorted(Path(where).parent.glob("*.py")):
            try:
                if helper.stem in words:  # a module beside the spec that it names
                    read_source(helper)
            except NotText as not_text:
                return str(not_text)
    if isinstance(error, TookTooLong):
        return f"{where}: the import {error}; import what is heavy inside make()"
    return ": ".join(explain(error, Path(where)))


def _wrong_call(words: str) -> str:
    """Return problem and remedy for a TypeError of the call of EnvSpec."""
    if missing := re.findall(r"'(\w+)'", words.partition("missing")[2]):
        part = missing[0]
        document = inspect.getdoc(EnvSpec) or ""
        meaning = re.search(rf"^\s*{part}: (.+?)(?:\.\s|$)", document, re.MULTILINE)
        remedy = f"add {part}=...: {meaning[1].strip()}" if meaning else f"add {part}=..."
        return f"EnvSpec lacks {', '.join(missing)}; {remedy}"
    if unknown := re.search(r"unexpected keyword argument '(\w+)'", words):
        names = [item.name for item in fields(EnvSpec)]
        near = difflib.get_close_matches(unknown[1], names, n=1, cutoff=0.0)
        return f"EnvSpec has no argument {unknown[1]!r}; did you mean {near[0]!r}?"
    return "EnvSpec takes keyword arguments only; write EnvSpec(make=make, ...)"


def spec_assignment(text: str) -> ast.Assign | ast.AnnAssign | None:
    """Return the statement of a module that assigns SPEC, if there is one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(item, ast.Name) and item.id == "SPEC" for item in targets):
                return node
    return None


def line_of(text: str, part: str) -> int:
    """Return the line of an argument in the assignment of SPEC; else of the assignment; else 1."""
    node = spec_assignment(text)
    keywords = node.value.keywords if node and isinstance(node.value, ast.Call) else []
    lines = [keyword.value.lineno for keyword in keywords if keyword.arg == part]
    return lines[0] if lines else node.lineno if node else 1
