"""Arrays that nobody can write to, whichever way.

``flags.writeable`` is numpy's word alone, and an array that owns its memory can take it back. So
these own none: what lies behind them is an object that has nothing to offer. And the pages
themselves are read-only, for C code that does not ask.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.lockdown import libc
from sandbox.prepared import Value, unpack


class Memory:
    """What an array's ``base`` is: it keeps the memory, and numpy may ask where it is."""

    __slots__ = ("__array_interface__", "_held")

    def __init__(self, held: NDArray[Any]) -> None:
        self._held = held
        place, _ = held.__array_interface__["data"]
        self.__array_interface__ = {**held.__array_interface__, "data": (place, True)}

    def __repr__(self) -> str:
        return "<read-only memory>"


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as an array that cannot be made writeable."""
    made: NDArray[Any] = np.asarray(Memory(array))
    return made


def sealed_values(data: bytes | memoryview | mmap.mmap, trusted: bool = False) -> dict[str, Value]:
    """Packed values that are in read-only pages already; arrays are sealed."""
    values = unpack(memoryview(data), len(data), trusted)
    return {n: sealed(v) if isinstance(v, np.ndarray) else v for n, v in values.items()}


def read_only_pages(data: bytes | memoryview) -> mmap.mmap:
    """A copy in pages of its own, which are read-only from now on."""
    pages = mmap.mmap(-1, len(data), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages[:] = bytes(data)
    address, _ = np.frombuffer(pages, np.uint8).__array_interface__["data"]
    libc.mprotect(address, len(data), mmap.PROT_READ)
    return pages
