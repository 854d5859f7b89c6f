"""What a view shows of a run besides its record: the phase it is in, and how long it may take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.types import Key
from promptpo.ui.tuning import TuningProgress

_SETTLED = ("scored", "failed", "tuning")

_PHASES = {"selecting": "selection", "testing": "test"}


@dataclass
class Progress:
    """A run that is watched. ``apply`` takes every event; times are seconds since the epoch.

    Attributes:
        record: what the events tell, as for everyone.
        phase: "starting", "feedback", "search", "selection", "test" or "finished".
        round: the number of the current round, which began at ``round_started``.
        round_seconds: what the rounds of this session took.
        finalists: who meet on selection episodes, or the one whose held-out episodes are played;
            ``played`` are those of the former who have.
        in_flight: the calls that wait for a reply.
        tuning: the candidate whose constants are tuned at the moment; None where none is.
    """

    record: Run = field(default_factory=Run)
    phase: str = "starting"
    round: int = 0
    round_started: float = 0.0
    round_seconds: list[float] = field(default_factory=list)
    finalists: Sequence[str] = ()
    played: set[str] = field(default_factory=set)
    in_flight: set[Key] = field(default_factory=set)
    tuning: TuningProgress | None = None
    _tunings: dict[str, TuningProgress] = field(default_factory=dict)

    @property
    def candidates(self) -> Sequence[Trial]:
        """The candidates of the current round, in their order."""
        return next((r.trials for r in self.record.round_records if r.number == self.round), ())

    @property
    def settled(self) -> int:
        """Candidates of the current round that need nothing more."""
        return sum(stage_of(trial) in _SETTLED for trial in self.candidates)

    @property
    def finalists_words(self) -> str:
        """What the finalists are called: by most methods the winners of the rounds."""
        winners = {end["winner"] for end in self.record.ends.values()}
        return "winners" if winners.issuperset(self.finalists) else "finalists"

    def apply(self, event: Event) -> None:
        """Take note of one event."""
        self.record.apply(event)
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
        total: int = self.record.settings.get("rounds", 0)
        if not self.round_seconds or self.phase != "search" or not total:
            return None
        typical = sum(self.round_seconds) / len(self.round_seconds)
        current = max(typical - (now - self.round_started), 0.0)
        return current + typical * max(total - self.round, 0)

    def _on_run(self, data: Mapping[str, Any], time: float) -> None:
        self.round_started = time

    def _on_call(self, data: Mapping[str, Any], time: float) -> None:
        key = decode(Key, data["key"])
        self.in_flight.add(key)
        self._enter_round(key.round, time)
        if self.phase in ("starting", "feedback") and key.role.startswith("feedback"):
            self.phase = "feedback"

    def _on_reply(self, data: Mapping[str, Any], time: float) -> None:
        self.in_flight.discard(decode(Key, data["key"]))

    def _on_state(self, data: Mapping[str, Any], time: float) -> None:
        if phase := _PHASES.get(data["state"]):
            self.phase, self.finalists, self.played = phase, data["finalists"], set()
        else:
            self._enter_round(Key.named(data["name"]).round, time)

    def _on_rollout(self, data: Mapping[str, Any], time: float) -> None:
        key = decode(Key, data["key"])
        if data["stream"] == "search":
            self._enter_round(key.round, time)
        elif data["stream"] == "selection":
            self.played.add(key.name)

    def _on_tuning_state(self, data: Mapping[str, Any], time: float) -> None:
        self.tuning = TuningProgress.of(data, time, self._tunings.get(data["name"]))
        self._tunings[data["name"]] = self.tuning

    def _on_tuned(self, data: Mapping[str, Any], time: float) -> None:
        name = decode(Key, data["key"]).name
        if self.tuning is not None and self.tuning.name == name:
            self.tuning = None

    def _on_candidate(self, data: Mapping[str, Any], time: float) -> None:
        self._enter_round(data["key"]["round"], time)

    def _on_round(self, data: Mapping[str, Any], time: float) -> None:
        self._enter_round(data["round"], time)
        self.round_started = time
        self.in_flight.clear()
        self.tuning = None

    def _on_finished(self, data: Mapping[str, Any], time: float) -> None:
        self.phase, self.tuning = "finished", None

    def _enter_round(self, number: int, time: float) -> None:
        if number > self.round:
            self.round, self.phase = number, "search"
            self.round_started = time


def stage_of(trial: Trial) -> str:
    """What a candidate is at, in a word: as it was last said, else as its events show."""
    return trial.stage or trial.state
