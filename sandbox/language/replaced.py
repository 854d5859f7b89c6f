"""Own versions of library functions that would reach attributes or run text by name."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import keyword
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from sandbox.language import names
from sandbox.language.guards import guarded_getattr

_Wrapper = TypeVar("_Wrapper")


def _attrgetter(*wanted: str) -> Callable[[object], object]:
    """``operator.attrgetter`` under the rules of getattr."""

    def get(obj: object) -> object:
        found = tuple(functools.reduce(guarded_getattr, name.split("."), obj) for name in wanted)
        return found[0] if len(found) == 1 else found

    return get


def _methodcaller(name: str, *args: object, **kwargs: object) -> Callable[[object], object]:
    """``operator.methodcaller`` under the rules of getattr."""

    def call(obj: object) -> object:
        method: Any = guarded_getattr(obj, name)
        return method(*args, **kwargs)

    return call


def _wraps(wrapped: object) -> Callable[[_Wrapper], _Wrapper]:
    """``functools.wraps`` for names and docstrings only: the real one copies any attribute."""

    def decorate(wrapper: _Wrapper) -> _Wrapper:
        for attribute in ("__name__", "__qualname__", "__doc__"):
            if isinstance(wrapper, types.FunctionType):
                setattr(wrapper, attribute, getattr(wrapped, attribute, None))
        return wrapper

    return decorate


def _update_wrapper(wrapper: _Wrapper, wrapped: object) -> _Wrapper:
    """``functools.update_wrapper`` likewise."""
    return _wraps(wrapped)(wrapper)


def _check_fields(fields: Iterable[object]) -> None:
    """Field names end up in generated source, and in what class patterns read."""
    for name in fields:
        plain = type(name) is str and name.isidentifier() and not keyword.iskeyword(name)
        if not plain or name in names.REFUSED_ATTRIBUTES or names.is_dunder(str(name)):
            raise ValueError(f"{name!r} cannot be the name of a field")


def _dataclass(cls: type | None = None, /, **options: bool) -> object:
    """``dataclasses.dataclass``, after a look at every name that it would write into source."""

    def decorate(kind: type) -> type:
        for base in kind.__mro__:
            _check_fields(vars(base).get("__annotations__", ()))
            for field in vars(base).get("__dataclass_fields__", {}).values():
                _check_fields([field.name])
        make: Callable[[type], type] = dataclasses.dataclass(**options)
        return make(kind)

    return decorate if cls is None else decorate(cls)


def _namedtuple(typename: str, field_names: str | Iterable[str], **options: object) -> type:
    """``collections.namedtuple``, after a look at the field names."""
    if isinstance(field_names, str):
        field_names = str.replace(field_names, ",", " ").split()
    field_names = list(field_names)
    _check_fields(field_names)
    make: Any = collections.namedtuple
    made: type = make(typename, field_names, **options)
    return made


class _EnumType(enum.EnumType):
    """Enums are written as classes; made by a call they could be given any special method."""

    def __call__(  # type: ignore[override]
        cls, value: object, *names: object, **options: object
    ) -> object:
        """The member with this value."""
        if names or options:
            raise TypeError("an enum made by a call is not available: write `class X(Enum):`")
        return super().__call__(value)


def _enum(base: type[enum.Enum]) -> type[enum.Enum]:
    made: type[enum.Enum] = types.new_class(base.__name__, (base,), {"metaclass": _EnumType})
    return made


class _ClassOnly:
    """A base class to inherit from; the form that is called takes names as text."""

    def __init__(self, real: object) -> None:
        self.__real: Any = real

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        """What ``class X(NamedTuple)`` really inherits from."""
        entries: tuple[type, ...] = self.__real.__mro_entries__((self.__real,))
        return entries


def _quiet(*args: object, **kwargs: object) -> None:
    """``warnings`` have no reader here."""


class _CatchWarnings:
    """``warnings.catch_warnings``: an empty context."""

    def __init__(self, **kwargs: object) -> None:
        """Takes what the real one takes."""

    def __enter__(self) -> list[object]:
        return []

    def __exit__(self, *args: object) -> None:
        return None


class _ABCMeta:
    """``abc.ABCMeta`` to be named in ``metaclass=ABCMeta``, where the compiler knows it."""


REPLACED: dict[str, dict[str, object]] = {
    "abc": {"ABCMeta": _ABCMeta()},
    "collections": {"namedtuple": _namedtuple},
    "dataclasses": {"dataclass": _dataclass},
    "enum": {
        kind.__name__: _enum(kind)
        for kind in (enum.Enum, enum.Flag, enum.IntEnum, enum.IntFlag, enum.StrEnum)
    },
    "functools": {"wraps": _wraps, "update_wrapper": _update_wrapper},
    "operator": {"attrgetter": _attrgetter, "methodcaller": _methodcaller},
    "typing": {
        "NamedTuple": _ClassOnly(typing.NamedTuple),
        "TypedDict": _ClassOnly(typing.TypedDict),
    },
    "warnings": {
        **dict.fromkeys(("filterwarnings", "simplefilter", "warn"), _quiet),
        "catch_warnings": _CatchWarnings,
    },
}
