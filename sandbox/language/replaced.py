"""Own versions of library functions that would reach attributes by name, or write to what is given.

What generates code stands in ``generated``.
"""

from __future__ import annotations

import abc
import copy
import functools
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from sandbox.language import calls, ownership
from sandbox.language.guards import guarded_getattr

_Object = TypeVar("_Object")


def _attrgetter(*wanted: str) -> Callable[[object], object]:
    """``operator.attrgetter`` under the rules of getattr."""

    def get(obj: object) -> object:
        values = tuple(functools.reduce(guarded_getattr, name.split("."), obj) for name in wanted)
        return values[0] if len(values) == 1 else values

    return get


def _methodcaller(name: str, *args: object, **kwargs: object) -> Callable[[object], object]:
    """``operator.methodcaller`` under the rules of getattr."""

    def call(obj: object) -> object:
        method: Any = guarded_getattr(obj, name)
        return calls.call(method, *args, **kwargs)

    return call


def _wraps(wrapped: object) -> Callable[[_Object], _Object]:
    """``functools.wraps`` for names and docstrings only: the real one copies any attribute."""

    def decorate(wrapper: _Object) -> _Object:
        if ownership.is_own_function(wrapper):
            for attribute in ("__name__", "__qualname__", "__doc__"):
                value = getattr(wrapped, attribute, None)
                if type(value) is str:
                    setattr(wrapper, attribute, value)
        return wrapper

    return decorate


def _update_wrapper(wrapper: _Object, wrapped: object) -> _Object:
    """``functools.update_wrapper`` likewise."""
    return _wraps(wrapped)(wrapper)


class _CachedProperty:
    """``functools.cached_property``: whoever chose its ``attrname`` could set any attribute."""

    __slots__ = ("_function", "_name")

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        # Names in class bodies are checked when compiling.
        self._name = self._name or name

    def __get__(self, instance: Any, owner: type | None = None) -> object:  # noqa: ANN401 - any object
        if instance is None:
            return self
        if not self._name or not ownership.is_own_class(type(instance)):
            raise TypeError("a cached_property belongs into a class body")
        value = vars(instance)[self._name] = self._function(instance)
        return value


def _copy(x: _Object) -> _Object:
    """``copy.copy``."""
    return copy.copy(x)


def _deepcopy(x: _Object) -> _Object:
    """``copy.deepcopy`` without ``memo``: whoever fills it chooses the parts of the copy."""
    return copy.deepcopy(x)


def _abstractmethod(function: _Object) -> _Object:
    """``abc.abstractmethod`` for functions of the program."""
    if not ownership.is_own_function(function):
        raise TypeError("@abstractmethod is for functions that are defined in this program")
    marked: _Object = abc.abstractmethod(function)  # type: ignore[type-var]
    return marked


def _for_own_classes(decorator: Callable[[Any], Any]) -> Callable[[type], type]:
    """A class decorator that sets attributes, for classes of the program alone."""

    def decorate(kind: type) -> type:
        if not isinstance(kind, type) or not ownership.is_own_class(kind):
            raise TypeError("this decorator is for classes that are defined in this program")
        made: type = decorator(kind)
        return made

    return decorate


def _same(x: _Object) -> _Object:
    """``typing.final`` marks what it is given; nothing here reads the mark."""
    return x


def _overload(function: object) -> Callable[..., None]:
    """``typing.overload`` keeps a register of all functions; nothing here reads it."""

    def overloaded(*args: object, **kwargs: object) -> None:
        raise NotImplementedError("an overload without an implementation after it")

    return overloaded


def _quiet(*args: object, **kwargs: object) -> None:
    """``warnings`` have no reader here."""


class _CatchWarnings:
    """``warnings.catch_warnings``: an empty context."""

    __slots__ = ()

    def __init__(self, **kwargs: object) -> None:
        """Takes what the real one takes."""

    def __enter__(self) -> list[object]:
        return []

    def __exit__(self, *args: object) -> None:
        return None


class _ABCMeta:
    """``abc.ABCMeta`` to be named in ``metaclass=ABCMeta``, where the compiler knows it."""

    __slots__ = ()


#: By module; ``names`` are those of the real functions.
REPLACED: dict[str, dict[str, object]] = {
    "abc": {"ABCMeta": _ABCMeta(), "abstractmethod": _abstractmethod},
    "copy": {"copy": _copy, "deepcopy": _deepcopy},
    "functools": {
        "cached_property": _CachedProperty,
        "total_ordering": _for_own_classes(functools.total_ordering),
        "update_wrapper": _update_wrapper,
        "wraps": _wraps,
    },
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "typing": {
        "final": _same,
        "overload": _overload,
        "runtime_checkable": _for_own_classes(typing.runtime_checkable),
    },
    "warnings": {
        **dict.fromkeys(("filterwarnings", "simplefilter", "warn"), _quiet),
        "catch_warnings": _CatchWarnings,
    },
}
