"""Records as JSON has them, and back: one spelling for events, ``run.json`` and ``result.json``."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from promptpo.types import Score

T = TypeVar("T")


def encode(record: object) -> Any:  # noqa: ANN401 - JSON of any kind
    """A record as plain JSON values; a field named ``return_`` is ``return`` there."""
    if is_dataclass(record):
        return {f.name.rstrip("_"): encode(getattr(record, f.name)) for f in fields(record)}
    if isinstance(record, tuple | list):
        return [encode(item) for item in record]
    if isinstance(record, Mapping):
        return {name: encode(value) for name, value in record.items()}
    return record


def decode(kind: type[T], data: Mapping[str, Any]) -> T:
    """The record of a type that ``encode`` made of it, or of more; fields left out have defaults.

    The data has the shape that ``promptpo.store.shapes`` holds it to.
    """
    values = {}
    for name, written, make in _fields(cast("type", kind)):
        if written in data:
            value = data[written]
            values[name] = value if make is None or value is None else make(value)
    return kind(**values)


@cache
def _fields(kind: type) -> list[tuple[str, str, Callable[[Any], Any] | None]]:
    """Each field's name, its name as written, and what makes its value (None: it is one)."""
    hints = get_type_hints(kind)
    return [(f.name, f.name.rstrip("_"), _maker(hints[f.name])) for f in fields(kind)]


def _maker(hint: Any) -> Callable[[Any], Any] | None:  # noqa: ANN401
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        plain = [part for part in parts if part is not type(None)]
        return _maker(plain[0]) if len(plain) == 1 else None
    if origin is tuple:
        make = _maker(parts[0])
        return tuple if make is None else lambda items: tuple(map(make, items))
    return partial(decode, hint) if is_dataclass(hint) and isinstance(hint, type) else None


def score_data(score: Score) -> dict[str, Any] | None:
    """A score as JSON; None for a failure."""
    if score.failed:
        return None
    return {"mean_return": score.mean_return, "success_rate": score.success_rate}


def score_of(data: Mapping[str, Any] | None) -> Score:
    """The inverse of ``score_data``."""
    return Score(data["mean_return"], data.get("success_rate")) if data else Score(failed=True)
