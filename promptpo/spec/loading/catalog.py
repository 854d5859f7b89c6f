"""Which specs and families there are by name: the shipped ones, and those of installed packages.

A package adds its own by entry points of the group ``promptpo.env_specs``. Each names a module that
is a spec (or a family), which is then called as the entry point is; or a package, whose modules
that are specs or families are called by their own names. Nothing is imported to find them.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from promptpo.common.plugins import Plugin, plugins

#: The package of shipped specs lies beside ``promptpo``, in a clone as in an installed wheel.
SHIPPED_FOLDER = Path(__file__).resolve().parents[3] / "env_specs"

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
