"""Read-only stand-ins for libraries: modules that hold exactly what a program may use."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, NoReturn

from sandbox.language import names


class Facade:
    """A module-like object with fixed attributes; ``facade`` makes one."""

    __slots__ = ("__dict__",)

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


def facade(
    name: str, members: Mapping[str, object], hints: Mapping[str, str] | None = None
) -> Facade:
    """Make a facade.

    Absent names with a hint are descriptors of its class. There is no ``__getattr__``, so reading
    a member costs what it costs on a real module.

    Args:
        name: of the module, dotted.
        members: what it holds.
        hints: why other names are absent.
    """
    absent = {
        attribute: _Absent(f"`{name}.{attribute}` is not available here: {hint}")
        for attribute, hint in (hints or {}).items()
    }
    contents: dict[str, Any] = {"__slots__": (), "__doc__": None, **absent}
    made: Facade = type(name, (Facade,), contents)()
    vars(made).update(members, __name__=name)
    return made


def member(owner: Facade, name: str) -> object:
    """Return ``owner.name`` for any ``name``, checked or not.

    Raises:
        AttributeError: there is no such member.
    """
    if type(name) is not str or name[:1] in ("", "_", names.PREFIX):
        raise AttributeError(f"{owner!r} has no public name {name!r}")
    return getattr(owner, name)


def public_members(module: types.ModuleType, refused: frozenset[str]) -> dict[str, object]:
    """Return what ``module`` exports, without its submodules and without ``refused``."""
    exported = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    members = {name: getattr(module, name, None) for name in exported if name not in refused}
    return {
        name: value
        for name, value in members.items()
        if not isinstance(value, types.ModuleType) and not name.startswith("_")
    }
