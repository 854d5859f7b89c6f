"""What ``import`` finds, for one namespace."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from sandbox.language import names
from sandbox.language.catalog import SCIPY, STDLIB, WHOLE, library_facade, shared_facades
from sandbox.language.facades import Facade
from sandbox.language.numpy_facade import HINTS, numpy_members
from sandbox.language.randomness import Randomness, clock_facade

_NUMPY = ("linalg", "fft", "random", "typing", "polynomial", "exceptions", "lib.stride_tricks")
_BASE = frozenset(
    {*STDLIB, *WHOLE, "operator", "warnings", "random", "time", "numpy", "numpy.lib"}
    | {f"numpy.{name}" for name in _NUMPY}
)
_SCIPY_NAMES = frozenset({"scipy"} | {f"scipy.{name}" for name in SCIPY})


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
        facade = shared_facades().get(module)
        if facade is None or hasattr(facade, name):
            return None
        there = ", ".join(sorted(n for n in vars(facade) if n[0] != "_"))
        return f"not available; {module} offers {there}"


@functools.cache
def _has_scipy() -> bool:
    # Asked in the warm parent first: after the lock-down nothing can be found any more.
    return find_spec("scipy") is not None


def importable(extra: tuple[str, ...] = ()) -> Offer:
    """The modules of this sandbox, those of ``extra`` included."""
    scipy = _SCIPY_NAMES if _has_scipy() else frozenset[str]()
    parents = {name[:i] for name in extra for i, c in enumerate(name) if c == "."}
    return Offer(_BASE | scipy | frozenset(extra) | parents)


def _listed() -> tuple[str, ...]:
    """Whole libraries by their name; of scipy, of which there is a part, each module."""
    offered = importable().modules
    listed = {name for name in offered if "." not in name or name in _SCIPY_NAMES}
    return ("numpy", *sorted(listed - {"numpy", "scipy"}))


#: What every program may import here, numpy first: for prompts and messages.
ALLOWED_IMPORTS = _listed()


def needed_libraries(source: str, extra: tuple[str, ...]) -> tuple[str, ...]:
    """Modules to load before the process is locked down, for this source."""
    scipy = tuple(f"scipy.{name}" for name in SCIPY) if "scipy" in source else ()
    return scipy + extra


def load_libraries(wanted: tuple[str, ...]) -> dict[str, Facade]:
    """Facades over ``wanted``; what is not installed is left out."""
    found: dict[str, Facade] = {}
    for name in wanted:
        try:
            found[name] = library_facade(name)
        except ImportError:
            continue
    for name in sorted(found):
        _attach(found, name)
    return found


def _attach(found: dict[str, Facade], name: str) -> None:
    """Hang ``a.b`` under ``a``, making an empty ``a`` where there is none."""
    parent, _, child = name.rpartition(".")
    if parent:
        facade = found.setdefault(parent, Facade(parent, {}))
        facade.__dict__[child] = found[name]
        _attach(found, parent)


_NOTHING = Facade("nothing", {})


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
        random = randomness.python_random
        self.numpy = Facade(
            "numpy", numpy_members(), HINTS, lazy={"random": randomness.numpy_random}
        )
        self._modules: dict[str, Facade] = {**shared_facades(), **extra, "numpy": self.numpy}
        self._lazy = {"random": random, "time": clock_facade}

    def find(self, module: str, name: str | None = None) -> object:
        """What ``import module`` or ``from module import name`` binds.

        Raises:
            ImportError: there is no such module or name.
        """
        found = self._module(module)
        if name is None:
            return found
        try:
            return getattr(found, name)
        except AttributeError as error:
            raise ImportError(str(error)) from None

    def _module(self, module: str) -> object:
        known = self._modules.get(module)
        if known is None and module in self._lazy:
            known = self._modules[module] = self._lazy[module]()
        if known is not None:
            return known
        parent, _, child = module.rpartition(".")
        if not parent:
            raise ImportError(f"`{names.readable(module)}` is not installed here")
        return getattr(self._module(parent), child)
