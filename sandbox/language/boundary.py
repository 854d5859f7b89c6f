"""The boundary between programs and scipy: what crosses it is exact, and a copy.

Compiled code keeps pointers into the arrays that it works on, and trusts the numbers that it is
given. So a program's arrays never get there, nor numbers of classes that answer differently each
time: ``taken`` copies what goes in, ``given`` what comes out, and neither asks an object what it
is. Whatever is not in their tables is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from sandbox.language.names import readable

_Held = TypeVar("_Held", bound="Held")

_NUMBERS = frozenset("?bBhHiIlLqQefdgFDG")
#: What nobody can change: these classes, and none that inherits from them.
_SIMPLE = frozenset({float, bool, complex, str, *(np.dtype(letter).type for letter in _NUMBERS)})
#: Simple values with what means "not given".
PLAIN = _SIMPLE | {type(None)}
_LARGEST = 1 << 64


class RefusedError(TypeError):
    """A value does not cross the boundary."""


def taken(value: Any, other: Callable[[Any], object]) -> Any:  # noqa: ANN401 - anything at all
    """``value`` for scipy, copied; ``other`` decides about what is not in the tables.

    Raises:
        RefusedError: it holds something else.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind is int:
        return _integer(value)
    if kind is np.ndarray:
        return _array(value)
    if kind is list or kind is tuple:
        return kind([v if type(v) in _SIMPLE else _inside(v, other) for v in value])
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise RefusedError("keys must be strings")
        return {key: taken(inner, other) for key, inner in value.items()}
    return other(value)


def _inside(value: object, other: Callable[[Any], object]) -> object:
    """An item of a list: None, which would make an array of objects, is left to ``other``."""
    return other(None) if value is None else taken(value, other)


def _integer(value: int) -> int:
    if -_LARGEST < value < _LARGEST:
        return value
    raise RefusedError("an integer is too large: give a float")


def _array(value: NDArray[Any]) -> NDArray[Any]:
    kind = value.dtype
    if kind.char not in _NUMBERS:
        raise RefusedError(f"an array of type {kind} cannot be given: give one of numbers")
    # In memory as it was, without gaps: results may depend on the order in the last bit.
    return value.copy("K") if kind.isnative else value.astype(kind.newbyteorder("="))


def refused(value: object) -> NoReturn:
    """Refuse a value.

    Raises:
        RefusedError: always.
    """
    if value is None:
        raise RefusedError("None cannot be an item here: give numbers")
    if callable(value):
        raise RefusedError("a function or a class cannot be given here")
    what = f"an object of class {readable(type(value).__name__)}"
    raise RefusedError(f"{what} cannot be given: give numbers, strings, lists, tuples or arrays")


#: Classes of scipy with what stands for their objects.
_classes: dict[type, type[Held]] = {}


def given(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """``value``, which scipy made, for a program: a copy.

    Raises:
        RefusedError: it is or holds what programs cannot have.
    """
    kind = type(value)
    if kind in PLAIN or kind is int:
        return value
    if kind is np.ndarray:
        return given(value.tolist()) if value.dtype.hasobject else value.copy("K")
    if kind is list or kind is tuple or kind is set:
        return kind(map(given, value))
    if kind is dict:
        return {key: given(inner) for key, inner in value.items()}
    if kind in _classes:
        return _held(_classes[kind], value)
    return _converted(value)


def _converted(value: Any) -> object:  # noqa: ANN401 - anything at all
    """What stands for an object of a class that is in no table."""
    kind = type(value)
    if kind is Record:
        count = len(_items_of(value) or ())
        return _record(_kind_of(value), dict(vars(value)), count)
    if isinstance(value, dict):
        return _record(kind.__name__, value)
    if isinstance(value, tuple):
        names = (*getattr(value, "_fields", ()), *getattr(value, "_extra_fields", ()))
        return _record(kind.__name__, {name: getattr(value, name) for name in names}, len(value))
    if kind.__name__ == "Bunch":  # of scipy.signal
        return _record(kind.__name__, vars(value))
    if isinstance(value, np.ndarray):
        return given(np.array(value))
    if isinstance(value, int):
        return int(value)
    raise RefusedError(f"an object of class {kind.__name__} is not available to programs")


class _Fixed:
    """What programs read, and neither write to nor inherit from nor make by themselves."""

    __slots__ = ()

    def __init_subclass__(cls, key: object = None) -> None:
        if key is not _KEY:
            raise TypeError(f"{cls.__bases__[0].__name__} is no base class: keep one in self")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} is read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is read-only")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be taken apart")

    def __copy__(self) -> object:
        return self


_KEY = object()


class Record(_Fixed, key=_KEY):
    """What a function found, by attribute and by key; what is a tuple of scipy, by number too."""

    __slots__ = ("__dict__", "_items", "_kind")

    def __new__(cls, *args: object, **options: object) -> Record:
        """Refused: results come of functions."""
        raise TypeError("results are not made by hand: use a dict")

    def __getitem__(self, key: Any) -> object:  # noqa: ANN401 - a name or a number
        items = _items_of(self)
        if items is not None and type(key) is not str:
            return items[key]
        return vars(self)[key]

    def __len__(self) -> int:
        return len(_items_of(self) or vars(self))

    def __iter__(self) -> Iterator[object]:
        items = _items_of(self)
        return iter(vars(self) if items is None else items)

    def __contains__(self, key: object) -> bool:
        items = _items_of(self)
        return key in (vars(self) if items is None else items)

    def keys(self) -> list[str]:
        """The names of what was found."""
        return list(vars(self))

    def values(self) -> list[object]:
        """What was found."""
        return list(vars(self).values())

    def items(self) -> list[tuple[str, object]]:
        """Names with what was found."""
        return list(vars(self).items())

    def get(self, key: str, default: object = None) -> object:
        """What was found by a name, or ``default``."""
        return vars(self).get(key, default)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{_kind_of(self)}({inside})"

    def __deepcopy__(self, memo: object) -> object:
        return given(self)


# Found by no name that a program can set.
_items_of: Callable[[Record], tuple[object, ...] | None] = vars(Record)["_items"].__get__
_kind_of: Callable[[Record], str] = vars(Record)["_kind"].__get__


def items_of(found: Record) -> tuple[object, ...] | None:
    """What ``found`` holds as a tuple, or None where it is by name alone."""
    return _items_of(found)


def _record(kind: str, fields: Mapping[str, object], count: int = 0) -> Record:
    """A record of copies, without what programs cannot have; the first ``count`` also by number."""
    made = object.__new__(Record)
    for name, value in fields.items():
        if type(name) is str and name.isidentifier() and not name.startswith("_"):
            with contextlib.suppress(RefusedError):
                vars(made)[name] = given(value)
    items = tuple(vars(made).values())[:count] if count else None
    object.__setattr__(made, "_items", items)
    object.__setattr__(made, "_kind", kind)
    return made


class Held(_Fixed, key=_KEY):
    """An object of scipy over copies: it is called, and never seen."""

    __slots__ = ("_real",)

    def __deepcopy__(self, memo: object) -> object:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


real_of: Callable[[Held], Any] = vars(Held)["_real"].__get__


def _held(kind: type[_Held], real: object) -> _Held:
    made = object.__new__(kind)
    object.__setattr__(made, "_real", real)
    return made


def stands_for(real: type, contents: Mapping[str, object]) -> type[Held]:
    """A class whose objects stand for those of ``real``; ``contents`` is what they can do."""
    made = type(real.__name__, (Held,), {"__slots__": (), **contents}, key=_KEY)
    _classes[real] = made
    return made
