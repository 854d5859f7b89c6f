"""What a run has already done, looked up in its event log: the memory that resuming rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from promptpo.llm.recording import RecordedReply, reply_from_event
from promptpo.rollout.jobs import SummaryRun
from promptpo.store.events import EventLog
from promptpo.types import CallKey, Proof, Rollout, Stream

#: Round, candidate and attempt.
Place = tuple[int, int, int]

_ROLLOUT_FIELDS = {f.name for f in fields(Rollout)}
_IDENTITY = (
    *("status", "reason", "stream", "round", "index", "attempt", "source_sha", "feedback_sha"),
    "winner",
    "mark",
)


def digest(text: str) -> str:
    """A short fingerprint of a source."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rollout_from_event(data: Mapping[str, Any]) -> Rollout:
    """What the data of a ``rollout`` event tells."""
    known = {"mark": "", **_plain(data)}  # logs of older versions have no mark
    return Rollout(**{k: known[k] for k in _ROLLOUT_FIELDS})


def proof_from_event(data: Mapping[str, Any]) -> Proof:
    """What the data of a ``proof`` event tells."""
    known = _plain(data)
    return Proof(**{f.name: known[f.name] for f in fields(Proof)})


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}


class Past:
    """Replies, rollouts and summaries of a run's earlier sessions; empty for a new run."""

    def __init__(self, log: EventLog) -> None:
        self.replies: dict[CallKey, RecordedReply] = dict(
            reply_from_event(data) for data in log.of_type("reply")
        )
        self._rollouts = {
            (data["stream"], *_place(data), data.get("mark", "")): data
            for data in log.of_type("rollout")
        }
        self._proofs = {
            (data["stream"], *_place(data), data["source_sha"]): data
            for data in log.of_type("proof")
        }
        self._summaries = {
            (data["round"], data["index"], data["feedback_sha"]): data
            for data in log.of_type("feedback")
        }
        self._told = {_identity(e.type, e.data) for e in log.past}

    def rollout(
        self, stream: Stream, place: Place, source: str, seeds: Sequence[int], mark: str = ""
    ) -> Rollout | None:
        """What this very source did on these very seeds, alone where there is a mark against it."""
        data = self._rollouts.get((stream, *place, mark))
        if not data or data["source_sha"] != digest(source) or data["seeds"] != list(seeds):
            return None
        return rollout_from_event(data)

    def proof(self, stream: Stream, place: Place, source: str) -> Proof | None:
        """What playing this very source alone has shown."""
        data = self._proofs.get((stream, *place, digest(source)))
        return proof_from_event(data) if data else None

    def summary(self, round_: int, index: int, feedback_sha: str) -> SummaryRun | None:
        """What a Feedback class made of a candidate's episodes."""
        data = self._summaries.get((round_, index, feedback_sha))
        return SummaryRun(tuple(data["texts"]), data["error"]) if data else None

    def repeats(self, event: str, data: Mapping[str, Any]) -> bool:
        """Whether the log holds this event already; from now on it does."""
        identity = _identity(event, data)
        known = identity in self._told
        self._told.add(identity)
        return known


def _place(data: Mapping[str, Any]) -> Place:
    return data["round"], data["index"], data["attempt"]


def _identity(event: str, data: Mapping[str, Any]) -> tuple[object, ...]:
    return (event, *(data.get(name) or None for name in _IDENTITY))
