"""The observation fields of a Gymnasium space: names, types and bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from promptpo.spec.authoring.definition import Field, Space, Unsuitable
from promptpo.spec.writing.documentation import element_names, identifier

#: An observation of more numbers than these is a picture, or might as well be one.
_MOST_NUMBERS = 2_000

#: From here on a bound of float32 means that there is none.
_NO_BOUND = 3.4e38


@dataclass(frozen=True)
class NamedField:
    """One field: its name, annotation and description."""

    name: str
    annotation: str
    field: Field


def fields_of(space: Space, documentation: str) -> list[NamedField]:
    """The fields of a space, in the order of its numbers, with a name each.

    ``documentation`` is what is documented of it. Those that have no name, or another's, are
    numbered. Raises Unsuitable where numbers cannot hold it.
    """
    items = list(_fields(space, documentation))
    given = [item.name or f"value_{place}" for place, item in enumerate(items, 1)]
    names: list[str] = []
    for name in given:
        own, number = name, 1
        while own in names or (number > 1 and own in given):
            number += 1
            own = f"{name}_{number}"
        names.append(own)
    return [replace(item, name=name) for item, name in zip(items, names, strict=True)]


def _fields(space: Space, documentation: str, name: str = "") -> Iterator[NamedField]:
    """The fields of a space, in the order of its numbers; ``name`` is that of the whole."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _fields(part, "", f"{name}_{key}" if name else str(key))
    elif isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces, 1):
            yield from _fields(part, "", f"{name or 'part'}_{number}")
    elif isinstance(space, spaces.Discrete):
        start = int(space.start)
        last = start + int(space.n) - 1
        field = Field(low=start, high=last, doc=_doc(name, "a whole number"))
        yield _item(name or "state", "int", field)
    elif isinstance(space, spaces.MultiDiscrete):
        high = tuple(int(n) - 1 for n in np.ravel(space.nvec))
        field = Field(space.shape, low=0, high=high, doc=_doc(name, "whole numbers"))
        yield _item(name or "state", "np.ndarray", field)
    elif isinstance(space, spaces.MultiBinary):
        field = Field(tuple(space.shape), low=0, high=1, doc=_doc(name, "zeros and ones"))
        yield _item(name or "state", "np.ndarray", field)
    elif isinstance(space, spaces.Box):
        yield from _box_fields(space, documentation, name)
    else:
        what = f"its part {name!r}" if name else "its observation"
        raise Unsuitable(
            f"{what} is of type {type(space).__name__}, which has no fixed number of numbers; "
            "write a spec file whose observe(raw, env) returns numbers"
        )


def _box_fields(space: Space, documentation: str, name: str) -> Iterator[NamedField]:
    picture = space.dtype == np.uint8 and len(space.shape) >= 2
    if picture or math.prod(space.shape) > _MOST_NUMBERS:
        what = "a picture" if picture else "too large"
        raise Unsuitable(
            f"its observation {name + ' ' if name else ''}of shape {space.shape} is {what}; write "
            "a spec file whose observe(raw, env) returns what a policy needs of it as numbers"
        )
    if not space.shape:
        yield _item(name or "state", "float", Field(doc=_doc(name, "a number"), **_bounds(space)))
        return
    count = int(space.shape[0])
    rows = element_names(documentation, count) if len(space.shape) == 1 else None
    if rows is None:
        field = Field(tuple(space.shape), **_bounds(space), doc=_doc(name, "as told above"))
        yield _item(name or "state", "np.ndarray", field)
        return
    for index, (element, words, unit) in enumerate(rows):
        low, high = _bound(space.low[index]), _bound(space.high[index])
        yield _item(element, "float", Field(unit=unit, low=low, high=high, doc=words))


def _item(name: str, annotation: str, field: Field) -> NamedField:
    return NamedField(identifier(name), annotation, field)


def _doc(name: str, otherwise: str) -> str:
    if re.fullmatch(r"part_\d+", name):
        return f"{name.replace('_', ' ')} of what is told above"
    return name.replace("_", " ") or otherwise


def _bounds(space: Space) -> dict[str, Any]:
    """Bounds of a Box as a field has them."""
    found: dict[str, Any] = {}
    for side in ("low", "high"):
        values = [_bound(value) for value in np.ravel(getattr(space, side))]
        if all(value is None for value in values):
            continue
        if len(set(values)) == 1:
            found[side] = values[0]
        else:
            none = -math.inf if side == "low" else math.inf
            found[side] = tuple(none if value is None else value for value in values)
    return found


def _bound(value: float) -> float | None:
    return float(value) if abs(float(value)) < _NO_BOUND else None
