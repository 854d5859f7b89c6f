"""The grid of the throughput benchmark as a task: a step costs about a microsecond."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from sandbox_cases import Grid

from promptpo.spec import EnvSpec, field


class Observation:
    """Cells are counted from 0, rows downwards."""

    row: float = field(low=0.0, high=7.0, doc="row of the agent")
    column: float = field(low=0.0, high=7.0, doc="column of the agent")
    goal_row: float = field(low=0.0, high=7.0, doc="row of the goal")
    goal_column: float = field(low=0.0, high=7.0, doc="column of the goal")


ACTION = "An int: 0 goes up, 1 down, 2 to the left, 3 to the right."


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step, which nobody is asked for here."""
    return 0.0


class GridWorld(gymnasium.Env[Any, Any]):
    """The grid with Gymnasium's interface."""

    observation_space = gymnasium.spaces.Box(0.0, 7.0, (4,), np.float64)
    action_space = gymnasium.spaces.Discrete(4)

    def __init__(self) -> None:
        self.grid = Grid()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start and goal follow from the seed."""
        return np.array(self.grid.reset(seed or 0)), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One cell further; it never ends."""
        observation, reward = self.grid.step(action)
        return np.array(observation), reward, False, False, {}


SPEC = EnvSpec(make=GridWorld, observation=Observation, action=ACTION, reward=reward, horizon=500)
