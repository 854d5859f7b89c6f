"""What an environment returns, as plain numbers and truths; what is none is refused with words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.spec.running.explanation import one_line

#: Kinds of dtype that are real numbers: float, int, unsigned, bool.
_KINDS = "fiub"
_NUMBERS = "return an array of numbers"


class BadValue(Exception):
    """A value that is not what it must be; the message says what it is.

    Attributes:
        part: what it stands for: ``observation``, ``reward``, ``terminated``, ``success``, ...
        remedy: what to return instead.
    """

    def __init__(self, part: str, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.part, self.remedy = part, remedy


def vector(value: Any) -> NDArray[np.float64]:  # noqa: ANN401 - whatever an environment returned
    """A fresh float64 array of whole or real numbers, of the value's own shape.

    Raises BadValue for text, None, complex numbers and rows of unequal length.
    """
    if type(value) is np.ndarray and value.dtype.kind in _KINDS:
        return value.astype(np.float64)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        problem = f"an observation that is no array ({one_line(error)})"
        raise BadValue("observation", problem, _NUMBERS) from error
    if array.dtype.kind not in _KINDS:
        kind = {"O": "objects", "c": "complex numbers", "U": "text", "S": "bytes"}
        held = "None" if value is None else kind.get(array.dtype.kind, str(array.dtype))
        raise BadValue("observation", f"{held} as the observation, not numbers", _NUMBERS)
    return array.astype(np.float64)


def all_finite(numbers: NDArray[np.float64], zeros: NDArray[np.float64]) -> bool:
    """Whether no number is NaN or infinite, given so many zeros; the quickest that numpy has."""
    with np.errstate(invalid="ignore"):
        return bool(numbers.dot(zeros) == 0.0)  # 0 times NaN or infinity is NaN


def real(value: Any) -> float:  # noqa: ANN401
    """A reward as a float; an array of one number counts. Raises BadValue for what is no number."""
    if isinstance(value, np.ndarray | np.generic):
        if value.size == 1 and value.dtype.kind in _KINDS:
            return float(value.item())
    elif value is not None and not isinstance(value, str | bytes | bytearray | complex):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    shape = f" of shape {value.shape}" if getattr(value, "shape", None) else ""
    problem = f"{type(value).__name__}{shape} as the reward, not a number"
    raise BadValue("reward", problem, "make it a float")


def truth(value: Any, name: str) -> bool:  # noqa: ANN401
    """A flag as a bool; 0, 1 and an array of one flag count. Raises BadValue for anything else."""
    if type(value) is np.bool_:
        return bool(value)
    flag = value
    if not isinstance(flag, bool | int | float) and getattr(flag, "size", 0) == 1:
        flag = flag.item()
    if isinstance(flag, bool | int | float) and flag in (0, 1):
        return bool(flag)
    shown = f"{type(value).__name__} {_shown(value)}"
    raise BadValue(name, f"{shown} as {name}, not True or False", f"make it bool({name})")


def _shown(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return ""
    return text if len(text) <= 40 else f"{text[:40]}..."
