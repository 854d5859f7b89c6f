"""What is compared, and what its scores are read as."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from promptpo.types import Rollout, Score

#: What a score is read as: the share of episodes that succeed, or the mean return of an episode.
Measure = Literal["success", "return"]


class Sample(Protocol):
    """What is compared: the runs of a group, or one policy.

    ``tests`` are held-out episodes that were played to their ends, one rollout for each run.
    """

    @property
    def label(self) -> str:
        """What sets it apart from others."""
        ...

    @property
    def tests(self) -> Sequence[Rollout]:
        """The episodes."""
        ...


def value(score: Score, measure: Measure) -> float:
    """A score as one number; a success rate that the task does not define is an error."""
    if measure == "return":
        return score.mean_return
    if score.success_rate is None:
        raise ValueError("the task defines no success")
    return score.success_rate


def episode_values(test: Rollout, measure: Measure) -> list[float]:
    """One number per held-out episode: its return, or 1 where it succeeded, else 0."""
    if measure == "return":
        return list(test.returns)
    return [float(bool(success)) for success in test.successes]
