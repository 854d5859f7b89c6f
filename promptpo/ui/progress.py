"""A run that is watched as it goes on: its phase, and the time that it may still take."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from promptpo.common import text
from promptpo.store.codec import decode
from promptpo.store.events import Event
from promptpo.store.run import LIVE, Run
from promptpo.store.trials import Trial
from promptpo.types import Key, Rollout, Score

#: Stages of a candidate in which a process works on it, in words.
_BUSY = {
    "playing": "playing", "rolling out": "playing", "checking": "checking",
    "preparing": "preparing", "tuning": "tuning",
}  # fmt: skip


@dataclass(frozen=True)
class TuningState:
    """A tuning under way, as it was last reported at ``time``, in seconds since the epoch.

    ``score`` is the incumbent's; None where it fails. ``left`` is an estimate of the seconds that
    it takes from then on.
    """

    name: str
    steps: int
    budget: int
    score: Mapping[str, Any] | None
    left: float
    time: float

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
        opening: what is opened before anything is asked or played, in words, since ``opened``.
        tuning: the tuning under way; None where there is none.
    """

    def __init__(self) -> None:
        self.phase = "starting"
        self.number = 0
        self.round_started = 0.0
        self.round_seconds: list[float] = []
        self.finalists: Sequence[str] = ()
        self.played: set[str] = set()
        self.opening, self.opened = "", 0.0
        self.tuning: TuningState | None = None
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
        if event.type == "opening":  # not yet an event of the run
            self.opening, self.opened = event.data["text"], event.time
            return
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

    def _on_prompt(self, data: Mapping[str, Any]) -> None:
        super()._on_prompt(data)
        key = decode(Key, data["key"])
        self._enter(key.round)
        if self.phase == "starting" and key.role.startswith("feedback"):
            self.phase = "feedback"

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
        left = float(data["seconds_left"])
        self.tuning = TuningState(name, steps, budget, data["score"], left, self.latest)

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


def activity(run: Run, now: float | None = None) -> str:
    """Return what a run that goes on is busy with, ``waiting for 2 replies of openai/gpt-5``.

    It is empty for one that no process carries on. With the time ``now`` it says for how long the
    replies have been awaited.
    """
    if run.status != LIVE:
        return ""
    watched = run if isinstance(run, WatchedRun) else None
    phase = watched.phase if watched else ""
    parts = [_awaited(run, now)] if run.awaited else []
    trials: dict[str, list[str]] = {}
    for trial in run.policies:
        if trial.key.round not in run.ends and (verb := _BUSY.get(stage_of(trial))):
            trials.setdefault(verb, []).append(trial.name)
    if watched and (tuning := watched.tuning):
        trials["tuning"] = [f"{tuning.name}: {tuning.words}"]
    parts += [f"{verb} {', '.join(names)}" for verb, names in trials.items()]
    if not parts and (phase == "test" or run.selection is not None):
        parts = ["playing held-out episodes"]
    elif not parts and (phase == "selection" or run.tally.usage.steps["selection"]):
        parts = ["playing selection episodes"]
    elif not parts and watched and phase == "starting":
        waited = "" if now is None else f", {text.duration(now - watched.opened)}"
        parts = [f"{watched.opening}{waited}"] if watched.opening else []
    return "; ".join(parts)


def _awaited(run: Run, now: float | None) -> str:
    calls = run.awaited
    words = f"waiting for {len(calls)} {'reply' if len(calls) == 1 else 'replies'} of {run.model}"
    if run.model == "manual":
        folder = text.near_path(run.folder / "prompts")
        words = f"waiting for {', '.join(f'{call.key}.reply.md' for call in calls)} in {folder}"
    since = min(call.asked for call in calls)
    return words if now is None else f"{words}, {text.duration(now - since)}"


def best_yet(run: WatchedRun) -> tuple[str, Score] | None:
    """Return the best policy once a round was done, before that the best of the first one."""
    scores = [(t.name, run_.score) for t in run.current if (run_ := scored_episodes(t)) is not None]
    best = max(scores, key=lambda each: each[1], default=None)
    return run.best_so_far or best


def scored_episodes(trial: Trial) -> Rollout | None:
    """Return the episodes by which a candidate is judged; None where it failed, or has none."""
    rollout = trial.candidate.pooled or trial.played
    if trial.candidate.error or rollout is None or rollout.error or not rollout.returns:
        return None
    return rollout


class View:
    """A Listener that shows a run for the length of a ``with`` block."""

    def __init__(self) -> None:
        self.run = WatchedRun()
        self.lock = threading.Lock()  # events come in the run's thread, others draw

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop showing; what is left is the closing summary."""

    def __call__(self, event: Event) -> None:
        """Take note of one event, and show it."""
        with self.lock:
            self.run.apply(event)

    def activity(self) -> str:
        """Return what the run is busy with, from any thread."""
        with self.lock:
            return activity(self.run, time.time())
