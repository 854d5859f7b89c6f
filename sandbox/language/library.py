"""Facades of the libraries that are offered, which ``import`` binds."""

from __future__ import annotations

import abc
import contextlib
import copy
import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing

from sandbox.language import names, scipy_library
from sandbox.language.facades import Facade, facade, public_members
from sandbox.language.guards import BUILTINS, Printer, call, guarded_getattr
from sandbox.language.randomness import Randomness
from sandbox.libraries import OFFERED, SCIPY, TABLES, WHOLE, importable_modules

#: Absent names of numpy, with the reason.
_NUMPY_HINTS = names.by_name(TABLES["numpy_hints"])


@dataclass(frozen=True)
class Offer:
    """Modules that programs may import, by their dotted names."""

    modules: frozenset[str]

    def absent(self, module: str, name: str) -> str | None:
        """Return why ``from module import name`` cannot work, or None where it may."""
        shared = shared_facades().get(module)
        if shared is None or hasattr(shared, name) or f"{module}.{name}" in self.modules:
            return None
        if module == "numpy":
            hint = _NUMPY_HINTS.get(name)
            return f"not available: {hint}" if hint else "numpy has no such public name"
        there = ", ".join(sorted(n for n in vars(shared) if n[0] != "_"))
        return f"not available; {module} offers {there}"


def importable(extra: tuple[str, ...] = ()) -> Offer:
    """Return what a program may import whose caller adds ``extra``."""
    return Offer(importable_modules(extra))


class Runtime:
    """Contents of programs' namespaces; made once, before processes are forked.

    Attributes:
        printer: takes what is printed.
        randomness: chance and time.
    """

    def __init__(self, libraries: tuple[str, ...] = ()) -> None:
        """Load ``libraries``, which programs may import besides."""
        self.printer, self.randomness = Printer(), Randomness()
        clock = facade("time", self.randomness.clocks())
        modules = {**shared_facades(), **tree(load_libraries(libraries)), "time": clock}

        def find(module: str, name: str | None = None) -> object:
            """Return what ``import module`` or ``from module import name`` binds."""
            if module not in modules:
                raise ModuleNotFoundError(f"`{names.readable(module)}` is not installed here")
            try:
                return modules[module] if name is None else getattr(modules[module], name)
            except AttributeError as error:
                raise ImportError(str(error)) from None

        own = {"print": self.printer.write, names.PREFIX + "import": find}
        self._names = {
            "__builtins__": {**BUILTINS, **own},
            "__name__": names.MODULE,
            "math": modules["math"],
            "np": modules["numpy"],
            "random": modules["random"],
        }

    def namespace(self) -> dict[str, Any]:
        """Return a new namespace in which a program is executed."""
        return dict(self._names)


def load_libraries(wanted: tuple[str, ...]) -> dict[str, dict[str, object]]:
    """Return what is offered of each of ``wanted``; what is not installed is left out."""
    loaded = {}
    for name in wanted:
        with contextlib.suppress(ImportError):
            if name in SCIPY:
                loaded[name] = scipy_library.members(name)
            else:
                loaded[name] = public_members(name, without=names.REFUSED_ATTRIBUTES)
    return loaded


@functools.cache
def shared_facades() -> dict[str, Facade]:
    """Return the facades that serve every namespace of the process."""
    members = {"numpy": public_members("numpy", without={*_NUMPY_HINTS, "random"})}
    for module in WHOLE:
        members[module] = public_members(module, without={"test"})
    for module, wanted in OFFERED.items():
        real = importlib.import_module(module)
        members[module] = {n: getattr(real, n) for n in wanted.split() if hasattr(real, n)}
    for module, own in _REPLACED.items():
        members[module] = {**members.get(module, {}), **own}
    return tree(members)


def tree(members: Mapping[str, Mapping[str, object]]) -> dict[str, Facade]:
    """Return a facade for each module, ``a.b`` being a member of ``a``, which is made if needed."""
    parents = {name[:i] for name in members for i, c in enumerate(name) if c == "."}
    facades: dict[str, Facade] = {}
    for name in sorted({*members, *parents}, reverse=True):
        offer = dict(members.get(name, {}))
        for child, below in facades.items():
            parent, _, inner = child.rpartition(".")
            if parent == name:
                offer[inner] = below
        hints = _NUMPY_HINTS if name == "numpy" else scipy_library.hints(name, offer)
        facades[name] = facade(name, offer, hints)
    return facades


# Functions of our own in the places of those that reach attributes by name, show names, or change
# settings.


def _attrgetter(*wanted: str) -> Callable[[object], object]:
    """``operator.attrgetter`` under the rules of getattr."""

    def get(obj: object) -> object:
        values = tuple(functools.reduce(guarded_getattr, name.split("."), obj) for name in wanted)
        return values[0] if len(values) == 1 else values

    return get


def _methodcaller(name: str, *args: object, **kwargs: object) -> Callable[[object], object]:
    """``operator.methodcaller`` under the rules of getattr."""
    return lambda obj: call(guarded_getattr(obj, name), *args, **kwargs)


def _fields(class_or_instance: Any) -> tuple[object, ...]:  # noqa: ANN401 - any dataclass
    """``dataclasses.fields``, with private names as they were written."""
    fields = tuple(map(copy.copy, dataclasses.fields(class_or_instance)))
    for field in fields:
        field.name = names.readable(field.name)
    return fields


def _asdict(obj: Any, *, dict_factory: Callable[..., object] = dict) -> object:  # noqa: ANN401 - any dataclass
    """``dataclasses.asdict``, with private names as they were written."""
    return dataclasses.asdict(
        obj, dict_factory=lambda pairs: dict_factory([(names.readable(n), v) for n, v in pairs])
    )


def _ignored(*args: object, **kwargs: object) -> None:
    """Do nothing: warnings have no reader here, and what arrays print is cut anyway."""


_REPLACED: dict[str, dict[str, object]] = {
    "abc": {"ABCMeta": abc.ABCMeta},
    "dataclasses": {"asdict": _asdict, "fields": _fields},
    "functools": {"update_wrapper": functools.update_wrapper, "wraps": functools.wraps},
    "numpy": {
        # Zeros, so that a program that reads what it has not written repeats itself.
        "empty": np.zeros,
        "empty_like": np.zeros_like,
        "set_printoptions": _ignored,
    },
    "numpy.typing": {"ArrayLike": object, "DTypeLike": object, "NDArray": numpy.typing.NDArray},
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "warnings": {
        "catch_warnings": lambda **options: contextlib.nullcontext([]),
        **dict.fromkeys(("filterwarnings", "simplefilter", "warn"), _ignored),
    },
}
