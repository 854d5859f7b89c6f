"""What a run has told so far: events folded into one record that the views draw from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpo.types import Event

#: States in which a candidate needs nothing more.
SETTLED = ("scored", "failed")

_PHASES = {"selecting": "selection", "testing": "test"}


@dataclass
class CandidateView:
    """One candidate of the current round."""

    name: str
    state: str = "asked"
    error: str = ""
    repairs: int = 0
    rollout: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Progress:
    """The state of a run. ``apply`` takes every event; times are seconds since the epoch."""

    run: Mapping[str, Any] = field(default_factory=dict)
    started: float = 0.0
    phase: str = "starting"
    round: int = 0
    round_started: float = 0.0
    candidates: dict[int, CandidateView] = field(default_factory=dict)
    rounds: list[Mapping[str, Any]] = field(default_factory=list)
    round_seconds: list[float] = field(default_factory=list)
    best: Mapping[str, Any] | None = None
    chosen: str = ""
    defines_success: bool = False
    finalists: Sequence[str] = ()
    played: set[str] = field(default_factory=set)
    in_flight: set[tuple[Any, ...]] = field(default_factory=set)
    usage: Mapping[str, Any] = field(default_factory=dict)
    test: Mapping[str, Any] | None = None
    proofs: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    finished: Mapping[str, Any] | None = None

    @property
    def config(self) -> Mapping[str, Any]:
        """The settings of the run."""
        config: Mapping[str, Any] = self.run.get("config", {})
        return config

    @property
    def settled(self) -> int:
        """Candidates of the current round that need nothing more."""
        return sum(c.state in SETTLED for c in self.candidates.values())

    def apply(self, event: Event) -> None:
        """Take note of one event; types that no view shows are passed over."""
        if not self.started:
            self.started = event.time
        if event.type == "round" and not event.transient:
            # A round that a resumed run repeats from its log says nothing of how long one takes.
            self.round_seconds.append(event.time - self.round_started)
        handler = getattr(self, f"_on_{event.type}", None)
        if handler is not None:
            handler(event.data, event.time)

    def seconds_left(self, now: float) -> float | None:
        """A guess at the time that the rounds still take; None before a round is done.

        Selection and the held-out test follow the last round and are not in it.
        """
        total: int = self.config.get("rounds", 0)
        if not self.round_seconds or self.phase != "search" or not total:
            return None
        typical = sum(self.round_seconds) / len(self.round_seconds)
        current = max(typical - (now - self.round_started), 0.0)
        return current + typical * max(total - self.round, 0)

    def _on_run(self, data: Mapping[str, Any], time: float) -> None:
        self.run = data
        self.round_started = time

    def _on_call(self, data: Mapping[str, Any], time: float) -> None:
        key = data["key"]
        self.in_flight.add(_key(key))
        self._enter_round(key["round"], time)
        if self.phase in ("starting", "feedback") and key["role"].startswith("feedback"):
            self.phase = "feedback"

    def _on_reply(self, data: Mapping[str, Any], time: float) -> None:
        self.in_flight.discard(_key(data["key"]))

    def _on_state(self, data: Mapping[str, Any], time: float) -> None:
        phase = _PHASES.get(data["state"])
        if phase:
            self.phase, self.finalists, self.played = phase, data["finalists"], set()
            return
        view = self._candidate(data, time)
        view.state = data["state"]

    def _on_candidate(self, data: Mapping[str, Any], time: float) -> None:
        view = self._candidate(data, time)
        view.error, view.repairs = data.get("error") or "", data["attempt"]

    def _on_rollout(self, data: Mapping[str, Any], time: float) -> None:
        name = candidate_name(data)
        self.defines_success |= any(s is not None for s in data["successes"])
        if data["stream"] == "search":
            view = self._candidate(data, time)
            view.rollout, view.error = data, data.get("error") or ""
        elif data["stream"] == "selection":
            self.played.add(name)
        else:
            self.test, self.chosen = data, name

    def _on_proof(self, data: Mapping[str, Any], time: float) -> None:
        self.proofs[candidate_name(data)] = data

    def _on_round(self, data: Mapping[str, Any], time: float) -> None:
        self._enter_round(data["round"], time)
        self.rounds.append(data)
        self.round_started = time
        if data["best"]["score"]:
            self.best, self.chosen = data["best"], data["best"]["name"]
        self.in_flight.clear()

    def _on_selection(self, data: Mapping[str, Any], time: float) -> None:
        self.chosen = data["winner"]

    def _on_usage(self, data: Mapping[str, Any], time: float) -> None:
        self.usage = data

    def _on_finished(self, data: Mapping[str, Any], time: float) -> None:
        self.phase, self.finished = "finished", data
        if data.get("test"):  # interrupted: what is in best/ was tested in an earlier session
            self.test, self.chosen = data["test"], data["best"]
            self.best = {"name": data["best"], "score": data["score"]}

    def _candidate(self, data: Mapping[str, Any], time: float) -> CandidateView:
        self._enter_round(data["round"], time)
        index = data["index"]
        if index not in self.candidates:
            self.candidates[index] = CandidateView(candidate_name(data))
        return self.candidates[index]

    def _enter_round(self, number: int, time: float) -> None:
        if number > self.round:
            self.round, self.phase = number, "search"
            self.candidates = {}
            self.round_started = time


def candidate_name(data: Mapping[str, Any]) -> str:
    """``r02_c03``, from an event's round and index."""
    return f"r{data['round']:02d}_c{data['index']:02d}"


def _key(data: Mapping[str, Any]) -> tuple[Any, ...]:
    return (data["role"], data["round"], data["candidate"], data["attempt"])
