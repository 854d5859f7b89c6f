"""Regulation of a town in an epidemic, as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .town import PARTS, STAGES, Town

ENV_ID = "promptpo/Pandemic-v0"

#: A step is a day, and what is told of it are its three parts of 8 hours.
HISTORY = len(PARTS)
HORIZON = 192

#: Columns of ``Town.shares``.
NONE, INFECTED, CRITICAL, RECOVERED, DEAD = range(5)

#: The public resents a rise of the stage while so few are infected or critical.
NOTICED = 0.005


class PandemicWorld(gymnasium.Env[NDArray[np.float64], np.int64]):
    """One epidemic; a step is a day.

    Observation, shape (17,): for none, infected, critical, recovered and dead in turn the shares of
    the town 16 hours ago, 8 hours ago and now (at the start, 3 times those of the start); then the
    stage in force, 0 to 4, and the days that have passed. Actions: 0 lowers the stage by one, 1
    keeps it, 2 raises it; it stays within 0 to 4. It begins at 0. No episode ends by itself.
    """

    def __init__(self) -> None:
        self.action_space = spaces.Discrete(3)
        high = np.append(np.ones(5 * HISTORY), [len(STAGES) - 1, HORIZON])
        self.observation_space = spaces.Box(0.0, high, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begin with a new town and 5 infected people."""
        super().reset(seed=seed)
        self.town = Town(int(self.np_random.integers(2**63)))
        self.stage = 0
        self._shares = [self.town.shares()] * HISTORY
        return self._observation(), {}

    def step(
        self, action: np.int64 | int
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Change the stage, then let a day pass."""
        before = self.stage
        self.stage = min(max(before + int(action) - 1, 0), len(STAGES) - 1)
        known = self._shares[-1]
        self._shares = []
        for _ in PARTS:
            self.town.live(1, self.stage)
            self._shares.append(self.town.shares())
        reward = reward_of(before, self.stage, known, np.array(self._shares))
        return self._observation(), reward, False, False, {}

    def _observation(self) -> NDArray[np.float64]:
        return np.append(np.array(self._shares).T.ravel(), [self.stage, self.town.day])


def reward_of(
    before: int, stage: int, known: NDArray[np.float64], shares: NDArray[np.float64]
) -> float:
    """Reward of one step from a stage to the next.

    ``known`` are the shares before it, shape (5,), ``shares`` those of its three parts, (3, 5). The
    dead go on counting as critical: nobody's death ever makes the rest of an episode cheaper.
    """
    critical = float(np.mean(shares[:, CRITICAL] + shares[:, DEAD]))
    raised = 0.0
    if stage > before:
        raised = max(0.0, 1.0 - float(known[INFECTED] + known[CRITICAL]) / NOTICED) ** 2
    strictness: float = (stage / (len(STAGES) - 1)) ** 1.5
    changed = abs(stage - before)
    return -10.0 * critical - 10.0 * raised - 0.1 * strictness - 0.02 * changed


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:PandemicWorld", max_episode_steps=HORIZON)
