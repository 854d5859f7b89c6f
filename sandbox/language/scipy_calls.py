"""Functions and classes of scipy as programs call them: copies go in, and copies come out."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sandbox.language.names import readable
from sandbox.language.scipy_tables import MAKERS, METHODS

Function = Callable[..., Any]

#: What is given as it is. Classes that inherit from these answer differently, if they like.
_PLAIN = frozenset(
    {float, int, bool, complex, str, type(None), slice, range}
    | {np.random.Generator, np.random.RandomState}
    | {np.dtype(letter).type for letter in "?bBhHiIlLqQefdgFDG"}
)


class RefusedError(TypeError):
    """A value that scipy is not given."""


class Held:
    """An object of scipy: it is called, and never seen."""

    __slots__ = ("_real",)
    _real: Any

    def __copy__(self) -> Held:
        return self

    def __deepcopy__(self, memo: object) -> Held:
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


#: Classes of scipy with what stands for their objects.
_classes: dict[type, type[Held]] = {}


class _Passed:
    """An argument that scipy hands on to a function of the program, which gets it as it is."""

    def __init__(self, value: Any) -> None:  # noqa: ANN401 - anything at all
        self.value = value

    def __iter__(self) -> Any:  # noqa: ANN401 - solve_ivp takes lists of arguments
        return map(_Passed, self.value)


def _passed(value: Any) -> object:  # noqa: ANN401 - anything at all
    """What scipy is given for ``args`` and ``kwargs``."""
    if isinstance(value, tuple):
        return tuple(map(_Passed, value))
    if isinstance(value, dict):
        return {name: _Passed(inner) for name, inner in value.items()}
    return _Passed(value)


def _argument(name: str, value: Any) -> object:  # noqa: ANN401 - anything at all
    """One argument for scipy, by the name of its parameter."""
    if name in ("args", "kwargs"):
        return _passed(value)
    if name == "workers":
        return 1  # there is one process, with one thread
    if name == "out" and value is not None:
        raise RefusedError("`out` is not available: use what the function returns")
    return _taken(value)


def _taken(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """``value`` for scipy, copied.

    Raises:
        RefusedError: it is or holds what scipy is not given.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is np.ndarray:
        if value.dtype.kind not in "biufc":
            raise RefusedError(f"an array of {value.dtype} cannot be given: give one of numbers")
        return value.copy("K")  # as it lies in memory: the last bit may depend on it
    if isinstance(value, list | tuple):
        items = [_taken(item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: _argument(key, inner) for key, inner in value.items()}
    if isinstance(value, Held):
        return value._real
    if callable(value) and not isinstance(value, type):
        return _called(value)
    what = f"an object of class {readable(kind.__name__)}"
    raise RefusedError(f"{what} cannot be given: give numbers, strings, lists, tuples or arrays")


def _called(function: Function) -> Function:
    """``function`` of a program for scipy: it gets copies, and what it returns is copied."""

    def inner(*args: object, **options: object) -> object:
        options = {name: _given(value) for name, value in options.items()}
        return _taken(function(*map(_given, args), **options))

    # scipy looks at parameters, and at attributes such as `terminal`.
    return functools.update_wrapper(inner, function)


def _given(value: Any) -> Any:  # noqa: ANN401 - anything at all
    """``value``, which scipy made, for a program; arrays are copied."""
    kind = type(value)
    if kind is np.ndarray:
        return _given(value.tolist()) if value.dtype.hasobject else value.copy("K")
    if kind is list or kind is tuple or kind is set:
        return kind(map(_given, value))
    if kind is _Passed:
        return value.value
    if kind in _classes:
        made = object.__new__(_classes[kind])
        made._real = value
        return made
    if isinstance(value, dict):
        found = copy.copy(value)
        found.update({key: _given(inner) for key, inner in value.items()})
        return found
    return value


def _check_method(where: str, values: Mapping[str, Any]) -> None:
    """Refuse methods that call the program from C or Fortran, here and in `minimizer_kwargs`."""
    inner = values.get("minimizer_kwargs")
    if isinstance(inner, dict):
        _check_method("scipy.optimize.minimize", inner)
    method, known = values.get("method"), METHODS.get(where, ())
    if not known or method is None or str(method).lower() in map(str.lower, known):
        return
    name = repr(method) if isinstance(method, str) else "of your own"
    raise ValueError(f"{where}: method {name} is not available: use one of {', '.join(known)}")


def offered(real: Function, where: str) -> Function:
    """``real`` for programs; errors call it ``where``."""
    names = _positional(real)

    def wrapped(*args: object, **options: object) -> Any:  # noqa: ANN401 - as the original
        _check_method(where, dict(zip(names, args, strict=False)) | options)
        known = (*names, *[""] * len(args))
        try:
            values = [_argument(*one) for one in zip(known, args, strict=False)]
            return _given(real(*values, **{n: _argument(n, v) for n, v in options.items()}))
        except RefusedError as error:
            raise TypeError(f"{where}: {error}") from None

    wrapped.__name__ = where.rpartition(".")[2]
    wrapped.__qualname__ = where
    return wrapped


def _positional(real: Function) -> tuple[str, ...]:
    try:
        found = inspect.signature(real).parameters.values()
    except ValueError:  # of C
        return ()
    return tuple(p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def held(real: type, where: str, members: tuple[str, ...]) -> type[Held]:
    """A class whose objects stand for those of ``real``, which programs never reach.

    ``members`` are what objects can do (special methods included) and what can be read of them.
    """
    make = offered(real, where)
    contents: dict[str, object] = {
        "__slots__": (),
        "__new__": lambda cls, *args, **options: make(*args, **options),
    }
    for name in members:
        found = getattr(real, name, None)
        if name in MAKERS and found is not None:
            contents[name] = staticmethod(offered(found, f"{where}.{name}"))
        elif callable(found):
            contents[name] = offered(found, f"{where}.{name}")
        else:
            contents[name] = _read(name)
    _classes[real] = type(real.__name__, (Held,), contents)
    return _classes[real]


def _read(name: str) -> property:
    return property(lambda self: _given(getattr(self._real, name)))
