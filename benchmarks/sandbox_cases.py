"""Environments and policies of the throughput benchmark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

import sandbox
from sandbox.interface import FloatArray

Numbers = Sequence[float] | FloatArray


class Env(Protocol):
    """One environment instance with a fixed horizon."""

    def reset(self, seed: int) -> Numbers:
        """The first observation of an episode."""
        ...

    def step(self, action: object) -> tuple[Numbers, float]:
        """The next observation and the reward."""
        ...


class Grid:
    """An 8x8 grid in pure Python, about 2 us per step."""

    def reset(self, seed: int) -> Numbers:
        """Start and goal follow from the seed."""
        self.row, self.col = seed % 8, seed // 8 % 8
        self.goal = (seed * 5 % 8, seed * 3 % 8)
        self.walls = {(3, 3), (3, 4), (4, 3)}
        return self._observe()

    def _observe(self) -> tuple[float, ...]:
        return (float(self.row), float(self.col), float(self.goal[0]), float(self.goal[1]))

    def step(self, action: object) -> tuple[Numbers, float]:
        """Up, down, left, right; walls stay."""
        row, col = self.row, self.col
        if action == 0:
            row = max(0, row - 1)
        elif action == 1:
            row = min(7, row + 1)
        elif action == 2:
            col = max(0, col - 1)
        else:
            col = min(7, col + 1)
        if (row, col) not in self.walls:
            self.row, self.col = row, col
        distance = abs(self.row - self.goal[0]) + abs(self.col - self.goal[1])
        reward = 1.0 if distance == 0 else -0.01 * math.sqrt(distance)
        if distance == 0:
            self.goal = ((self.goal[0] * 3 + 1) % 8, (self.goal[1] * 5 + 2) % 8)
        return self._observe(), reward


class Gymnasium:
    """A Gymnasium environment without its time limit."""

    def __init__(self, name: str) -> None:
        import gymnasium

        self.env: Any = gymnasium.make(name).unwrapped

    def reset(self, seed: int) -> Numbers:
        """Begin the seed's episode."""
        first: Numbers = self.env.reset(seed=seed)[0]
        return first

    def step(self, action: object) -> tuple[Numbers, float]:
        """Without the time limit."""
        observation, reward, *_ = self.env.step(action)
        return observation, float(reward)


class Reach:
    """Meta-World reach-v3 with a goal for each seed."""

    def __init__(self) -> None:
        from env_specs._metaworld import world

        self.module = world
        self.env: Any = world.make_env("reach-v3")

    def reset(self, seed: int) -> Numbers:
        """Begin the seed's episode."""
        return self.module.reset(self.env, seed)

    def step(self, action: object) -> tuple[Numbers, float]:
        """One control step."""
        observation, reward, *_ = self.env.step(action)
        return observation, float(reward)


GRID_POLICY = """
class Policy:
    def act(self, obs):
        row, col, goal_row, goal_col = obs
        if row > goal_row:
            return 0
        if row < goal_row:
            return 1
        return 2 if col > goal_col else 3
"""
CARTPOLE_POLICY = """
class Policy:
    def act(self, obs):
        x, v, angle, spin = obs
        return 1 if angle + 0.3 * spin + 0.05 * x + 0.1 * v > 0 else 0
"""
CHEETAH_POLICY = """
import numpy as np
class Policy:
    def __init__(self):
        self.t = 0
        self.phase = np.array([0.0, 0.9, 1.8, 3.1, 4.0, 4.9])
    def act(self, obs):
        self.t += 1
        return np.tanh(np.sin(0.5 * self.t + self.phase) - 0.1 * obs[8])
"""
REACH_POLICY = """
import numpy as np
class Policy:
    def act(self, obs):
        action = np.zeros(4)
        action[:3] = np.clip(10.0 * (obs[36:39] - obs[:3]), -1, 1)
        return action
"""


class Nothing:
    """An environment that costs nothing: what is left is the hand-over."""

    def reset(self, seed: int) -> Numbers:
        """Return the one observation."""
        return (0.0, 0.0, 0.0, 0.0)

    def step(self, action: object) -> tuple[Numbers, float]:
        """Return it again."""
        return (0.0, 0.0, 0.0, 0.0), 0.0


@dataclass(frozen=True)
class Case:
    """One environment of the benchmark; ``goal``: the ratio wanted of sixteen on one core."""

    make: Callable[[], Env]
    source: str
    interface: sandbox.Interface
    steps: int
    goal: float | None = None


CASES = {
    "nothing": Case(
        Nothing, CARTPOLE_POLICY, sandbox.Interface(4, None, sandbox.Discrete(2)), 2000
    ),
    "grid": Case(Grid, GRID_POLICY, sandbox.Interface(4, None, sandbox.Discrete(4)), 500),
    "cartpole": Case(
        lambda: Gymnasium("CartPole-v1"),
        CARTPOLE_POLICY,
        sandbox.Interface(4, None, sandbox.Discrete(2)),
        500,
        0.4,
    ),
    "halfcheetah": Case(
        lambda: Gymnasium("HalfCheetah-v5"),
        CHEETAH_POLICY,
        sandbox.Interface(17, None, sandbox.Box((6,))),
        200,
        0.8,
    ),
    "reach": Case(Reach, REACH_POLICY, sandbox.Interface(39, None, sandbox.Box((4,))), 100, 0.9),
}


@dataclass
class Result:
    """Seconds per step of the two sides, one entry per round.

    ``extra``: processor time beyond the bare side's.
    """

    bare: list[float]
    sandboxed: list[float]
    identical: bool
    extra: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Median and quartiles over the rounds, so that a burst of noise does not count."""
        rounds = np.array(self.bare) / np.array(self.sandboxed)
        low, median, high = np.quantile(rounds, (0.25, 0.5, 0.75))
        return float(median), float(low), float(high)


def joined(results: Sequence[Result]) -> Result:
    """All rounds of several results."""
    return Result(
        [seconds for result in results for seconds in result.bare],
        [seconds for result in results for seconds in result.sandboxed],
        all(result.identical for result in results),
        [seconds for result in results for seconds in result.extra],
    )
