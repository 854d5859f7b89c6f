"""Inner state of a policy: attributes that its class names, read after each act.

    class Policy:
        TRACE = ("phase", "push_at")

Both sides share the limits and the bytes in which the values cross the pipes:

    head       steps, columns, bytes of the words              3 x uint32, little endian
    numbers    float64 (columns, steps), 0 where there is none
    codes      uint8 (columns, steps): what each value is
    words      UTF-8, a line for each column: its name, then its strings, each behind a tab

Where they come from a program they are not trusted: ``parse`` takes nothing that it does not know.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterable, Mapping
from enum import EnumType
from typing import Any

import numpy as np

from sandbox.frames import FrameError

#: The class attribute that names them.
DECLARATION = "TRACE"
#: Attributes that a class may name, characters of a name, and of a string that is recorded.
MAX_NAMES, MAX_NAME_CHARS, MAX_CHARS = 8, 40, 24
#: Different strings of one column; what comes after them is absent.
MAX_STRINGS = 32
#: Steps of an episode that are recorded; what comes after them is absent.
MAX_STEPS = 20_000

_HEAD = struct.Struct("<III")
#: Codes; string number i of a column has the code ``_STRINGS + i``.
_ABSENT, _FLOAT, _INT, _BOOL, _STRINGS = range(5)
_KINDS: dict[type, int] = {
    float: _FLOAT,
    int: _INT,
    bool: _BOOL,
    np.bool_: _BOOL,
    **{np.dtype(letter).type: _FLOAT for letter in "efdg"},
    **{np.dtype(letter).type: _INT for letter in np.typecodes["AllInteger"]},
}
_MADE: dict[int, Callable[[float], float | int | bool]] = {_FLOAT: float, _INT: int, _BOOL: bool}
#: Whole numbers up to here are float64 numbers, too.
_WHOLE = 2.0**53

#: A value that is absent is None.
Value = float | int | bool | str | None
Columns = Mapping[str, tuple[Value, ...]]


def is_name(name: str) -> bool:
    """Tell whether a column may have the name."""
    return 0 < len(name) <= MAX_NAME_CHARS and name.isidentifier() and name.isprintable()


def checked(columns: Columns, steps: int) -> Columns:
    """Columns for an episode of so many steps.

    Raises:
        ValueError: there are too many, or of other lengths, or their names are none.
    """
    if len(columns) > MAX_NAMES or not all(map(is_name, columns)):
        raise ValueError(f"a trace has at most {MAX_NAMES} names, each that of an attribute")
    for name, values in columns.items():
        if len(values) != steps:
            raise ValueError(f"{len(values)} values of {name} were traced in {steps} steps")
    return columns


class Column:
    """The values of one attribute; whatever is no number and no short string is absent.

    Looking at a value runs no code of its class, and nothing keeps a reference to it.
    """

    __slots__ = ("codes", "numbers", "strings")

    def __init__(self, values: Iterable[object] = ()) -> None:
        self.codes = bytearray()
        self.numbers = array("d")
        self.strings: dict[str, int] = {}
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:  # noqa: ANN401 - anything at all
        """Append one value; the usual ones first, as this runs for each step."""
        kind = type(value)
        if kind is float:
            self.codes.append(_FLOAT)
            self.numbers.append(value)
        elif kind is str:
            self.codes.append(self.strings.get(value) or self._string(value))
            self.numbers.append(0.0)
        elif kind in _KINDS:
            self._number(value, _KINDS[kind])
        else:
            if isinstance(kind, EnumType):
                value = getattr(value, "__dict__", {}).get("_name_")
            self.codes.append(self._string(value) if type(value) is str else _ABSENT)
            self.numbers.append(0.0)

    def _number(self, value: Any, code: int) -> None:  # noqa: ANN401 - one of numpy's, too
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond all floats
            code, number = _ABSENT, 0.0
        if code == _INT and abs(number) > _WHOLE:
            code = _FLOAT
        self.codes.append(code)
        self.numbers.append(number)

    def _string(self, value: str) -> int:
        """Return the code of a string, a new one if it has none and may have one."""
        if value in self.strings:
            return self.strings[value]
        if len(value) > MAX_CHARS or len(self.strings) == MAX_STRINGS:
            return _ABSENT
        code = self.strings[value] = _STRINGS + len(self.strings)
        return code

    def words(self, name: str) -> str:
        """Name and strings as one line."""
        return "\t".join([name, *map(_printable, self.strings)])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def pack(columns: Mapping[str, Column]) -> bytes:
    """Return the bytes of columns of equal lengths."""
    steps = max((len(column.codes) for column in columns.values()), default=0)
    words = "\n".join(column.words(name) for name, column in columns.items()).encode()
    numbers = b"".join(column.numbers.tobytes() for column in columns.values())
    codes = b"".join(column.codes for column in columns.values())
    return _HEAD.pack(steps, len(columns), len(words)) + numbers + codes + words


def longest(steps: int) -> int:
    """Bytes of the longest trace of so many steps."""
    words = 4 * (MAX_NAME_CHARS + 1 + MAX_STRINGS * (MAX_CHARS + 1))
    return _HEAD.size + MAX_NAMES * (9 * steps + words)


def parse(data: bytes | memoryview, steps: int) -> dict[str, tuple[Value, ...]]:
    """Return the columns of a trace of so many steps, by name.

    Raises:
        FrameError: this is no such trace.
    """
    if len(data) < _HEAD.size:
        raise FrameError("a trace is too short")
    length, count, size = _HEAD.unpack_from(data)
    if length != (steps if count else 0) or count > MAX_NAMES:
        raise FrameError(f"a trace of {count} attributes over {length} steps, not {steps}")
    cells = count * steps
    if len(data) != _HEAD.size + 9 * cells + size:
        raise FrameError("the lengths in a trace do not add up")
    numbers = np.frombuffer(data, np.float64, cells, _HEAD.size).reshape(count, steps)
    codes = np.frombuffer(data, np.uint8, cells, _HEAD.size + 8 * cells).reshape(count, steps)
    lines = _lines(bytes(data[_HEAD.size + 9 * cells :]), count)
    return {
        name: _values(numbers[i], codes[i], strings) for i, (name, *strings) in enumerate(lines)
    }


def _lines(words: bytes, count: int) -> list[list[str]]:
    try:
        text = words.decode()
    except UnicodeDecodeError:
        raise FrameError("the words of a trace are no UTF-8") from None
    lines = [line.split("\t") for line in text.split("\n")] if text else []
    names = {line[0] for line in lines}
    if len(lines) != count or len(names) != count or not all(map(is_name, names)):
        raise FrameError("the names in a trace are none")
    strings = [string for line in lines for string in line[1:]]
    if max(map(len, lines), default=0) > 1 + MAX_STRINGS:
        raise FrameError("too many strings in a trace")
    if not all(len(string) <= MAX_CHARS and string.isprintable() for string in strings):
        raise FrameError("a string in a trace is too long, or not printable")
    return lines


def _values(numbers: Any, codes: Any, strings: list[str]) -> tuple[Value, ...]:  # noqa: ANN401 - arrays
    whole = np.isin(codes, (_INT, _BOOL))
    limits = np.where(codes == _BOOL, 1.0, _WHOLE)
    if codes.max(initial=0) >= _STRINGS + len(strings):
        raise FrameError("a value in a trace is none")
    if not ((numbers == np.rint(numbers)) & (np.abs(numbers) <= limits))[whole].all():
        raise FrameError("a whole number in a trace is none")
    kinds, found = set(np.unique(codes).tolist()), numbers.tolist()
    if len(kinds) == 1 and (made := _MADE.get(*kinds)):  # the usual column
        return tuple(map(made, found))
    words = [None] * _STRINGS + strings
    return tuple(
        _MADE[code](number) if code in _MADE else words[code]
        for code, number in zip(codes.tolist(), found, strict=True)
    )
