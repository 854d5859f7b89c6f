"""Where a spec's own modules lie: in its folder, or in the package that its folder belongs to."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path

#: Packages that are no spec's own, wherever it lies.
_PROMPTPO = Path(__file__).resolve().parents[2]
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
