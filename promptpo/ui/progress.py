"""A run that is watched as it goes on: its phase, and the time that it may still take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from promptpo.common import text
from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.store.run import Run
from promptpo.store.trials import Trial
from promptpo.types import Key

#: A log has a first line of a tuning, and one after each such share of its steps; never sooner than
#: so many seconds after the last.
_SHARE, _SECONDS = 0.1, 10.0


@dataclass(frozen=True)
class TuningState:
    """A tuning under way, as it was last reported at ``time``, in seconds since the epoch.

    ``score`` is the incumbent's; None where it fails. ``left`` is an estimate of the seconds that
    it takes from then on. ``due``: a log should have a line of it.
    """

    name: str
    steps: int
    budget: int
    score: Mapping[str, Any] | None
    left: float
    time: float
    due: bool

    @property
    def words(self) -> str:
        """Steps of the budget, and the score of the values that stand."""
        return f"{self.steps:,} of {self.budget:,} steps, {text.score(self.score)}"

    def seconds_left(self, now: float) -> float:
        """Return an estimate of the seconds that it still takes."""
        return max(self.left - (now - self.time), 0.0)


class WatchedRun(Run):
    """A run that is watched; ``apply`` takes every event. Times are seconds since the epoch.

    Attributes:
        phase: "starting", "feedback", "search", "selection", "test" or "finished".
        number: the number of the current round, which began at ``round_started``.
        round_seconds: durations of the rounds of this session.
        finalists: names of those that meet on selection episodes, or of the one whose held-out
            episodes are played; ``played`` are the former that have been played.
        in_flight: the calls that wait for a reply.
        tuning: the tuning under way; None where there is none.
    """

    def __init__(self) -> None:
        self.phase = "starting"
        self.number = 0
        self.round_started = 0.0
        self.round_seconds: list[float] = []
        self.finalists: Sequence[str] = ()
        self.played: set[str] = set()
        self.in_flight: set[Key] = set()
        self.tuning: TuningState | None = None
        self._tuning_lines: dict[str, tuple[int, float]] = {}
        super().__init__()
        self.carried = True

    @property
    def current(self) -> Sequence[Trial]:
        """The candidates of the current round, in their order."""
        return next((r.trials for r in self.round_records if r.number == self.number), ())

    @property
    def settled(self) -> int:
        """Number of candidates of the current round that need nothing more."""
        return sum(stage_of(trial) in ("scored", "failed", "tuning") for trial in self.current)

    @property
    def finalists_words(self) -> str:
        """The word for the finalists: by most methods they are the winners of the rounds."""
        winners = {end["winner"] for end in self.ends.values()}
        return "winners" if winners.issuperset(self.finalists) else "finalists"

    def apply(self, event: Event) -> None:
        """Take note of one event."""
        if event.type == "round" and not event.transient:
            # A round that a resumed run repeats from its log says nothing of how long one takes.
            self.round_seconds.append(event.time - self.round_started)
        super().apply(event)

    def seconds_left(self, now: float) -> float | None:
        """Return an estimate of the time that the rounds still take; None before a round is done.

        Selection and the held-out test follow the last round and are not in it.
        """
        total: int = self.settings.get("rounds", 0)
        if not self.round_seconds or self.phase != "search" or not total:
            return None
        typical = sum(self.round_seconds) / len(self.round_seconds)
        current = max(typical - (now - self.round_started), 0.0)
        return current + typical * max(total - self.number, 0)

    def _on_run(self, data: Mapping[str, Any]) -> None:
        super()._on_run(data)
        self.folder = Path(data["folder"])
        self.round_started = self.latest

    def _on_call(self, data: Mapping[str, Any]) -> None:
        key = decode(Key, data["key"])
        self.in_flight.add(key)
        self._enter(key.round)
        if self.phase == "starting" and key.role.startswith("feedback"):
            self.phase = "feedback"

    def _on_reply(self, data: Mapping[str, Any]) -> None:
        super()._on_reply(data)
        self.in_flight.discard(decode(Key, data["key"]))

    def _on_state(self, data: Mapping[str, Any]) -> None:
        super()._on_state(data)
        if "name" in data:
            self._enter(Key.named(data["name"]).round)
        elif phase := {"selecting": "selection", "testing": "test"}.get(data["state"]):
            self.phase, self.finalists, self.played = phase, data["finalists"], set()

    def _on_rollout(self, data: Mapping[str, Any]) -> None:
        super()._on_rollout(data)
        key = decode(Key, data["key"])
        if data["stream"] == "search":
            self._enter(key.round)
        elif data["stream"] == "selection":
            self.played.add(key.name)

    def _on_tuning_state(self, data: Mapping[str, Any]) -> None:
        name, steps, budget = data["name"], int(data["steps"]), int(data["budget"])
        line, at = self._tuning_lines.setdefault(name, (0, self.latest))
        due = self.latest - at >= _SECONDS and (not line or steps - line >= _SHARE * budget)
        if due:
            self._tuning_lines[name] = steps, self.latest
        left = float(data["seconds_left"])
        self.tuning = TuningState(name, steps, budget, data["score"], left, self.latest, due)

    def _on_tuned(self, data: Mapping[str, Any]) -> None:
        super()._on_tuned(data)
        if self.tuning is not None and self.tuning.name == decode(Key, data["key"]).name:
            self.tuning = None

    def _on_candidate(self, data: Mapping[str, Any]) -> None:
        super()._on_candidate(data)
        self._enter(data["key"]["round"])

    def _on_round(self, data: Mapping[str, Any]) -> None:
        super()._on_round(data)
        self._enter(data["round"])
        self.round_started = self.latest
        self.in_flight.clear()
        self.tuning = None

    def _on_finished(self, data: Mapping[str, Any]) -> None:
        super()._on_finished(data)
        self.phase, self.tuning = "finished", None

    def _enter(self, number: int) -> None:
        if number > self.number:
            self.number, self.phase, self.round_started = number, "search", self.latest


def stage_of(trial: Trial) -> str:
    """Return a candidate's stage in a word: as it was last reported, else as its events show."""
    return trial.stage or trial.state


class View:
    """A Listener that shows a run for the length of a ``with`` block."""

    def __init__(self) -> None:
        self.run = WatchedRun()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop showing; what is left is the closing summary."""

    def __call__(self, event: Event) -> None:
        """Take note of one event, and show it."""
        self.run.apply(event)
