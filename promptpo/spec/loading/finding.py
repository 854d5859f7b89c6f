"""What a reference to a spec means: a file, a name, or a member of a family."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from promptpo.errors import SpecError
from promptpo.spec.loading import catalog
from promptpo.spec.loading.bundle import read_manifest
from promptpo.spec.loading.catalog import Entry
from promptpo.spec.loading.families import Family, split
from promptpo.spec.loading.home import home_of


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
    shipped = {entry.name: entry for entry in catalog.shipped().specs}
    if ref in shipped:
        return shipped[ref]
    if found := split(ref):
        family, member = found
        own = family.own_file(member)
        return _at(own) if own else Member(family, member)
    installed = catalog.installed()
    if entry := _only([entry for entry in installed.specs if entry.name == ref]):
        return entry
    if file := _file(f"{ref}.py"):
        return file
    raise SpecError(_unknown(ref, [*shipped, *(e.name for e in installed.specs)], installed))


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
    if path.parent == catalog.SHIPPED_FOLDER:
        return _at(path)
    home = home_of(path)
    kept = read_manifest(home.root)
    name = kept.name if kept and kept.module == home.module else path.stem
    return Entry(name, path, listed=False)


def _at(path: Path) -> Entry:
    """The spec in a file that a name may find, too."""
    listed = [*catalog.shipped().specs, *catalog.installed().specs]
    unlisted = Entry(path.stem, path, listed=False)
    return next((entry for entry in listed if entry.path == path), unlisted)


def _only(entries: list[Entry]) -> Entry | None:
    """The one of installed specs with equal names. Raises SpecError where there are several."""
    if len({entry.path for entry in entries}) > 1:
        several = " and ".join(f"{entry.origin} ({entry.path})" for entry in entries)
        name = entries[0].name
        raise SpecError(f"{name}: several installed packages have it: {several}; give the file")
    return entries[0] if entries else None


def _unknown(ref: str, known: list[str], installed: catalog.Catalog) -> str:
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
    broken = "".join(f" ({problem})" for problem in installed.problems)
    return f"{ref}: no such {kind}; {hint}{broken}"
