"""One episode while it is played: what it needs, and what it has gathered so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Protocol

import numpy as np

from promptpo.spec.calls import EnvironmentFault
from promptpo.types import Episode, Trajectory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    import sandbox
    from promptpo.spec import Task


class Pool(Protocol):
    """Where live environments and policies' processes come from."""

    def take_task(self) -> Task:
        """Return an environment that is free."""
        ...

    def give_task(self, task: Task, sound: bool) -> None:
        """Give an environment back; one that has failed is not used again."""
        ...

    def open_policy(self) -> sandbox.Policy:
        """Start a process of the policy."""
        ...


@dataclass
class Running:
    """One episode that is played in a task.

    ``number`` is its place among the seeds of the job; ``life`` is how many episodes make a life;
    ``steps`` are those that were begun, one in which the environment failed included.
    """

    task: Task
    number: int
    seed: int
    keep: bool
    life: int
    observation: NDArray[np.float64] = field(init=False)
    rewards: list[float] = field(default_factory=list)
    observations: list[NDArray[np.float64]] = field(default_factory=list)
    actions: list[NDArray[np.float64]] = field(default_factory=list)
    trace: Mapping[str, tuple[float | bool | str | None, ...]] = field(default_factory=dict)
    steps: int = 0
    total: float = 0.0
    clipped: int = 0
    success: bool | None = None
    terminated: bool = False
    truncated: bool = False
    over: bool = False

    def start(self) -> None:
        """Reset the environment."""
        self.observation = self.task.reset(self.seed, self.life)
        if self.keep:
            self.observations.append(self.observation)

    def step(self, row: NDArray[np.float64], action: object) -> bool:
        """Take one step; return whether the episode is over.

        ``row`` is the action as the policy gave it, ``action`` as the environment wants it.
        """
        if self.keep:
            self.actions.append(self.task.received(row))
        self.steps += 1
        self.observation, reward, terminated, truncated, success = self.task.advance(action)
        self.total += reward
        if success is not None:
            self.success = bool(self.success) or success
        if terminated or truncated:
            self._check_end()
            self.terminated, self.truncated, self.over = terminated, truncated, True
        self.rewards.append(reward)
        if self.keep:
            self.observations.append(self.observation)
        return self.over

    def _check_end(self) -> None:
        """Check what no policy gets to see, and what only adds up to something wrong."""
        self.task.require_finite(self.observation)
        if not math.isfinite(self.total):
            problem = f"the rewards of an episode add up to {self.total}"
            raise EnvironmentFault(self.task.spec.where, problem, "make rewards smaller")

    def trajectory(self) -> Trajectory:
        """Return the recorded trajectory of an episode that was kept."""
        return Trajectory(
            observations=np.stack(self.observations),
            actions=np.stack(self.actions),
            rewards=np.array(self.rewards),
            seed=self.seed,
            terminated=self.terminated,
            truncated=self.truncated,
            success=self.success,
            trace=self.trace,
        )

    def result(self, error: str | None = None) -> Episode:
        """Return how it went, until it ended or failed with ``error``."""
        if error is None:
            return Episode(self.seed, self.total, self.steps, self.success)
        total = reduce(add, self.rewards, 0.0)
        return Episode(self.seed, total, self.steps, None, error)
