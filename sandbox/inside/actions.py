"""From whatever ``act`` returned to plain float64 numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sandbox.interface import (
    ActionSpace,
    Box,
    Discrete,
    FloatArray,
    MultiDiscrete,
    action_bounds,
    expected_action,
)
from sandbox.language.names import readable, shortened

#: What is not written out: Python refuses to, where there are thousands of digits.
_LONG = 10**30
#: Turns one returned value into a number or a vector of ``action.size`` numbers.
Converter = Callable[[object], int | FloatArray]


class ActionError(Exception):
    """The returned value is not an action; the text says why and what one looks like."""


def converter(space: ActionSpace) -> Converter:
    """Return the conversion for one action space; it raises ``ActionError``."""
    return _box_converter(space) if isinstance(space, Box) else _integer_converter(space)


def shown(value: object, method: str = "act()") -> str:
    """Describe in short what ``method`` returned; runs no code of the value's class."""
    if value is None:
        return f"None (does every path of {method} end in `return`?)"
    if isinstance(value, np.ndarray):
        shape, dtype = (part.__get__(value) for part in (np.ndarray.shape, np.ndarray.dtype))
        return f"an array of shape {shape} and dtype {dtype}"
    if type(value) is int and abs(value) >= _LONG:
        return "an integer of more than 30 digits"
    if type(value) in (int, float, bool, str, complex):
        return repr(value)[:60]
    if type(value) in (list, tuple):
        return f"a {type(value).__name__} of length {len(value)}"  # type: ignore[arg-type]
    return f"an object of class {shortened(readable(type(value).__name__))}"


def _numbers(value: object, expected: str) -> np.ndarray[Any, Any]:
    """``value`` as a real numeric array."""
    try:
        array = np.asarray(value)
    except Exception:  # any failure of a hostile or ragged value is the same mistake
        raise ActionError(f"act() must return {expected}, not {shown(value)}") from None
    if type(array) is not np.ndarray or array.dtype.kind not in "fiub":
        raise ActionError(f"act() must return {expected}, not {shown(value)}")
    return array


def _box_converter(space: Box) -> Converter:
    shape = space.shape
    size = space.size
    expected = expected_action(space)

    def convert(value: object) -> FloatArray:
        if type(value) is np.ndarray and value.dtype == np.float64:
            array: FloatArray = value
        else:
            array = _numbers(value, expected).astype(np.float64)
        if array.shape != shape and not (array.size == size == 1 and array.ndim <= 1):
            raise ActionError(f"act() must return {expected}, not {shown(value)}")
        return array if array.ndim == 1 else array.reshape(size)

    return convert


def _integer_converter(space: Discrete | MultiDiscrete) -> Converter:
    low, high = action_bounds(space)
    expected = expected_action(space)
    one = isinstance(space, Discrete)
    first, last = int(low[0]), int(high[0])

    def convert(value: object) -> int | FloatArray:
        if one and type(value) is int and first <= value <= last:
            return value
        array = _numbers(value, expected)
        if array.shape != low.shape and not (one and array.size == 1):
            raise ActionError(f"act() must return {expected}, not {shown(value)}")
        array = array.astype(np.float64).reshape(low.size)
        if not ((array == np.floor(array)) & (array >= low) & (array <= high)).all():
            returned = array.item() if one else array.tolist()
            raise ActionError(f"act() must return {expected}, not {returned}")
        return array + 0.0  # -0.0 is 0

    return convert
