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
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from promptpo.common.foreign import foreign
from promptpo.common.plugins import Plugin, plugins
from promptpo.errors import SpecError
from promptpo.spec.calls import (
    IMPORT,
    activity,
    exit_raises,
    explain,
    reraise_interrupt,
    time_limit,
)
from promptpo.spec.definition import UnknownMember, Unsuitable
from promptpo.spec.importing import LIMIT, home_of, import_named, package_of, read_manifest

#: The package of shipped specs lies beside ``promptpo``, in a clone as in an installed wheel.
SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "env_specs"

#: The group of entry points by which packages add specs.
GROUP = "promptpo.env_specs"

#: Begins the name of a module that is a family.
FAMILY_PREFIX = "family_"


@dataclass(frozen=True)
class Entry:
    """A spec or a family by name.

    Attributes:
        name: what ``--spec`` calls it.
        path: its file.
        module: what an installed one is imported as; empty for a shipped one.
        origin: the package that it comes from, with its version; empty for a shipped one.
        listed: whether its name finds it; otherwise only its path does.
    """

    name: str
    path: Path
    module: str = ""
    origin: str = ""
    listed: bool = True

    @property
    def ref(self) -> str:
        """What finds it again, from any folder."""
        return self.name if self.listed else str(self.path)

    @property
    def package(self) -> str:
        """Name of the package in which the modules beside it are imported."""
        return self.module.rpartition(".")[0] or package_of(self.path.parent)


@dataclass
class Catalog:
    """Specs and families, sorted by name, and a line for each package that is broken."""

    specs: list[Entry] = field(default_factory=list)
    families: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def shipped() -> Catalog:
    """What comes with promptpo."""
    found = Catalog()
    _add_folder(SHIPPED_FOLDER, found)
    return found


def installed() -> Catalog:
    """What installed packages add."""
    found = Catalog()
    for plugin in plugins(GROUP):
        try:
            _add_plugin(plugin, found)
        except (ImportError, OSError, ValueError, AttributeError) as error:
            _add_problem(plugin, f"cannot be read ({error})", found)
    ours = shipped()
    found.specs = _unlike(ours.specs, found.specs, found.problems)
    found.families = _unlike(ours.families, found.families, found.problems)
    return found


def shipped_specs() -> list[str]:
    """Names of the specs that come with the package, sorted; imports none of them."""
    return [entry.name for entry in shipped().specs]


def known_specs() -> list[str]:
    """Names of all specs that a name finds, the shipped ones first; imports none of them."""
    return [*shipped_specs(), *dict.fromkeys(entry.name for entry in installed().specs)]


def _add_folder(folder: Path, found: Catalog, package: str = "", origin: str = "") -> None:
    """Add the modules of a package that are specs or families."""
    for path in sorted(folder.glob("*.py")):
        if path.stem == "__init__":
            continue
        module = f"{package}.{path.stem}" if package else ""
        if path.stem.startswith(FAMILY_PREFIX):
            name = path.stem.removeprefix(FAMILY_PREFIX)
            found.families.append(Entry(name, path, module, origin))
        elif _defines_spec(path):
            found.specs.append(Entry(path.stem, path, module, origin))


def _add_plugin(plugin: Plugin, found: Catalog) -> None:
    if plugin.attribute not in ("", "SPEC"):
        _add_problem(plugin, f"names {plugin.attribute!r}; it has to name a module only", found)
        return
    places = list(_candidate_paths(plugin.module))
    if not places:
        _add_problem(plugin, f"names the module {plugin.module!r}, which is not there", found)
        return
    place = places[0]
    file = place / "__init__.py" if place.is_dir() else place
    before = len(found.specs) + len(found.families)
    if file.is_file() and _defines_spec(file):
        found.specs.append(Entry(plugin.name, file, plugin.module, plugin.origin))
    elif file.stem.startswith(FAMILY_PREFIX):
        found.families.append(Entry(plugin.name, file, plugin.module, plugin.origin))
    if place.is_dir():
        _add_folder(place, found, plugin.module, plugin.origin)
    if before == len(found.specs) + len(found.families):
        _add_problem(plugin, f"names {plugin.module!r}, in which there is no SPEC", found)


def _unlike(ours: list[Entry], theirs: list[Entry], problems: list[str]) -> list[Entry]:
    """Theirs, sorted by name, without those that are called as ours are: these cannot be meant."""
    names = {entry.name for entry in ours}
    for entry in theirs:
        if entry.name in names:
            hidden = f"{entry.name!r} is the name of a shipped one; give the file {entry.path}"
            problems.append(f"{entry.origin}: {hidden}")
    return sorted((e for e in theirs if e.name not in names), key=lambda e: (e.name, e.origin))


def _add_problem(plugin: Plugin, problem: str, found: Catalog) -> None:
    found.problems.append(
        f"{plugin.origin}: its entry point {plugin.name!r} ({GROUP}) {problem}; update the"
        " package, or uninstall it"
    )


def _candidate_paths(module: str) -> Iterator[Path]:
    """Files of a module, or folders where it is a package, the right one first."""
    top, *rest = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return
    if spec.submodule_search_locations is None:
        if not rest and spec.origin and Path(spec.origin).is_file():
            yield Path(spec.origin)
        return
    folders = [Path(folder) for folder in spec.submodule_search_locations]
    for part in rest[:-1]:
        folders = [folder / part for folder in folders]
    if rest:
        name = rest[-1]
        yield from (f / name for f in folders if (f / name / "__init__.py").is_file())
        yield from (f / f"{name}.py" for f in folders if (f / f"{name}.py").is_file())
        folders = [folder / name for folder in folders]
    yield from (folder for folder in folders if folder.is_dir())


def _defines_spec(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(r"^SPEC\b", text, re.MULTILINE) is not None


@dataclass(frozen=True)
class Family:
    """One family; its module is imported when it is first needed, and may then raise SpecError."""

    entry: Entry

    @property
    def name(self) -> str:
        """What stands before the colon."""
        return self.entry.name

    @property
    def module(self) -> ModuleType:
        """The module that is the family."""
        entry = self.entry
        name = entry.module or f"{entry.package}.{entry.path.stem}"
        return import_named(name, entry.path, entry.name)

    @property
    def title(self) -> str:
        """One line."""
        return inspect.cleandoc(self.module.__doc__ or "").partition("\n")[0]

    @property
    def example(self) -> str:
        """A reference to one of its members, e.g. ``metaworld:push-v3``."""
        return f"{self.name}:{self._part('EXAMPLE')}"

    def members(self) -> Sequence[str]:
        """Names of the members, sorted. Raises SpecError where a package is missing."""
        members = self._part("members")
        try:
            return sorted(members())
        except BaseException as error:
            reraise_interrupt(error)
            raise SpecError(self._explained(self.name, error)) from error

    def own_file(self, member: str) -> Path | None:
        """The spec file that a member has of its own, if it has one."""
        name: str | None = getattr(self.module, "SHIPPED", {}).get(member)
        return self.entry.path.with_name(f"{name}.py") if name else None

    def source(self, member: str) -> str:
        """Text of a member's spec module. Raises SpecError."""
        ref = f"{self.name}:{member}"
        source = self._part("source")
        try:
            with activity.call(IMPORT), foreign(ref), exit_raises(), time_limit(LIMIT):
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
        """What the module has to hold. Raises SpecError where it does not."""
        try:
            return getattr(self.module, name)
        except AttributeError:
            words = f"a family without {name}; `promptpo/spec/catalog.py` says what it holds"
            raise SpecError(f"{self.entry.path}: {words}") from None

    def _explained(self, ref: str, error: BaseException) -> str:
        return ": ".join(explain(error, Path(ref), getattr(self.module, "INSTALL", "")))


def families() -> list[Family]:
    """The families by name, the shipped ones first; imports none of them."""
    return [Family(entry) for entry in shipped().families + installed().families]


def split(ref: str) -> tuple[Family, str] | None:
    """Family and member that ``family:member`` names; None where a reference is of another form.

    Raises SpecError where there is no such family.
    """
    name, colon, member = ref.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        return None
    return family(name, f":{member}"), member


def family(name: str, rest: str = "") -> Family:
    """The family of a name. Raises SpecError; ``rest`` is what followed the name."""
    known = {found.name: found for found in reversed(families())}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}{rest}?" if near else f"families: {', '.join(sorted(known))}"
        raise SpecError(f"{name}{rest}: no such family of specs; {hint}")
    return known[name]


def expanded(refs: Iterable[str]) -> Iterator[str]:
    """What was named; ``family:`` stands for its members without a file of their own.

    Raises SpecError where there is no such family, or its package is missing.
    """
    for ref in refs:
        found = split(ref) if ref.endswith(":") else None
        if found is None:
            yield ref
        else:
            yield from (f"{ref}{m}" for m in found[0].members() if not found[0].own_file(m))


def name_of(ref: str) -> str:
    """Name of the spec ``family:member``: as in folder names, without ``:`` and ``/``."""
    return re.sub(r"[^\w.-]+", "_", ref)


@dataclass(frozen=True)
class Member:
    """A member of a family that has no file of its own."""

    family: Family
    name: str

    @property
    def ref(self) -> str:
        """``family:member``."""
        return f"{self.family.name}:{self.name}"


def find(ref: str) -> Entry | Member:
    """What a reference names. Raises SpecError where that is nothing, or more than one thing.

    In this order: a file, or a folder in which a run or an export keeps a spec; a shipped spec;
    ``family:member``; a spec of an installed package; the file ``REF.py``.
    """
    if file := _file(ref):
        return file
    ours = {entry.name: entry for entry in shipped().specs}
    if ref in ours:
        return ours[ref]
    if found := split(ref):
        family, member = found
        own = family.own_file(member)
        return _at(own) if own else Member(family, member)
    theirs = installed()
    if entry := _only([entry for entry in theirs.specs if entry.name == ref]):
        return entry
    if file := _file(f"{ref}.py"):
        return file
    raise SpecError(_unknown(ref, [*ours, *(e.name for e in theirs.specs)], theirs))


def _file(ref: str) -> Entry | None:
    """The file of that path, if there is one."""
    try:
        path = Path(ref).expanduser()
        if path.is_dir() and (kept := read_manifest(path)):
            path /= kept.module
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
    kept = read_manifest(home.root)
    name = kept.name if kept and kept.module == home.module else path.stem
    return Entry(name, path, listed=False)


def _at(path: Path) -> Entry:
    """The spec in a file that a name may find, too."""
    listed = [*shipped().specs, *installed().specs]
    unlisted = Entry(path.stem, path, listed=False)
    return next((entry for entry in listed if entry.path == path), unlisted)


def _only(entries: list[Entry]) -> Entry | None:
    """The one of installed specs with equal names. Raises SpecError where there are several."""
    if len({entry.path for entry in entries}) > 1:
        several = " and ".join(f"{entry.origin} ({entry.path})" for entry in entries)
        name = entries[0].name
        raise SpecError(f"{name}: several installed packages have it: {several}; give the file")
    return entries[0] if entries else None


def _unknown(ref: str, known: list[str], theirs: Catalog) -> str:
    """Why nothing is found, and what was perhaps meant."""
    path = Path(ref)
    if path.is_dir():
        return f"{ref}: is a folder; name one spec file in it (`promptpo list` shows other specs)"
    here = {file.stem: file for file in path.parent.glob("*.py")}
    near = [
        name if name in known else str(here[name])
        for name in difflib.get_close_matches(path.stem, {*known, *here}, n=3, cutoff=0.5)
    ]
    kind = "file" if path.suffix or len(path.parts) > 1 else "spec"
    hint = f"did you mean {', '.join(near)}?" if near else "`promptpo list` shows those with names"
    broken = "".join(f" ({problem})" for problem in theirs.problems)
    return f"{ref}: no such {kind}; {hint}{broken}"
