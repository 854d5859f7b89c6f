"""How a run's best search score rose with what had been spent: its learning curve."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from promptpo.store.run import Run, load_run
from promptpo.types import Rollout, Score


@dataclass(frozen=True)
class Point:
    """The best search score once so much was spent: steps of search and tuning, calls, US dollars.

    ``cost`` is None once the price of a reply is unknown.
    """

    steps: int
    calls: int
    cost: float | None
    best: Score


@dataclass(frozen=True)
class History:
    """A run, and its learning curve: one point for each candidate that got through its episodes."""

    run: Run
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
    """A run's history from its folder. Raises RunError where it cannot be read."""
    run, best = load_run(folder), Score(failed=True)
    scored = [trial for trial in run.trials.values() if not trial.score.failed]
    points = []
    for trial in sorted(scored, key=lambda t: (t.at_steps, t.at.calls)):
        best = max(best, trial.score)
        points.append(Point(trial.at_steps, trial.at.calls, trial.at.cost, best))
    return History(run, tuple(points))
