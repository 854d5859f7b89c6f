"""Read-only stand-ins for libraries: modules that hold exactly what a program may use."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping

from sandbox.language import names


class Facade(types.ModuleType):
    """A module-like object with fixed attributes.

    Real modules lead to ``os``, ``sys``, ``ctypes`` and ``builtins`` through plain dotted names; a
    facade leads nowhere but to what was put into it.
    """

    def __init__(
        self,
        name: str,
        members: Mapping[str, object],
        hints: Mapping[str, str] | None = None,
        lazy: Mapping[str, Callable[[], object]] | None = None,
    ) -> None:
        """``hints`` explain absent names; ``lazy`` members are made when first read."""
        super().__init__(name)
        contents = self.__dict__
        contents.update(members)

        def missing(attribute: str) -> object:
            make = lazy.get(attribute) if lazy else None
            if make is not None:
                value = contents[attribute] = make()
                return value
            hint = hints.get(attribute) if hints else None
            text = f"`{name}.{names.readable(attribute)}` is not available here"
            raise AttributeError(f"{text}: {hint}" if hint else text)

        contents["__getattr__"] = missing

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.__name__} is read-only; keep values in attributes of self")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self.__name__} is read-only")

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"

    def __reduce__(self) -> str:
        raise TypeError("modules cannot be copied")


def public_members(module: types.ModuleType, refused: frozenset[str]) -> dict[str, object]:
    """What ``module`` exports, without its submodules and without ``refused``."""
    exported = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
    members = {name: getattr(module, name, None) for name in exported if name not in refused}
    return {
        name: value
        for name, value in members.items()
        if not isinstance(value, types.ModuleType) and not name.startswith("_")
    }
