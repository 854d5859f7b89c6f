"""What the events of a log must hold, so that whoever reads them can rely on it."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from promptpo.llm.recording import FORMAT
from promptpo.tuning import TuningAccount
from promptpo.types import Key, MethodTable, Note, Preparation, Rollout

__all__ = ["EVENTS", "FORMAT", "INFO", "KEY", "fits", "is_event", "shape_of"]

# A shape is a type (float takes whole numbers too), None, a set of words, a range of whole numbers,
# a tuple of alternatives, a list with the shape of its items, or a dict of names ("name?" may be
# missing; "*": any name).


def fits(value: object, shape: Any) -> bool:  # noqa: ANN401 - shapes are plain values
    """Whether a value read from JSON has a shape."""
    if isinstance(shape, tuple):
        return any(fits(value, each) for each in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, Mapping) and _has(value, shape)
    if shape is None or isinstance(value, bool):
        return value is None if shape is None else shape is bool
    if isinstance(shape, frozenset | range):  # a range looks through itself for what is no int
        return isinstance(value, str if isinstance(shape, frozenset) else int) and value in shape
    return isinstance(value, (int, float) if shape is float else shape)


def _has(value: Mapping[str, object], shape: Mapping[str, Any]) -> bool:
    for name, part in shape.items():
        bare = name.rstrip("?")
        if name == "*":
            if not all(fits(item, part) for item in value.values()):
                return False
        elif bare in value:
            if not fits(value[bare], part):
                return False
        elif bare == name:
            return False
    return True


def shape_of(record: type, *optional: str) -> dict[str, Any]:
    """The shape of a dataclass's fields as JSON has them."""
    hints = get_type_hints(record)
    return {
        f.name.rstrip("_") + ("?" if f.name in optional else ""): _shape(hints[f.name])
        for f in fields(record)
    }


def _shape(hint: Any) -> Any:  # noqa: ANN401
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return frozenset(parts)
    if origin in (Union, types.UnionType):
        return tuple(_shape(part) for part in parts)
    if origin is tuple:
        items = [_shape(part) for part in parts if part is not ...]
        return [items[0] if len(items) == 1 else tuple(items)]
    if is_dataclass(hint):
        return shape_of(cast("type", hint))
    return None if hint is type(None) else Mapping if origin is not None else hint


KEY = {**shape_of(Key), **dict.fromkeys(("round", "candidate", "attempt"), range(10**9))}
SCORE = (None, {"mean_return": float, "success_rate?": (None, float)})
REFERENCES = (None, {"*": {"mean_return": float, "success_rate?": (None, float)}})
_FIELD = {"name": str, "shape": [int], "unit": str}
_NOTES = [shape_of(Note)]
_ROLLOUT = shape_of(Rollout, "life")

#: By type. A ``digest`` names what was done by its content: equal content, equal digest. Events of
#: other types are of another version, and are passed over.
EVENTS: dict[str, dict[str, Any]] = {
    "run": {
        "format": int,
        "config": Mapping,
        "spec": {
            "name": str,
            "sha": str,
            "references?": REFERENCES,
            "observation?": [_FIELD],
            "facts?": bool,
            "twin_of?": str,
        },
        "versions?": Mapping,
        "isolation?": (None, Mapping),
    },
    "resumed": {"config": Mapping},
    "prompt": {"key": KEY, "messages": [{"role": str, "content": str}]},
    "reply": {"key": KEY, "text": str, "latency?": float},
    # What a try of a call may be billed, at most, and that it is not billed.
    "reserved": {"key": KEY, "tokens": int, "cost": float},
    "unbilled": {"key": KEY},
    "refused": {"key": KEY, "reason": str},
    # The key is of the candidate that it was first played for.
    "rollout": {"key": KEY, "digest": str, **_ROLLOUT},
    "candidate": {
        "key": KEY, "kind": str, "parents": [str], "notes": _NOTES, "source": (None, str),
        "error": (None, str), "score": SCORE, "rollout": (None, str),
        # Digests of further search episodes, of hard ones, and of what it has prepared.
        "later?": [str], "hard?": (None, str), "prepared?": (None, str),
    },
    # The key is of the candidate for which it ran, in whose folder the values are.
    "prepared": {"key": KEY, **shape_of(Preparation)},
    "feedback": {"key": KEY, "digest": str, "by": str, "texts": [str], "error": (None, str),
                 "seeds?": [int], "feedback_class?": (None, str)},
    # In how many steps each line of a candidate ran; the rest ran in none, or never.
    "coverage": {
        "key": KEY, "digest": str, "lines": [int], "hits": [int], "steps": int,
        "error": (None, str),
    },
    # Vectors of constants of one policy, tried on common seeds.
    "tuning": {
        "key": KEY, "digest": str, "seeds": [int],
        "runs": [{
            "returns": [float], "lengths": [int], "successes": [(None, bool)], "steps": int,
            "error": (None, str), "bound": (None, float), "pace": (None, float),
        }],
    },
    # What it came to; the key is of the candidate that was tuned.
    "tuned": {"key": KEY, "budget": int, **shape_of(TuningAccount)},
    "round": {
        "round": int, "winner": str, "score": SCORE, "best": {"name": str, "score": SCORE},
        "notes": _NOTES,
    },
    # Facts of a method's own, as they stand after a round.
    "table": shape_of(MethodTable),
    "selection": {"finalists": [{"name": str, "score": SCORE}], "winner": (None, str)},
    "test": {"name": str, "digest": str},
    "finished": {"status": str, "reason": str, "best": (None, str), "score": SCORE},
    "notice": {"text": str},
}  # fmt: skip

#: ``run.json``; all of it may be missing.
INFO = {
    "format?": int,
    "status?": str,
    "reason?": str,
    "config?": Mapping,
    "spec?": str,
    "title?": str,
    "twin_of?": str,
    "facts?": bool,
    "references?": REFERENCES,
    "best?": {"name": str, "search": SCORE},
    "test?": _ROLLOUT,
    "seconds?": float,
    "ended?": (None, str),
}


def is_event(data: object) -> bool:
    """Whether a line of a log, decoded, is an event that readers can use."""
    if not isinstance(data, Mapping) or not isinstance(data.get("type"), str):
        return False
    time = data.get("time", 0.0)
    if not fits(time, float) or not math.isfinite(time):
        return False
    return fits(data, EVENTS.get(data["type"], {}))
