"""How a run's best search score rose with what had been spent: its learning curve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpo.report.gather import gather
from promptpo.report.records import RunRecord
from promptpo.store.events import read_log
from promptpo.types import Candidate, Rollout, Score


@dataclass(frozen=True)
class Point:
    """The best search score once ``steps`` search steps and ``cost`` US dollars were spent.

    ``cost`` is None once the price of a reply is unknown.
    """

    steps: int
    cost: float | None
    best: Score


@dataclass(frozen=True)
class History:
    """A run, and its learning curve: one point for each candidate that got through its episodes."""

    run: RunRecord
    points: tuple[Point, ...]

    @property
    def is_over(self) -> bool:
        """Whether the run came to its own end or a limit, so that its best stays what it is."""
        return self.run.status in ("finished", "stopped")

    @property
    def held_out(self) -> Rollout | None:
        """The held-out episodes of its best policy; None where they are missing or failed."""
        test = self.run.test
        return None if test is None or test.error is not None or not test.returns else test


def read_history(folder: Path) -> History:
    """A run's history from its event log. Raises RunError where it cannot be read."""
    run = gather(folder)
    marked = {trial.name for trial in run.trials if trial.candidate.mark}
    steps, cost, best = 0, 0.0, Score(failed=True)
    priced = True
    points = []
    for event in read_log(folder / "events.jsonl").events:
        data = event.data
        if event.type == "reply":
            priced = priced and data.get("cost") is not None
            cost += data.get("cost") or 0.0
        elif event.type == "rollout" and data["stream"] == "search":
            steps += data["steps"]
        elif event.type == "candidate" and data["score"] is not None:
            name = Candidate(data["round"], data["index"], None).name
            if name in marked and not data.get("mark"):
                continue  # a score that it has lost
            score = Score(data["score"]["mean_return"], data["score"].get("success_rate"))
            best = max(best, score)
            points.append(Point(steps, cost if priced else None, best))
    return History(run, tuple(points))
