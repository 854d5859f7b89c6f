"""Libraries as programs find them: what one episode does to them, the next does not see.

A program cannot set attributes of what it has not defined (``ownership``). But libraries set
attributes themselves, of whatever their methods are called on, hold containers that anybody may
fill, and remember what they were called with. This is mended here, once, in the sandbox's own
processes:

- containers become their immutable kin;
- methods that set attributes insist on an object of their class: taken off the class they would
  take anything (``UserList.__init__(np.mean, [])``);
- caches forget: a key of a program's own class would be compared with those of other episodes.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from sandbox.language.mappings import Named

_WRITES = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_WRITERS = frozenset({"setattr", "delattr", "__setattr__", "__delattr__", "__dict__"})
#: The immutable kin of what holds no further values.
_FLAT: dict[type, Callable[[Any], object]] = {set: frozenset, bytearray: bytes}
#: Modules whose caches are keyed by what programs may give; elsewhere keys are classes or names.
_FORGETFUL = ("typing", "fractions", "statistics", "numpy", "scipy.optimize", "scipy.signal")


def frozen(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """``value``, or its immutable kin if it is a container or an array."""
    kind = type(value)
    if kind is np.ndarray:
        fixed = value.copy()
        fixed.flags.writeable = False
        return fixed
    if kind is dict:
        return Named({key: frozen(inner) for key, inner in value.items()})
    if kind is list or kind is tuple:
        inside = tuple(map(frozen, value))
        same = all(a is b for a, b in zip(value, inside, strict=True))
        return value if same and kind is tuple else inside
    return _FLAT[kind](value) if kind in _FLAT else value


def harden(members: Iterable[object], *left: str) -> None:
    """Harden the classes among ``members``, but for methods called one of ``left``."""
    for member in members:
        if isinstance(member, type):
            for kind in member.__mro__:
                _harden_class(kind, left)


@functools.cache
def _harden_class(kind: type, left: tuple[str, ...]) -> None:
    if not kind.__flags__ & _HEAP or kind.__flags__ & _IMMUTABLE:
        return
    for name, value in list(vars(kind).items()):
        if isinstance(value, types.FunctionType):
            if value.__name__ not in (*left, "__new__") and _writes(value.__code__):
                setattr(kind, name, receiving(kind, value))
        elif isinstance(value, functools.cached_property) and hasattr(value, "lock"):
            value.lock = contextlib.nullcontext()
        elif not name.startswith("_"):
            fixed = frozen(value)
            if fixed is not value:
                setattr(kind, name, fixed)


_HEAP, _IMMUTABLE = 1 << 9, 1 << 8


def _writes(code: types.CodeType) -> bool:
    """Whether a function, or one inside it, sets attributes."""
    if not _WRITERS.isdisjoint(code.co_names):
        return True
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return any(i.opname in _WRITES for i in dis.get_instructions(code)) or any(map(_writes, inner))


def receiving(kind: type, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` as a method that insists on an object of ``kind`` to be called on."""

    @functools.wraps(function)
    def method(self: object, /, *args: Any, **keywords: Any) -> Any:  # noqa: ANN401 - as the function
        if kind not in type(self).__mro__:
            raise TypeError(f"{kind.__name__}.{function.__name__} is for objects of its class")
        return function(self, *args, **keywords)

    return method


def forget() -> None:
    """Take the caches out of libraries that are loaded."""
    for name, module in list(sys.modules.items()):
        if name.startswith(_FORGETFUL) and isinstance(module, types.ModuleType):
            _uncache(module)
            for kind in _classes(module):
                _uncache(kind)


def _classes(module: types.ModuleType) -> Iterator[type]:
    kinds = (value for value in list(vars(module).values()) if isinstance(value, type))
    return (kind for kind in kinds if kind.__module__ == module.__name__)


def _uncache(holder: types.ModuleType | type) -> None:
    for name, value in list(vars(holder).items()):
        value = getattr(value, "__func__", value)  # noqa: PLW2901 - of a class method
        if isinstance(value, functools._lru_cache_wrapper) and not isinstance(holder, type):
            setattr(holder, name, value.__wrapped__)
        elif isinstance(value, types.FunctionType):
            for cell in value.__closure__ or ():
                with contextlib.suppress(ValueError):  # an empty cell
                    if isinstance(cell.cell_contents, functools._lru_cache_wrapper):
                        cell.cell_contents = cell.cell_contents.__wrapped__
        elif type(value) is dict and name == "_caches":  # typing of newer Pythons
            value.update((key, key) for key in list(value))
