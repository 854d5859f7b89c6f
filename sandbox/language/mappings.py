"""A dict that nobody can write to.

``types.MappingProxyType`` is not one: it hands its dict to ``__eq__`` and ``__ror__`` of whatever
it is compared or united with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Characters of a message about a name that is not there.
_SHOWN = 500


class Named(Mapping[Any, Any]):
    """A mapping that cannot be written to."""

    __slots__ = ("_values", "_what")

    def __init__(self, values: Mapping[Any, Any], what: str = "there is") -> None:
        """``what`` has these values, for messages."""
        self._values = dict(values)
        self._what = what

    def __getitem__(self, name: object) -> Any:  # noqa: ANN401 - whatever it was given
        try:
            return self._values[name]
        except KeyError:
            there = ", ".join(map(str, self._values)) or "nothing"
            text = f"{self._what} no {name!r}, but {there}"
            raise KeyError(text[:_SHOWN]) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self._values))}>"

    def __or__(self, other: object) -> dict[Any, Any]:
        return {**self, **other} if isinstance(other, Mapping) else NotImplemented

    def copy(self) -> dict[Any, Any]:
        """A dict of its own."""
        return dict(self)
