"""What ``import`` finds: facades of the libraries that are offered."""

from __future__ import annotations

import abc
import dataclasses
import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.language import names, scipy_library
from sandbox.language.facades import Facade, facade, member, public_members
from sandbox.language.formatting import Printer
from sandbox.language.guards import call, guarded_getattr, make_builtins
from sandbox.language.numpy_facade import HINTS, numpy_members
from sandbox.language.randomness import NUMPY_FUNCTIONS, RANDOM_FUNCTIONS, Randomness
from sandbox.libraries import SCIPY, STDLIB, WHOLE, importable_modules

#: Libraries that are loaded, by module: what of each is offered.
Loaded = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Offer:
    """What programs may import here; satisfies ``rewriter.Importable``."""

    modules: frozenset[str]

    def absent(self, module: str, name: str) -> str | None:
        """Return why ``from module import name`` cannot work, or None where it may."""
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
    """Return what a program may import whose caller adds ``extra``."""
    return Offer(importable_modules(extra))


def load_libraries(wanted: tuple[str, ...]) -> Loaded:
    """Import ``wanted``; what is not installed is left out."""
    loaded: dict[str, Mapping[str, object]] = {}
    for name in wanted:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name in SCIPY:
            loaded[name] = scipy_library.members(name)
        else:
            loaded[name] = public_members(module, frozenset(names.REFUSED_ATTRIBUTES))
    return loaded


class Runtime:
    """What programs find in their namespaces; made once, before processes are forked.

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
            inner = _module(modules, module)
            return inner if name is None else _imported(inner, name)

        self._names = {
            "__builtins__": make_builtins(self.printer, find),
            "__name__": names.MODULE,
            "np": modules["numpy"],
            "math": modules["math"],
        }
        self._random = modules["random"]

    def namespace(self, source: str) -> dict[str, Any]:
        """Return the namespace in which a program of this text is executed."""
        if "random" in source:
            return {**self._names, "random": self._random}
        return dict(self._names)


def _module(modules: Mapping[str, Facade], name: str) -> Facade:
    """Return the module of this name; only facades are walked through.

    Raises:
        ImportError: there is no such module.
    """
    known = modules.get(name)
    if known is not None:
        return known
    parent, _, child = name.rpartition(".")
    if not parent:
        raise ModuleNotFoundError(f"`{names.readable(name)}` is not installed here")
    inner = _imported(_module(modules, parent), child)
    if isinstance(inner, Facade):
        return inner
    raise ImportError(f"`{names.readable(name)}` is no module")


def _imported(module: Facade, name: str) -> object:
    try:
        return member(module, name)
    except AttributeError as error:
        raise ImportError(str(error)) from None


@functools.cache
def shared_facades() -> dict[str, Facade]:
    """Return the facades that serve every namespace of the process."""
    members: dict[str, Mapping[str, object]] = {}
    for module, wanted in STDLIB.items():
        real = importlib.import_module(module)
        offered = {name: getattr(real, name) for name in wanted.split() if hasattr(real, name)}
        members[module] = {**offered, **_REPLACED.get(module, {})}
    for module in (*WHOLE, "operator"):
        public = public_members(importlib.import_module(module), frozenset())
        members[module] = {**public, **_REPLACED.get(module, {})}
    members["warnings"] = _REPLACED["warnings"]
    for module, wanted_names in (("numpy.random", NUMPY_FUNCTIONS), ("random", RANDOM_FUNCTIONS)):
        real = importlib.import_module(module)
        members[module] = {n: getattr(real, n) for n in wanted_names if hasattr(real, n)}
    facades = tree(members)
    numpy = {**numpy_members(), "random": facades["numpy.random"]}
    return {**facades, "numpy": facade("numpy", numpy, HINTS)}


def tree(members: Mapping[str, Mapping[str, object]]) -> dict[str, Facade]:
    """Return a facade for each module, ``a.b`` being a member of ``a``, which is made if needed."""
    parents = {name[:i] for name in members for i, c in enumerate(name) if c == "."}
    facades: dict[str, Facade] = {}
    for name in sorted({*members, *parents}, reverse=True):
        inside = {
            child.rpartition(".")[2]: below
            for child, below in facades.items()
            if child.rpartition(".")[0] == name
        }
        offer = {**members.get(name, {}), **inside}
        facades[name] = facade(name, offer, scipy_library.hints(name, offer))
    return facades


# Own versions of functions that reach attributes by name, or show names.


def _attrgetter(*wanted: str) -> Callable[[object], object]:
    """``operator.attrgetter`` under the rules of getattr."""

    def get(obj: object) -> object:
        values = tuple(functools.reduce(guarded_getattr, name.split("."), obj) for name in wanted)
        return values[0] if len(values) == 1 else values

    return get


def _methodcaller(name: str, *args: object, **kwargs: object) -> Callable[[object], object]:
    """``operator.methodcaller`` under the rules of getattr."""

    def run(obj: object) -> object:
        method: Any = guarded_getattr(obj, name)
        return call(method, *args, **kwargs)

    return run


def _dataclass(cls: type | None = None, /, **options: bool) -> object:
    """``dataclasses.dataclass`` whose ``repr`` shows private names as they were written."""

    def decorate(kind: type) -> type:
        own = "__repr__" in vars(kind)
        make: Callable[[type], type] = dataclasses.dataclass(**options)
        made = make(kind)
        plain = vars(made).get("__repr__")
        if not own and plain is not None:
            setattr(made, "__repr__", lambda self: names.readable(plain(self)))  # noqa: B010
        return made

    return decorate if cls is None else decorate(cls)


def _fields(class_or_instance: Any) -> tuple[object, ...]:  # noqa: ANN401 - any dataclass
    """``dataclasses.fields``, with private names as they were written."""
    fields = []
    for real in dataclasses.fields(class_or_instance):
        shown: Any = dataclasses.field()
        for name in dataclasses.Field.__slots__:
            if not name.startswith("_"):
                setattr(shown, name, getattr(real, name))
        shown.name = names.readable(real.name)
        fields.append(shown)
    return tuple(fields)


def _asdict(obj: Any, *, dict_factory: Callable[..., object] = dict) -> object:  # noqa: ANN401 - any dataclass
    """``dataclasses.asdict``, with private names as they were written."""

    def factory(pairs: list[tuple[str, object]]) -> object:
        return dict_factory([(names.readable(name), value) for name, value in pairs])

    made: object = dataclasses.asdict(obj, dict_factory=factory)
    return made


def _quiet(*args: object, **kwargs: object) -> None:
    """``warnings`` have no reader here."""


class _CatchWarnings:
    """``warnings.catch_warnings``: an empty context."""

    def __init__(self, **kwargs: object) -> None:
        """Take what the real one takes."""

    def __enter__(self) -> list[object]:
        return []

    def __exit__(self, *args: object) -> None:
        return None


_REPLACED: dict[str, dict[str, object]] = {
    "abc": {"ABCMeta": abc.ABCMeta},
    "dataclasses": {"asdict": _asdict, "dataclass": _dataclass, "fields": _fields},
    "functools": {"update_wrapper": functools.update_wrapper, "wraps": functools.wraps},
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "warnings": {
        **dict.fromkeys(("filterwarnings", "simplefilter", "warn"), _quiet),
        "catch_warnings": _CatchWarnings,
    },
}
