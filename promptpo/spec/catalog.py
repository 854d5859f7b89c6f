"""Specs by name, path or family: shipped ones, those of installed packages, files.

A package adds specs by entry points of the group ``promptpo.env_specs``. Each names a module that
is a spec (or a family), which is then called as the entry point is; or a package, whose modules
that are specs or families are called by their own names. Nothing is imported to list them.

A family is a module ``family_NAME.py`` among the shipped specs, or one of an installed package;
``family:member`` names a spec that it writes. Its docstring's first line is its title, and it holds

    EXAMPLE             one of its members
    INSTALL             the argument of ``pip install`` for the packages that it needs
    members()           the names of its members
    source(member)      the text of the member's spec module; UnknownMember if there is none
    SHIPPED             optional: members that have a spec file of their own beside it, by its name
"""

from __future__ import annotations

import difflib
import importlib.util
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from promptpo.common.plugins import Plugin, plugins
from promptpo.common.python_text import docstring, tree_of
from promptpo.errors import SpecError
from promptpo.spec.calls import explain, reraise_interrupt
from promptpo.spec.definition import UnknownMember, Unsuitable
from promptpo.spec.importing import executing, home_of, import_named, package_of, read_manifest

#: The package of shipped specs lies beside ``promptpo``, in a clone as in an installed wheel.
SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "env_specs"

#: The group of entry points by which packages add specs.
GROUP = "promptpo.env_specs"

#: Begins the name of a module that is a family.
FAMILY_PREFIX = "family_"

_E = TypeVar("_E", bound="Entry")


@dataclass(frozen=True)
class Entry:
    """A spec by name.

    Attributes:
        name: the argument of ``--spec`` for it.
        path: its file.
        module: the name under which an installed one is imported; empty for a shipped one.
        origin: the package that it comes from, with its version; empty for a shipped one.
        listed: True where its name finds it; otherwise only its path does.
    """

    name: str
    path: Path
    module: str = ""
    origin: str = ""
    listed: bool = True

    @property
    def title(self) -> str:
        """The first line of its docstring; empty where there is none. Nothing is imported."""
        tree = tree_of(self.path.read_text("utf-8", "replace"))
        return docstring(tree).partition("\n")[0] if tree else ""

    @property
    def ref(self) -> str:
        """A reference that finds it again from any folder."""
        return self.name if self.listed else str(self.path)

    @property
    def package(self) -> str:
        """Name of the package in which the modules beside it are imported."""
        return self.module.rpartition(".")[0] or package_of(self.path.parent)


class Family(Entry):
    """A family; its module is imported when it is first needed, and may then raise SpecError."""

    @property
    def imported(self) -> ModuleType:
        """The module that is the family."""
        name = self.module or f"{self.package}.{self.path.stem}"
        return import_named(name, self.path, self.name)

    @property
    def example(self) -> str:
        """A reference to one of its members, e.g. ``metaworld:push-v3``."""
        return f"{self.name}:{self._part('EXAMPLE')}"

    def members(self) -> Sequence[str]:
        """Return the names of the members, sorted. Raises SpecError where a package is missing."""
        members = self._part("members")
        try:
            return sorted(members())
        except BaseException as error:
            reraise_interrupt(error)
            raise SpecError(self._explained(self.name, error)) from error

    def own_file(self, member: str) -> Path | None:
        """Return the spec file that a member has of its own, if it has one."""
        name: str | None = getattr(self.imported, "SHIPPED", {}).get(member)
        return self.path.with_name(f"{name}.py") if name else None

    def source(self, member: str) -> str:
        """Return the text of a member's spec module. Raises SpecError."""
        ref = f"{self.name}:{member}"
        source = self._part("source")
        try:
            with executing(ref):
                text: str = source(member)
        except UnknownMember:
            members = self.members()
            near = difflib.get_close_matches(member, members, n=3, cutoff=0.5)
            some = [f"{self.name}:{name}" for name in near] or [self.example]
            hint = f"did you mean {' or '.join(some)}?" if near else f"an example is {some[0]}"
            count = f"{len(members)} members; `promptpo list {self.name}` shows them"
            raise SpecError(f"{ref}: the family has no such member; {hint} ({count})") from None
        except Unsuitable as error:
            raise SpecError(f"{ref}: {error}") from None
        except BaseException as error:  # its environment has been made
            reraise_interrupt(error)
            raise SpecError(self._explained(ref, error)) from error
        return text

    def _part(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        """Return what the module has to hold. Raises SpecError where it does not."""
        try:
            return getattr(self.imported, name)
        except AttributeError:
            words = f"a family without {name}; `promptpo/spec/catalog.py` says what it holds"
            raise SpecError(f"{self.path}: {words}") from None

    def _explained(self, ref: str, error: BaseException) -> str:
        return ": ".join(explain(error, Path(ref), getattr(self.imported, "INSTALL", "")))


@dataclass(frozen=True)
class Member:
    """A member of a family that has no file of its own."""

    family: Family
    name: str

    @property
    def ref(self) -> str:
        """``family:member``."""
        return f"{self.family.name}:{self.name}"


@dataclass
class Catalog:
    """Specs and families, sorted by name, and a line for each package that is broken."""

    specs: list[Entry] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add_folder(self, folder: Path, package: str = "", origin: str = "") -> None:
        """Add the modules of a package that are specs or families."""
        for path in sorted(folder.glob("*.py")):
            name = path.stem.removeprefix(FAMILY_PREFIX)
            module = f"{package}.{path.stem}" if package else ""
            if name != path.stem:
                self.families.append(Family(name, path, module, origin))
            elif name != "__init__" and _defines_spec(path):
                self.specs.append(Entry(name, path, module, origin))

    def add_plugin(self, plugin: Plugin) -> str:
        """Add what an entry point names; return a problem, or an empty text."""
        if plugin.attribute not in ("", "SPEC"):
            return f"names {plugin.attribute!r}; it has to name a module only"
        place = _place_of(plugin.module)
        if place is None:
            return f"names the module {plugin.module!r}, which is not there"
        file = place / "__init__.py" if place.is_dir() else place
        before = len(self.specs) + len(self.families)
        if file.is_file() and _defines_spec(file):
            self.specs.append(Entry(plugin.name, file, plugin.module, plugin.origin))
        elif file.stem.startswith(FAMILY_PREFIX):
            self.families.append(Family(plugin.name, file, plugin.module, plugin.origin))
        if place.is_dir():
            self.add_folder(place, plugin.module, plugin.origin)
        same = before == len(self.specs) + len(self.families)
        return f"names {plugin.module!r}, in which there is no SPEC" if same else ""


def shipped() -> Catalog:
    """Return what comes with promptpo."""
    catalog = Catalog()
    catalog.add_folder(SHIPPED_FOLDER)
    return catalog


def installed() -> Catalog:
    """Return what installed packages add; a shipped name cannot mean one of theirs."""
    catalog, ours = Catalog(), shipped()
    for plugin in plugins(GROUP):
        try:
            problem = catalog.add_plugin(plugin)
        except (ImportError, OSError, ValueError, AttributeError) as error:
            problem = f"cannot be read ({error})"
        if problem:
            catalog.problems.append(
                f"{plugin.origin}: its entry point {plugin.name!r} ({GROUP}) {problem}; update the"
                " package, or uninstall it"
            )
    catalog.specs = _allowed(catalog.specs, ours.specs, catalog.problems)
    catalog.families = _allowed(catalog.families, ours.families, catalog.problems)
    return catalog


def _allowed(theirs: list[_E], ours: Sequence[Entry], problems: list[str]) -> list[_E]:
    """Return theirs, sorted by name, without those that have a name of ours."""
    names = {entry.name for entry in ours}
    for entry in theirs:
        if entry.name in names:
            hidden = f"{entry.name!r} is the name of a shipped one; give the file {entry.path}"
            problems.append(f"{entry.origin}: {hidden}")
    return sorted((e for e in theirs if e.name not in names), key=lambda e: (e.name, e.origin))


def shipped_specs() -> list[str]:
    """Return the names of the specs that come with the package, sorted; imports none of them."""
    return [entry.name for entry in shipped().specs]


def known_specs() -> list[str]:
    """Return the names that find a spec, the shipped ones first; imports none of them."""
    return [*shipped_specs(), *dict.fromkeys(entry.name for entry in installed().specs)]


def _place_of(module: str) -> Path | None:
    """Return the file of a module, or its folder where it is a package; imports nothing."""
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        file = Path(spec.origin or "")
        return file if file.is_file() and not inner else None
    places = [Path(folder, *inner) for folder in spec.submodule_search_locations]
    files = [place.with_suffix(".py") for place in places if inner]
    packages = [place for place in places if (place / "__init__.py").is_file()]
    ordered = [*packages, *filter(Path.is_file, files), *filter(Path.is_dir, places)]
    return next(iter(ordered), None)


def _defines_spec(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^SPEC\b", text, re.MULTILINE) is not None


# --- References -----------------------------------------------------------------------------------


def families() -> list[Family]:
    """Return the families by name, the shipped ones first; imports none of them."""
    return shipped().families + installed().families


def family(name: str, rest: str = "") -> Family:
    """Return the family of a name. Raises SpecError; ``rest`` is what followed the name."""
    named = {each.name: each for each in reversed(families())}
    if name not in named:
        near = difflib.get_close_matches(name, named, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}{rest}?" if near else f"families: {', '.join(sorted(named))}"
        raise SpecError(f"{name}{rest}: no such family of specs; {hint}")
    return named[name]


def split(ref: str) -> tuple[Family, str] | None:
    """Return family and member of ``family:member``; None for a reference of another form.

    Raises SpecError where there is no such family.
    """
    name, colon, member = ref.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        return None
    return family(name, f":{member}"), member


def expanded(refs: Iterable[str]) -> Iterator[str]:
    """Yield references; in place of ``family:``, its members without a file of their own.

    Raises SpecError where there is no such family, or its package is missing.
    """
    for ref in refs:
        parts = split(ref) if ref.endswith(":") else None
        if parts is None:
            yield ref
        else:
            yield from (f"{ref}{m}" for m in parts[0].members() if not parts[0].own_file(m))


def name_of(ref: str) -> str:
    """Return the name of the spec ``family:member`` as in folder names: without ``:`` and ``/``."""
    return re.sub(r"[^\w.-]+", "_", ref)


def find(ref: str) -> Entry | Member:
    """Return what a reference names. Raises SpecError where that is nothing, or several things.

    In this order: a file, or a folder in which a run or an export keeps a spec; a shipped spec;
    ``family:member``; a spec of an installed package; the file ``REF.py``.
    """
    if file := _file(ref):
        return file
    ours = {entry.name: entry for entry in shipped().specs}
    if ref in ours:
        return ours[ref]
    if parts := split(ref):
        own = parts[0].own_file(parts[1])
        return _at(own) if own else Member(*parts)
    theirs = installed()
    entries = [entry for entry in theirs.specs if entry.name == ref]
    if len({entry.path for entry in entries}) > 1:
        several = " and ".join(f"{entry.origin} ({entry.path})" for entry in entries)
        raise SpecError(f"{ref}: several installed packages have it: {several}; give the file")
    if entry := entries[0] if entries else _file(f"{ref}.py"):
        return entry
    raise SpecError(_unknown(ref, {*ours, *(e.name for e in theirs.specs)}, theirs.problems))


def _file(ref: str) -> Entry | None:
    """Return the file of that path, if there is one."""
    try:
        path = Path(ref).expanduser()
        if path.is_dir() and (manifest := read_manifest(path)):
            path /= manifest.module
        if not path.is_file():
            return None
        if path.suffix != ".py":
            raise SpecError(f"{ref}: not a Python file; a spec is a module that defines SPEC")
        path = path.resolve()
    except (OSError, RuntimeError) as error:  # a name too long, no such user's home
        raise SpecError(f"{ref:.100}: no spec can be called that ({error})") from None
    if path.parent == SHIPPED_FOLDER:
        return _at(path)
    home = home_of(path)
    manifest = read_manifest(home.root)
    name = manifest.name if manifest and manifest.module == home.module else path.stem
    return Entry(name, path, listed=False)


def _at(path: Path) -> Entry:
    """Return the spec in a file that a name may find, too."""
    listed = [*shipped().specs, *installed().specs]
    unlisted = Entry(path.stem, path, listed=False)
    return next((entry for entry in listed if entry.path == path), unlisted)


def _unknown(ref: str, names: set[str], problems: list[str]) -> str:
    """Return why nothing is found, and what was perhaps meant."""
    path = Path(ref)
    if path.is_dir():
        return f"{ref}: is a folder; name one spec file in it (`promptpo list` shows other specs)"
    files = {file.stem: file for file in path.parent.glob("*.py")}
    near = [
        name if name in names else str(files[name])
        for name in difflib.get_close_matches(path.stem, {*names, *files}, n=3, cutoff=0.5)
    ]
    kind = "file" if path.suffix or len(path.parts) > 1 else "spec"
    hint = f"did you mean {', '.join(near)}?" if near else "`promptpo list` shows those with names"
    broken = "".join(f" ({problem})" for problem in problems)
    return f"{ref}: no such {kind}; {hint}{broken}"
