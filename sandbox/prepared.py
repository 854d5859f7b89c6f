"""Values with names, as bytes: what ``prepare`` returns, and in what form it gets its data.

    magic     8 bytes
    length    of the head, uint64, little endian
    head      JSON: [[name, kind, value or shape], ...] by name; zeros up to a multiple of 64
    arrays    in the order of the head, little endian, rows first; zeros up to a multiple of 64

Equal values give equal bytes. ``unpack`` believes nothing: where arrays lie follows from their
shapes, so that none can overlap or lie outside, and whatever is not exactly so is refused.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.bool_]
Value = float | int | bool | str | Array

#: Bytes of a result, and how many values it has.
LIMIT = 4 << 20
MAX_VALUES = 1000
#: Characters of a name, and of a string.
MAX_NAME_CHARS = 64
MAX_TEXT_CHARS = 1000
MAX_DIMENSIONS = 16

_MAGIC = b"values\x00\x01"
_ALIGNED = 64
_START = 16
_SCALARS: dict[str, type] = {"float": float, "int": int, "bool": bool, "str": str}
_ARRAYS = {"float64": np.dtype("<f8"), "int64": np.dtype("<i8"), "bool8": np.dtype("?")}
_KINDS = {"f": "float64", "i": "int64", "u": "int64", "b": "bool8"}
_SMALLEST, _LARGEST = -(1 << 63), (1 << 63) - 1
_DEFINED = re.compile(r"^def\s+prepare\b", re.MULTILINE)


def prepares(source: str) -> bool:
    """Whether a source defines ``prepare`` at its top level; False if it is no Python."""
    if not _DEFINED.search(source):
        return False
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == "prepare" for node in body)


class Entry(NamedTuple):
    """One value in the head; ``what`` is the value of a scalar, or the shape of an array."""

    name: str
    kind: str
    what: Any

    @property
    def size(self) -> int:
        """Bytes of the array; 0 for a scalar."""
        dtype = _ARRAYS.get(self.kind)
        return 0 if dtype is None else dtype.itemsize * math.prod(self.what)


class Layout(NamedTuple):
    """The bytes before the arrays, where each array begins, and the bytes in all."""

    head: bytes
    offsets: dict[str, int]
    size: int


def layout(entries: Iterable[Entry]) -> Layout:
    """Where everything lies."""
    ordered = sorted(entries, key=lambda entry: entry.name)
    text = json.dumps(ordered, separators=(",", ":")).encode()
    size = _aligned(_START + len(text))
    head = (_MAGIC + len(text).to_bytes(8, "little") + text).ljust(size, b"\x00")
    offsets = {}
    for entry in ordered:
        if entry.kind in _ARRAYS:
            offsets[entry.name] = size
            size = _aligned(size + entry.size)
    return Layout(head, offsets, size)


def pack(values: Mapping[str, Value], limit: int = LIMIT) -> bytes:
    """The bytes of numbers, strings and real arrays by name.

    Other real types become float64, int64 and bool; each NaN becomes the same one.

    Raises:
        ValueError: a name or value that is none of these, or too long; more than ``limit`` bytes.
    """
    if len(values) > MAX_VALUES:
        raise ValueError(f"{len(values)} values; at most {MAX_VALUES} are kept")
    scalars_and_arrays = {name: _plain(name, value) for name, value in values.items()}
    entries = [_entry(name, value) for name, value in scalars_and_arrays.items()]
    for entry in entries:
        _check(entry)
    found = layout(entries)
    if found.size > limit:
        raise ValueError(f"{found.size / 1e6:.1f} MB in all; at most {limit / 1e6:.1f} MB are kept")
    made = bytearray(found.size)
    made[: len(found.head)] = found.head
    for name, offset in found.offsets.items():
        array = _converted(name, scalars_and_arrays[name])
        made[offset : offset + array.nbytes] = array.tobytes()
    return bytes(made)


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - anything at all, when it comes from a program
    """``value``, or the plain number that a numpy scalar holds."""
    if isinstance(value, np.generic):
        if value.dtype.kind not in _KINDS:
            raise ValueError(f"{name!r} is no real number but a numpy.{value.dtype.name}")
        made: Any = {"f": float, "b": bool}.get(value.dtype.kind, int)
        return made(value)
    return value


def _entry(name: str, value: Any) -> Entry:  # noqa: ANN401 - as above
    if type(value) is np.ndarray:
        kind = _KINDS.get(value.dtype.kind)
        if kind is None:
            raise ValueError(
                f"{name!r} is an array of dtype {value.dtype}, which is no real number"
            )
        return Entry(name, kind, list(value.shape))
    kind = next((kind for kind, wanted in _SCALARS.items() if type(value) is wanted), None)
    if kind is None:
        raise ValueError(f"{name!r} is of class {type(value).__name__}")
    return Entry(name, kind, value)


def _converted(name: str, value: NDArray[Any]) -> NDArray[Any]:
    kind = value.dtype.kind
    if kind == "u" and value.size and int(value.max()) > _LARGEST:
        raise ValueError(f"{name!r} holds integers of more than 64 bits with their sign")
    array = np.ascontiguousarray(value, _ARRAYS[_KINDS[kind]])
    if kind == "f" and np.isnan(array).any():
        array = np.where(np.isnan(array), np.nan, array)
    return array


def unpack(data: bytes | memoryview, limit: int = LIMIT, trusted: bool = False) -> dict[str, Value]:
    """The values by name; arrays are read-only views of ``data``.

    Args:
        data: of anybody's making; it must not change any more.
        limit: of its bytes.
        trusted: written by ourselves: as many values, and strings as long, as there are.

    Raises:
        ValueError: these are not exactly the bytes of some values.
    """
    if not _START <= len(data) <= limit:
        raise ValueError(f"{len(data)} bytes are no packed values")
    view = memoryview(data).cast("B")
    length = int.from_bytes(view[8:_START], "little")
    if view[:8] != _MAGIC or length > len(view) - _START:
        raise ValueError("packed values do not begin as they should")
    entries = _entries(bytes(view[_START : _START + length]), len(view) if trusted else MAX_VALUES)
    names = [entry.name for entry in entries]
    if any(a >= b for a, b in pairwise(names)):
        raise ValueError("names are not in order")
    for entry in entries:
        _check(entry, trusted)
    found = layout(entries)
    if found.size != len(view) or view[: len(found.head)] != found.head:
        raise ValueError("the lengths in packed values do not add up")
    return {e.name: _value(e, view, found.offsets.get(e.name, 0)) for e in entries}


def _entries(text: bytes, most: int) -> list[Entry]:
    try:
        rows = json.loads(text)
    except RecursionError:
        raise ValueError("the head is nested") from None
    if type(rows) is not list or len(rows) > most:
        raise ValueError(f"the head is no list of at most {most} values")
    if not all(type(row) is list and len(row) == 3 for row in rows):
        raise ValueError("the head is no list of values")
    entries = [Entry(*row) for row in rows]
    if not all(type(entry.name) is str and type(entry.kind) is str for entry in entries):
        raise ValueError("a name or a kind is no string")
    return entries


def _check(entry: Entry, trusted: bool = False) -> None:
    """Whether it can be: names, kinds, ranges.

    Raises:
        ValueError: it cannot.
    """
    name, kind, what = entry
    if type(name) is not str:
        raise ValueError("a name is no string")
    if not 1 <= len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise ValueError(
            f"the name {name[:MAX_NAME_CHARS]!r} is no text of 1 to {MAX_NAME_CHARS} characters"
        )
    if kind in _ARRAYS:
        good = type(what) is list and all(type(n) is int and 0 <= n <= _LARGEST for n in what)
        if not good or len(what) > MAX_DIMENSIONS:
            raise ValueError(f"{name!r} has no shape of at most {MAX_DIMENSIONS} dimensions")
        return
    if type(what) is not _SCALARS.get(kind, Entry):
        raise ValueError(f"{name!r} is no {kind[:20]}")
    if type(what) is int and not _SMALLEST <= what <= _LARGEST:
        raise ValueError(f"{name!r} is an integer of more than 64 bits: write float(x)")
    if type(what) is str:
        what.encode()  # a lone surrogate has no bytes
        if len(what) > MAX_TEXT_CHARS and not trusted:
            raise ValueError(
                f"{name!r} is a text of {len(what)} characters; at most {MAX_TEXT_CHARS} are kept"
            )


def _value(entry: Entry, view: memoryview, offset: int) -> Value:
    dtype = _ARRAYS.get(entry.kind)
    if dtype is None:
        scalar: Value = entry.what
        return scalar
    end = offset + entry.size
    if any(view[end : _aligned(end)]):
        raise ValueError(f"there are bytes behind {entry.name!r}")
    flat = np.frombuffer(view, np.uint8, entry.size, offset)
    if entry.kind == "bool8" and flat.size and flat.max() > 1:
        raise ValueError(f"{entry.name!r} holds neither True nor False")
    flat.flags.writeable = False
    made: Array = flat.view(dtype).reshape(entry.what)
    return made


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
