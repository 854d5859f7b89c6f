"""Read-only stand-ins for libraries: modules that hold exactly what a program may use."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn


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


def public_members(name: str, without: Iterable[str] = ()) -> dict[str, object]:
    """Return what the module ``name`` exports, without its submodules and ``without``."""
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", dir(module))
    members = {n: getattr(module, n, None) for n in {*exported} - {*without} if n[0] != "_"}
    return {n: m for n, m in members.items() if not isinstance(m, types.ModuleType)}
