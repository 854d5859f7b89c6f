"""What ``import`` finds, for one namespace."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.language import names, roots
from sandbox.language.catalog import library_members, shared_facades, tree
from sandbox.language.facades import Facade, facade, member
from sandbox.language.hardening import forget, harden
from sandbox.language.numpy_facade import HINTS, numpy_members
from sandbox.language.randomness import Randomness
from sandbox.libraries import SCIPY, importable_modules

#: Libraries that are loaded, by module: what of each is offered.
Loaded = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Offer:
    """What programs may import here; satisfies ``imports.Importable``."""

    modules: frozenset[str]

    def absent(self, module: str, name: str) -> str | None:
        """Why ``from module import name`` cannot work, or None where it may."""
        if f"{module}.{name}" in self.modules:
            return None
        if module == "numpy":
            if name in numpy_members():
                return None
            hint = HINTS.get(name)
            return f"not available: {hint}" if hint else "numpy has no such public name"
        shared = shared_facades().get(module)
        if shared is None or hasattr(shared, name):
            return None
        there = ", ".join(sorted(n for n in vars(shared) if n[0] != "_"))
        return f"not available; {module} offers {there}"


def importable(extra: tuple[str, ...] = ()) -> Offer:
    """What a program may import whose caller adds ``extra``."""
    return Offer(importable_modules(extra))


def load_libraries(wanted: tuple[str, ...]) -> Loaded:
    """Import ``wanted``; what is not installed is left out."""
    loaded: dict[str, dict[str, object]] = {}
    for name in wanted:
        try:
            loaded[name] = library_members(name)
            harden(loaded[name].values())
        except ImportError:
            continue
    forget()
    roots.mend()
    return loaded


def library_facades(loaded: Loaded, extra: tuple[str, ...]) -> dict[str, Facade]:
    """Facades for one program: of all that the process has loaded, what this program may import."""
    return tree({n: members for n, members in loaded.items() if n in SCIPY or n in extra})


_NOTHING = facade("nothing", {})


def import_hook(name: str, *rest: object) -> Facade:
    """``__import__`` for C code that imports through the running frame.

    numpy loads parts of itself that way (array methods, printing). Such code takes the module from
    ``sys.modules`` afterwards and drops what this returns; so it returns nothing worth having. A
    program's own import statements never come here.

    Raises:
        ImportError: the module was not loaded before the lock-down.
    """
    if name in sys.modules:
        return _NOTHING
    raise ImportError(f"`{name}` is not available")


class Library:
    """The importer of one namespace: shared facades plus those with an episode's own state."""

    def __init__(self, randomness: Randomness, extra: Mapping[str, Facade]) -> None:
        """``extra``: what ``library_facades`` made for the program."""
        random = randomness.python_random
        self.numpy = facade(
            "numpy", numpy_members(), HINTS, lazy={"random": randomness.numpy_random}
        )
        self._modules: dict[str, Facade] = {**shared_facades(), **extra, "numpy": self.numpy}
        self._lazy = {"random": random, "time": randomness.clock}

    def find(self, module: str, name: str | None = None) -> object:
        """What ``import module`` or ``from module import name`` binds.

        Only facades are walked through, whatever the names are: a compile-time check is not needed.

        Raises:
            ImportError: there is no such module or name.
        """
        inner = self._module(module)
        return inner if name is None else _imported(inner, name)

    def _module(self, module: str) -> Facade:
        known = self._modules.get(module)
        if known is None and module in self._lazy:
            known = self._modules[module] = self._lazy[module]()
        if known is not None:
            return known
        parent, _, child = module.rpartition(".")
        if not parent:
            raise ModuleNotFoundError(f"`{names.readable(module)}` is not installed here")
        inner = _imported(self._module(parent), child)
        if isinstance(inner, Facade):
            return inner
        raise ImportError(f"`{names.readable(module)}` is no module")


def _imported(module: Facade, name: str) -> object:
    try:
        return member(module, name)
    except AttributeError as error:
        raise ImportError(str(error)) from None
