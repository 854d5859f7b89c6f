"""Functions and classes of scipy as programs call them: ``offered`` and ``held``."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from sandbox.language.boundary import (
    PLAIN,
    Held,
    Record,
    RefusedError,
    given,
    items_of,
    real_of,
    refused,
    stands_for,
    taken,
)

#: Parameters that have one value here: arrays are copied, and checked for numbers that are none,
#: and there is one process and one thread.
_FORCED: dict[str, object] = {"check_finite": True, "workers": 1}
_SPECIAL = frozenset({"args", "kwargs", "out", *_FORCED})
#: Parameters whose items may be None.
_OPEN = frozenset({"bounds", "bbox", "ranges"})
#: Functions that are called without ``args``.
_BARE = frozenset(
    {"callback", "accept_test", "take_step", "loss", "gfun", "hfun", "qfun", "rfun", "strategy"}
)

#: What is given in the place of objects of these classes.
_CONVERTED: dict[type, Callable[[Any], object]] = {
    Record: lambda found: items_of(found) or dict(found.items()),
    range: list,
    np.random.Generator: lambda generator: int(generator.integers(1 << 32)),
}

Function = Callable[..., Any]
#: Looks at the arguments, by name where they have one, before the call.
Check = Callable[[Mapping[str, Any]], None]


class _Rules:
    """What one parameter takes besides numbers, strings, lists and arrays."""

    __slots__ = ("accept", "extra", "more", "none", "parameter", "where")

    def __init__(self, where: str, accept: Collection[type]) -> None:
        self.where, self.accept = where, accept
        self.parameter, self.none = "", False
        #: What functions get besides what scipy gives them; None where none may be given.
        self.extra: tuple[object, ...] | None = None
        self.more: dict[str, Any] = {}

    def argument(self, parameter: str, value: Any) -> object:  # noqa: ANN401 - anything at all
        """One argument for scipy."""
        if parameter in _SPECIAL or parameter.startswith("overwrite_"):
            return self._special(parameter, value)
        if type(value) in PLAIN:
            return value
        self.parameter, self.none = parameter, parameter in _OPEN
        if parameter == "constraints":
            return self._constraints(value)
        return taken(value, self.other)

    def _special(self, parameter: str, value: object) -> object:
        if parameter == "out" and value is not None:
            raise RefusedError("`out` is not available: use what the function returns")
        if parameter in ("args", "kwargs") and self.extra is not None:
            return () if parameter == "args" else {}  # every function has them already
        if parameter in ("args", "kwargs"):
            return taken(value, self.other)
        return _FORCED.get(parameter, False) if parameter != "out" else None

    def other(self, value: Any) -> object:  # noqa: ANN401 - anything at all
        """What stands for a value of a kind of its own."""
        kind = type(value)
        if kind in self.accept:
            return real_of(value)
        if value is None and self.none:
            return None
        if kind in _CONVERTED:
            return taken(_CONVERTED[kind](value), self.other)
        if kind is slice and self.parameter == "indexer":
            return slice(*(taken(part, refused) for part in (value.start, value.stop, value.step)))
        if callable(value) and self.extra is not None and not isinstance(value, Held):
            return self._function(value)
        return refused(value)

    def _function(self, function: Function) -> Function:
        bare = self.parameter in _BARE
        extra = () if bare or self.extra is None else self.extra
        inner = _called(self.where, function, extra, {} if bare else self.more)
        if self.parameter == "events":
            for name in ("terminal", "direction"):
                setattr(inner, name, taken(getattr(function, name, 0), refused))
        elif self.where.endswith(".curve_fit"):
            inner.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        elif bare and _parameters(function) == ("intermediate_result",):
            return _with_result(inner)
        return inner

    def _constraints(self, value: object) -> object:
        """Constraints; those that are dicts bring the arguments of their functions."""
        if type(value) is list or type(value) is tuple:
            return type(value)([self._constraints(one) for one in value])
        if type(value) is not dict:
            return taken(value, self.other)
        inner = _Rules(self.where, self.accept)
        inner.extra = _tuple(value.get("args", ()))
        return {key: inner.argument(key, part) for key, part in value.items()}


def _with_result(inner: Function) -> Function:
    """``inner`` as a callback by whose parameter scipy sees that it wants the whole result."""

    def callback(intermediate_result: object) -> object:
        return inner(intermediate_result=intermediate_result)

    return callback


def _parameters(function: object) -> tuple[str, ...]:
    """The names of the parameters of a function or method in Python, ``self`` aside."""
    inner = function.__func__ if type(function) is types.MethodType else function
    if type(inner) is not types.FunctionType:
        return ()
    return inner.__code__.co_varnames[inner is not function : inner.__code__.co_argcount]


def _tuple(value: Any) -> tuple[object, ...]:  # noqa: ANN401 - anything at all
    return tuple(value) if type(value) in (tuple, list) else () if value is None else (value,)


def _called(
    where: str, function: Function, extra: tuple[object, ...], more: dict[str, Any]
) -> Function:
    """``function`` of a program for scipy: it gets copies, and what it returns is copied."""

    def inner(*args: object, **options: object) -> object:
        if options or more:
            options = {name: given(value) for name, value in options.items()} | more
        found = function(*map(given, args), *extra, **options)
        if type(found) in PLAIN:
            return found
        try:
            return taken(found, refused)
        except RefusedError as error:
            raise TypeError(f"{where}: what your function returned: {error}") from None

    return inner


def offered(
    real: Function,
    where: str,
    *,
    functions: bool = False,
    accept: Collection[type] = (),
    check: Check | None = None,
) -> Function:
    """``real`` for programs.

    Args:
        real: a function or a class of scipy.
        where: what errors call it.
        functions: whether arguments may be functions.
        accept: classes made by ``held`` whose objects may be arguments.
        check: raises for arguments that ``real`` cannot cope with.
    """
    names = _positional(real)
    known = (*names, *[""] * 8)  # more are refused by scipy
    plain = _Rules(where, accept)

    def wrapped(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the original
        try:
            rules = _calling(where, accept, names, args, options) if functions else plain
            values = [rules.argument(*one) for one in zip(known, args, strict=False)]
            if options:
                options = {name: rules.argument(name, value) for name, value in options.items()}
        except RefusedError as error:
            raise TypeError(f"{where}: {error}") from None
        if check is not None:
            check(dict(zip(names, values, strict=False)) | options)
        return given(real(*values, **options))

    wrapped.__name__ = where.rpartition(".")[2]
    wrapped.__qualname__ = where
    return wrapped


def _calling(
    where: str,
    accept: Collection[type],
    names: tuple[str, ...],
    args: tuple[Any, ...],
    options: dict[str, Any],
) -> _Rules:
    """Rules that take functions, with the further arguments of these: scipy does not see them."""
    rules = _Rules(where, accept)
    by_name = dict(zip(names, args, strict=False)) | options
    extra, more = by_name.get("args", ()), by_name.get("kwargs", None)
    # As the original: a list is one argument, but where times are stepped through.
    rules.extra = (extra,) if type(extra) is list and "t_span" not in names else _tuple(extra)
    rules.more = dict(more) if type(more) is dict else {}
    return rules


def _positional(real: Function) -> tuple[str, ...]:
    try:
        found = inspect.signature(real).parameters.values()
    except ValueError:  # of C
        return ()
    return tuple(p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


def held(
    real: type,
    where: str,
    methods: Collection[str],
    data: Collection[str] = (),
    makers: Collection[str] = (),
    functions: bool = False,
    accept: Collection[type] = (),
) -> type[Held]:
    """A class whose objects stand for those of ``real``, which programs never reach.

    Args:
        real: the class.
        where: what errors call it.
        methods: what objects can do, special methods included.
        data: what can be read, a copy each time.
        makers: static and class methods.
        functions: whether the class takes functions.
        accept: other such classes whose objects may be arguments.
    """
    own: set[type] = set(accept)
    make = offered(real, where, functions=functions, accept=own)
    contents: dict[str, object] = {
        "__new__": lambda cls, *args, **options: make(*args, **options),
        **{name: _read(name) for name in data},
    }
    for name in methods:
        if hasattr(real, name):
            contents[name] = offered(getattr(real, name), f"{where}.{name}", accept=own)
    for name in makers:
        if hasattr(real, name):
            function = offered(getattr(real, name), f"{where}.{name}", accept=own)
            contents[name] = staticmethod(function)
    made = stands_for(real, contents)
    own.add(made)
    return made


def _read(name: str) -> property:
    return property(lambda self: given(getattr(real_of(self), name)))
