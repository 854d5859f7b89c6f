"""The types of the events in a log and of ``run.json``: what readers of a run can rely on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import msgspec

from promptpo.llm.messages import Message
from promptpo.tuning import TuningAccount
from promptpo.types import Key, Kind, MethodTable, Note, Preparation, Rollout


class ScoreData(TypedDict):
    """A score that is no failure."""

    mean_return: float
    success_rate: NotRequired[float | None]


class _Named(TypedDict):
    name: str
    score: ScoreData | None


class _Field(TypedDict):
    name: str
    shape: list[int]
    unit: str


class _Spec(TypedDict):
    name: str
    sha: str
    references: NotRequired[dict[str, ScoreData] | None]
    observation: NotRequired[list[_Field]]
    facts: NotRequired[bool]
    twin_of: NotRequired[str]


class _Run(TypedDict):
    format: int
    config: dict[str, Any]
    spec: _Spec
    versions: NotRequired[dict[str, Any]]
    isolation: NotRequired[dict[str, Any] | None]


class _Resumed(TypedDict):
    config: dict[str, Any]


class _Keyed(TypedDict):
    key: Key


class _Digest(TypedDict):
    #: Of the candidate that it was first done for.
    key: Key
    digest: str


class _Rollout(_Digest):
    steps: int


class _Prompt(TypedDict):
    key: Key
    messages: list[Message]


class _Reply(TypedDict):
    key: Key
    text: str
    latency: NotRequired[float]


class _Reserved(TypedDict):
    key: Key
    tokens: int
    cost: float


class _Refused(TypedDict):
    key: Key
    reason: str


class _Candidate(TypedDict):
    key: Key
    kind: Kind
    parents: list[str]
    notes: list[Note]
    source: str | None
    error: str | None
    score: ScoreData | None
    rollout: str | None
    #: Digests of further search episodes, of hard ones, and of its ``prepare``.
    later: NotRequired[list[str]]
    hard: NotRequired[str | None]
    prepared: NotRequired[str | None]


class _Feedback(TypedDict):
    by: str
    texts: list[str]
    error: str | None
    seeds: NotRequired[list[int]]
    feedback_class: NotRequired[str | None]


class _Coverage(TypedDict):
    lines: list[int]
    hits: list[int]
    steps: int
    error: str | None


class _TuningRun(TypedDict):
    returns: list[float]
    lengths: list[int]
    successes: list[bool | None]
    steps: int
    error: str | None
    bound: float | None
    pace: float | None


class _Tuning(TypedDict):
    seeds: list[int]
    runs: list[_TuningRun]


class _Tuned(TypedDict):
    key: Key
    budget: int


class _Round(TypedDict):
    round: int
    winner: str
    score: ScoreData | None
    best: _Named
    notes: list[Note]


class _Selection(TypedDict):
    finalists: list[_Named]
    winner: str | None


class _Test(TypedDict):
    name: str
    digest: str


class _Finished(TypedDict):
    status: str
    reason: str
    best: str | None
    score: ScoreData | None


class _Notice(TypedDict):
    text: str


#: The types that each event's data has, all of them at once. A ``digest`` names what was done by
#: its content: equal content, equal digest. Events of other types are of another version of
#: promptpo, and are skipped.
EVENTS: Mapping[str, Sequence[Any]] = {
    "run": [_Run],
    "resumed": [_Resumed],
    "prompt": [_Prompt],
    "reply": [_Reply],
    # The most that a try of a call may be billed; and that it is not billed.
    "reserved": [_Reserved],
    "unbilled": [_Keyed],
    "refused": [_Refused],
    "rollout": [_Rollout, Rollout],
    "candidate": [_Candidate],
    "prepared": [_Keyed, Preparation],
    "feedback": [_Digest, _Feedback],
    # Steps in which each line of a candidate ran; other lines ran in none.
    "coverage": [_Digest, _Coverage],
    # Vectors of constants of one policy, tried on common seeds.
    "tuning": [_Digest, _Tuning],
    "tuned": [_Tuned, TuningAccount],
    "round": [_Round],
    # Facts of a method's own, after a round.
    "table": [MethodTable],
    "selection": [_Selection],
    "test": [_Test],
    "finished": [_Finished],
    "notice": [_Notice],
}


class _Best(TypedDict):
    name: str
    search: ScoreData | None


class Info(TypedDict, total=False):
    """The types in ``run.json``."""

    format: int
    status: str
    reason: str
    config: dict[str, Any]
    spec: str
    title: str
    twin_of: str
    facts: bool
    references: dict[str, ScoreData] | None
    best: _Best
    test: Rollout
    seconds: float
    ended: str | None


def check_event(data: object) -> None:
    """Raise ValueError, which names the place, where a decoded line of a log is no event."""
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise ValueError("no event")  # noqa: TRY004 - a defect of the data
    if not math.isfinite(msgspec.convert(data.get("time", 0.0), float)):
        raise ValueError("no time - at `$.time`")
    for kind in EVENTS.get(data["type"], ()):
        msgspec.convert(data, kind)
