"""The fields of the events in a log and of ``run.json``: what readers of a run can rely on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import GenericAlias, MappingProxyType
from typing import Any

import msgspec

from promptpo.llm.messages import Message
from promptpo.tuning import TuningAccount
from promptpo.types import Key, Kind, MethodTable, Note, Preparation, Rollout


def _fields(optional: Mapping[str, Any] = MappingProxyType({}), /, **required: Any) -> Any:  # noqa: ANN401
    """Return the type of an object with these fields, and maybe others."""
    more = [(name, kind, None) for name, kind in optional.items()]
    return msgspec.defstruct("Fields", [*required.items(), *more])


def _list(kind: Any) -> Any:  # noqa: ANN401
    return GenericAlias(list, (kind,))


_EVENT = _fields({"time": float}, type=str)
_DATA = dict[str, Any]
_SCORE = (
    _fields(dict.fromkeys(("success_rate", "worst_tenth"), float | None), mean_return=float) | None
)
_SCORES: Any = GenericAlias(dict, (str, _SCORE)) | None
_LIMITS: Any = dict.fromkeys(("low", "high"), list[float | None] | None)
_NAMED = _fields(name=str, score=_SCORE)
_DONE = _fields(key=Key, digest=str)
_TUNING_RUN = _fields(
    returns=list[float], lengths=list[int], successes=list[bool | None], steps=int,
    error=str | None, bound=float | None, pace=float | None,
)  # fmt: skip

#: The types that each event's data has, all of them at once. A ``digest`` names what was done by
#: its content: equal content, equal digest; the ``key`` beside it is of the candidate that it was
#: first done for. Events of other types are of another version of promptpo, and are skipped.
EVENTS: Mapping[str, Sequence[Any]] = {
    "run": [
        _fields(
            {"versions": _DATA, "isolation": _DATA | None},
            format=int,
            config=_DATA,
            spec=_fields(
                {
                    "references": _SCORES,
                    "observation": _list(
                        _fields(_LIMITS, name=str, shape=list[int], unit=str),
                    ),
                    "action": _fields(_LIMITS),
                    "facts": bool,
                    "twin_of": str,
                },
                name=str,
                sha=str,
            ),
        )
    ],
    "resumed": [_fields(config=_DATA)],
    "prompt": [_fields(key=Key, messages=list[Message])],
    "reply": [_fields({"latency": float}, key=Key, text=str)],
    # The most that a try of a call may be billed; and that it is not billed.
    "reserved": [_fields(key=Key, tokens=int, cost=float)],
    "unbilled": [_fields(key=Key)],
    "refused": [_fields(key=Key, reason=str)],
    "rollout": [_DONE, Rollout, _fields(steps=int)],
    # ``rollout``, ``later``, ``hard`` are digests of search episodes, ``prepared`` of ``prepare``.
    "candidate": [
        _fields(
            {"later": list[str], "hard": str | None, "prepared": str | None},
            key=Key, kind=Kind, parents=list[str], notes=list[Note], source=str | None,
            error=str | None, score=_SCORE, rollout=str | None,
        )
    ],
    "prepared": [_DONE, Preparation],
    "feedback": [
        _DONE,
        _fields(
            {"seeds": list[int], "feedback_class": str | None},
            by=str, texts=list[str], error=str | None,
        ),
    ],
    # Steps in which each line of a candidate ran; other lines ran in none.
    "coverage": [_DONE, _fields(lines=list[int], hits=list[int], steps=int, error=str | None)],
    # Vectors of constants of one policy, tried on common seeds.
    "tuning": [_DONE, _fields(seeds=list[int], runs=_list(_TUNING_RUN))],
    "tuned": [_fields(key=Key, budget=int), TuningAccount],
    "round": [_fields(round=int, winner=str, score=_SCORE, best=_NAMED, notes=list[Note])],
    # Facts of a method's own, after a round.
    "table": [MethodTable],
    "selection": [
        _fields(
            {"tied": list[str], "smallest_difference": float},
            finalists=_list(_NAMED), winner=str | None,
        ),
    ],
    "test": [_fields({"parts": list[str], "episodes": int}, name=str, digest=str)],
    "finished": [_fields(status=str, reason=str, best=str | None, score=_SCORE)],
    "notice": [_fields(text=str)],
}  # fmt: skip

#: ``run.json``; all of it may be missing.
INFO = _fields(
    {
        **dict.fromkeys(("status", "reason", "spec", "title", "twin_of"), str),
        "format": int,
        "config": _DATA,
        "facts": bool,
        "references": _SCORES,
        "best": _fields(name=str, search=_SCORE),
        "test": Rollout,
        "seconds": float,
        "ended": str | None,
    }
)


def check_event(data: object) -> None:
    """Raise ValueError, which names the place, where a decoded line of a log is no event."""
    event = msgspec.convert(data, _EVENT)
    if event.time is not None and not math.isfinite(event.time):
        raise msgspec.ValidationError("Expected a finite number - at `$.time`")
    for kind in EVENTS.get(event.type, ()):
        msgspec.convert(data, kind)
