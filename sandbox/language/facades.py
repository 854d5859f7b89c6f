"""Read-only stand-ins for libraries: modules that hold exactly what a program may use.

Real modules lead to ``os``, ``sys``, ``ctypes`` and ``builtins`` through plain dotted names. A
facade leads nowhere but to what was put into it: it has no initializer that could fill it again, no
``__getattr__`` whose globals could be reached, and its class can be neither called nor inherited
from.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from sandbox.language import names
from sandbox.language.hardening import frozen

#: Where an instance keeps the makers of members that are made when first read.
_LAZY = names.PREFIX + "lazy"
#: Nobody else makes classes of facades.
_KEY = object()


class Facade:
    """A module-like object with fixed attributes; ``facade`` makes one.

    Absent names with a hint are descriptors of the class. There is no ``__getattr__``, so reading
    a member costs what it costs on a real module.
    """

    __slots__ = ("__dict__",)

    def __new__(cls, *args: object, **options: object) -> Facade:
        """Refused: ``facade`` makes them."""
        raise TypeError("modules are imported, not made")

    def __init_subclass__(cls, key: object = None) -> None:
        if key is not _KEY:
            raise TypeError("modules are no base classes")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self!r} is read-only; keep values in attributes of self")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self!r} is read-only")

    def __repr__(self) -> str:
        return f"<module {type(self).__name__!r}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("modules cannot be copied")


class _Absent:
    """A name that the real module has and the facade has not."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __get__(self, instance: object, owner: object = None) -> NoReturn:
        raise AttributeError(self._text)


class _Lazy:
    """A member that is made when it is first read."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: Facade | None, owner: object = None) -> object:
        if instance is None:
            raise AttributeError(self._name)
        contents = vars(instance)
        value = contents[self._name] = contents[_LAZY][self._name]()
        return value


@functools.cache
def _kind(name: str, hints: tuple[tuple[str, str], ...], lazy: tuple[str, ...]) -> type[Facade]:
    """One class for all facades of a module: the interpreter then specializes its reads once."""
    absent = {
        attribute: _Absent(f"`{name}.{attribute}` is not available here: {hint}")
        for attribute, hint in hints
    }
    made = {attribute: _Lazy(attribute) for attribute in lazy}
    contents: dict[str, Any] = {"__slots__": (), "__doc__": None, **absent, **made}
    return type(name, (Facade,), contents, key=_KEY)


def facade(
    name: str,
    members: Mapping[str, object],
    hints: Mapping[str, str] | None = None,
    lazy: Mapping[str, Callable[[], object]] | None = None,
) -> Facade:
    """A new facade.

    Args:
        name: of the module, dotted.
        members: what it holds.
        hints: why other names are absent.
        lazy: members that are made when first read.
    """
    kind = _kind(name, tuple((hints or {}).items()), tuple(lazy or ()))
    made = object.__new__(kind)
    vars(made).update(members, __name__=name)
    if lazy:
        vars(made)[_LAZY] = lazy
    return made


def member(owner: Facade, name: str) -> object:
    """``owner.name`` for any ``name``, checked or not.

    Raises:
        AttributeError: there is no such member.
    """
    if type(name) is not str or name[:1] in ("", "_", names.PREFIX):
        raise AttributeError(f"{owner!r} has no public name {name!r}")
    return getattr(owner, name)


def public_members(module: types.ModuleType, refused: frozenset[str]) -> dict[str, object]:
    """What ``module`` exports, without its submodules and without ``refused``."""
    exported = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    members = {
        name: frozen(getattr(module, name, None)) for name in exported if name not in refused
    }
    return {
        name: value
        for name, value in members.items()
        if not isinstance(value, types.ModuleType) and not name.startswith("_")
    }
