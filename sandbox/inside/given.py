"""What programs are given by name, and cannot alter; what ``prepare`` returned among it."""

from __future__ import annotations

import inspect
import mmap
from collections.abc import Iterator, Mapping
from typing import Any

from sandbox.inside.sealed import sealed_values

#: Characters of a message about a name that is not there.
_SHOWN = 500


class Named(Mapping[str, Any]):
    """A mapping that cannot be written to.

    No ``MappingProxyType``: that hands its dict to whatever it is compared with.
    """

    __slots__ = ("_values", "_what")

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        """``what`` has these values, for messages."""
        self._values = dict(values)
        self._what = what

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - whatever it was given
        try:
            return self._values[name]
        except KeyError:
            there = ", ".join(self._values) or "nothing"
            text = f"{self._what} no {str(name)!r}, but {there}"
            raise KeyError(text[:_SHOWN]) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{', '.join(self._values)}>"


def prepared(pages: mmap.mmap) -> Named:
    """The values in ``pages``, which are read-only."""
    return Named(sealed_values(pages), "prepare() returned")


def takes_one(cls: type[Any]) -> bool:
    """Whether objects of the class are made with an argument."""
    try:
        inspect.signature(cls).bind(None)
    except (TypeError, ValueError):
        return False
    return True
