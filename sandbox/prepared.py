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
    """Tell whether a source defines ``prepare`` at its top level; False if it is no Python."""
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
    """Return the layout of packed values."""
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
    """Return the bytes of numbers, strings and real arrays by name.

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
    plan = layout(entries)
    if plan.size > limit:
        raise ValueError(f"{plan.size / 1e6:.1f} MB in all; at most {limit / 1e6:.1f} MB are kept")
    data = bytearray(plan.size)
    data[: len(plan.head)] = plan.head
    for name, offset in plan.offsets.items():
        array = _converted(name, scalars_and_arrays[name])
        data[offset : offset + array.nbytes] = array.tobytes()
    return bytes(data)


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
    return array != 0 if kind == "b" else array  # True is 1, whatever byte it was


def unpack(data: bytes | memoryview, limit: int = LIMIT, trusted: bool = False) -> dict[str, Value]:
    """Return the values by name; arrays are read-only views of ``data``.

    Args:
        data: of anybody's making; it must not change any more.
        limit: of its bytes.
        trusted: written by ourselves: nothing is checked.

    Raises:
        ValueError: these are not exactly the bytes of some values.
    """
    if not _START <= len(data) <= limit:
        raise ValueError(f"{len(data)} bytes are no packed values")
    view = memoryview(data).cast("B")
    length = int.from_bytes(view[8:_START], "little")
    if view[:8] != _MAGIC or length > len(view) - _START:
        raise ValueError("packed values do not begin as they should")
    try:
        entries = [Entry(*row) for row in json.loads(bytes(view[_START : _START + length]))]
        offsets = layout(entries).offsets
        values = {e.name: _value(e, view, offsets.get(e.name, 0)) for e in entries}
    except (TypeError, LookupError, OverflowError, RecursionError):
        raise ValueError("the head of packed values is no list of values") from None
    if not trusted and pack(values, limit) != data:
        raise ValueError("these are not the bytes that their values are packed to")
    return values


def _check(entry: Entry) -> None:
    """Check names, kinds and ranges.

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
        if len(what) > MAX_DIMENSIONS:
            raise ValueError(f"{name!r} has no shape of at most {MAX_DIMENSIONS} dimensions")
        return
    if type(what) is int and not _SMALLEST <= what <= _LARGEST:
        raise ValueError(f"{name!r} is an integer of more than 64 bits: write float(x)")
    if type(what) is str:
        what.encode()  # a lone surrogate has no bytes
        if len(what) > MAX_TEXT_CHARS:
            raise ValueError(
                f"{name!r} is a text of {len(what)} characters; at most {MAX_TEXT_CHARS} are kept"
            )


def _value(entry: Entry, view: memoryview, offset: int) -> Value:
    dtype = _ARRAYS.get(entry.kind)
    if dtype is None:
        scalar: Value = entry.what
        return scalar
    array: Array = np.frombuffer(view, dtype, math.prod(entry.what), offset).reshape(entry.what)
    array.flags.writeable = False
    return array


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
