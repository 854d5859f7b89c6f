"""What a run has already done, looked up in its event log: the memory that resuming rests on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from promptpo.llm.recording import RecordedReply, reply_from_event
from promptpo.methods.base import LimitReached
from promptpo.rollout.jobs import SummaryRun
from promptpo.types import CallKey, Candidate, Event, Proof, Rollout, Stream

#: Round, candidate and attempt.
Place = tuple[int, int, int]

_ROLLOUT_FIELDS = {f.name for f in fields(Rollout)}

#: What an event is about; of two events about the same thing the later one holds.
_SUBJECT = ("stream", "round", "index", "attempt", "source_sha", "feedback_sha", "mark", "key")

#: Decisions in their order: each rests on the ones before, and falls when one of them is new.
_DECISIONS = ("round", "selection", "test", "finished")


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


@dataclass(frozen=True)
class Tested:
    """A policy and its held-out episodes: the best-documented one that a run has."""

    candidate: Candidate
    rollout: Rollout


class Past:
    """Replies, rollouts and decisions of a run's earlier sessions; empty for a new run."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.replies: dict[CallKey, RecordedReply] = {}
        self._begun: dict[int, int] = {}
        self._refused: dict[CallKey, str] = {}
        self._rollouts: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._held_out: Mapping[str, Any] | None = None
        self._proofs: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._late: dict[tuple[object, ...], int] = {}
        self._rounds = 0
        self._summaries: dict[tuple[object, ...], Mapping[str, Any]] = {}
        self._candidates: dict[str, Mapping[str, Any]] = {}
        self._last: dict[tuple[str, ...], str] = {}
        self.tested: Tested | None = None
        for event in events:
            self._take(event.type, event.data)

    def _take(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind in ("prompt", "reply"):
            call = CallKey.of(data["key"])
            self._begun[call.round] = max(self.begun(call.round), call.candidate)
            if kind == "reply":
                self.replies[call] = reply_from_event(data)[1]
            return
        self.repeats(kind, data)
        if kind == "refused":
            self._refused[CallKey.of(data["key"])] = data["reason"]
        elif kind == "candidate":
            self._candidates[_name(data)] = data
        elif kind == "feedback":
            self._summaries[(data["round"], data["index"], data["feedback_sha"])] = data
        elif kind == "proof":
            self._proofs[_played(data)] = data
            self._late.setdefault(_played(data), self._rounds)
        elif kind == "round":
            self._rounds = max(self._rounds, data["round"])
        elif kind == "rollout":
            self._rollouts[(*_played(data), tuple(data["seeds"]), data.get("mark", ""))] = data
            self._held_out = data if data["stream"] == "test" else self._held_out
        elif kind == "test":
            self._held_out = None
            self._document(data["name"], data)
        elif kind == "finished" and self._held_out:  # logs of older versions have no more of it
            self._document(_name(self._held_out), self._held_out)

    def rollout(
        self, stream: Stream, place: Place, source: str, seeds: Sequence[int], mark: str = ""
    ) -> Rollout | None:
        """What this very source did on these very seeds, alone where there is a mark against it."""
        data = self._rollouts.get((stream, *place, digest(source), tuple(seeds), mark))
        return rollout_from_event(data) if data else None

    def proof(self, stream: Stream, place: Place, source: str) -> Proof | None:
        """What playing this very source alone has shown."""
        data = self._proofs.get((stream, *place, digest(source)))
        return proof_from_event(data) if data else None

    def found_late(self, place: Place, source: str, rounds: int) -> str:
        """The mark that held-out episodes gave a policy when the run had so many rounds, or fewer.

        Prompts of these rounds did not tell it; those of an extended run do.
        """
        proof = self.proof("test", place, source)
        played = ("test", *place, digest(source))
        return proof.mark if proof is not None and self._late[played] <= rounds else ""

    def summary(self, round_: int, index: int, feedback_sha: str) -> SummaryRun | None:
        """What a Feedback class made of a candidate's episodes."""
        data = self._summaries.get((round_, index, feedback_sha))
        return SummaryRun(tuple(data["texts"]), data["error"]) if data else None

    def begun(self, round_: int) -> int:
        """How many candidates of a round have been asked for."""
        return self._begun.get(round_, 0)

    def check_allowed(self, key: CallKey) -> None:
        """Raises LimitReached where a limit forbade the call and the search went on without it.

        What was built on that stays as it was, whatever the limits are now.
        """
        if key in self._refused and self.begun(key.round + 1):
            raise LimitReached(self._refused[key])

    def repeats(self, event: str, data: Mapping[str, Any]) -> bool:
        """Whether this is the log's last word on its subject already; from now on it is."""
        names = () if event in _DECISIONS[1:] else _SUBJECT
        subject = (event, *(json.dumps(data.get(name) or None) for name in names))
        content = digest(json.dumps(data, sort_keys=True))
        known = self._last.get(subject) == content
        self._last[subject] = content
        if not known and event in _DECISIONS:
            later = _DECISIONS[_DECISIONS.index(event) + 1 :]
            self._last = {k: v for k, v in self._last.items() if k[0] not in later}
        return known

    def has(self, event: str) -> bool:
        """Whether a decision of this kind holds."""
        return (event,) in self._last

    def _document(self, name: str, test: Mapping[str, Any]) -> None:
        """Note that a candidate has held-out episodes, where the log still has the rest of it."""
        written = self._candidates.get(name)
        if test["error"] is not None or written is None or written["source"] is None:
            return
        place = (written["round"], written["index"])
        sha = digest(written["source"])
        search = None
        for (stream, *where, _, source_sha, _, _), data in self._rollouts.items():
            if (stream, tuple(where), source_sha) == ("search", place, sha):
                search = rollout_from_event(data)  # the last: played alone, where it had to be
        candidate = Candidate(
            *place, written["source"], search, written["error"], repairs=written["attempt"]
        )
        self.tested = Tested(candidate, rollout_from_event(test))


def _played(data: Mapping[str, Any]) -> tuple[object, ...]:
    """What was played: stream, round, candidate, attempt and source."""
    place = (data["round"], data["index"], data["attempt"])
    return (data["stream"], *place, data["source_sha"])


def _name(data: Mapping[str, Any]) -> str:
    return Candidate(data["round"], data["index"], None).name
