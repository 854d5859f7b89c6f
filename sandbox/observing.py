"""The class of observations from its trusted source; runs inside the sandboxed process."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from sandbox.interface import FloatArray
from sandbox.language.ownership import fleeting

#: The immutable kin of what holds no further values.
_FLAT: dict[type, Callable[[Any], object]] = {set: frozenset, bytearray: bytes}


def observation_class(source: str | None) -> Callable[[FloatArray], Any] | None:
    """The class ``Observation``, or None where observations are plain vectors.

    Objects of it, and of the other classes in the source, live for a step, and a program may write
    to them; the classes serve all episodes, and what they hold is made immutable.
    """
    if source is None:
        return None
    namespace: dict[str, Any] = {"np": np, "math": math, "__name__": "observation"}
    exec(compile(source, "<observation>", "exec", dont_inherit=True), namespace)  # noqa: S102 - trusted: it comes with the task
    for value in list(namespace.values()):
        if isinstance(value, type) and value.__module__ == "observation":
            fleeting(value)
            _freeze(value)
    found: Callable[[FloatArray], Any] = namespace["Observation"]
    return found


def _freeze(kind: type) -> None:
    for name, value in list(vars(kind).items()):
        if not name.startswith("__"):
            frozen = _frozen(value)
            if frozen is not value:
                setattr(kind, name, frozen)


def _frozen(value: Any) -> Any:  # noqa: ANN401 - any value of a class attribute
    kind = type(value)
    if kind is np.ndarray:
        fixed = value.copy()
        fixed.flags.writeable = False
        return fixed
    if kind is dict:
        return MappingProxyType({key: _frozen(inner) for key, inner in value.items()})
    if kind in (list, tuple):
        return tuple(map(_frozen, value))
    return _FLAT[kind](value) if kind in _FLAT else value
