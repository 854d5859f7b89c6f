"""A floor of some cells in a line; the last one is the goal."""

import gymnasium
import numpy as np
from gymnasium import spaces

from acme_envs import LENGTH


class Floor(gymnasium.Env):
    """Starts on a cell of the left half; ends on the last cell."""

    action_space = spaces.Discrete(2)

    def __init__(self, length: int = LENGTH) -> None:
        self.length = length
        self.observation_space = spaces.Box(0, length - 1, (1,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(self.length // 2))
        return self._seen(), {}

    def step(self, action):
        self.cell = min(max(self.cell + (1 if action == 1 else -1), 0), self.length - 1)
        there = self.cell == self.length - 1
        return self._seen(), float(there), there, False, {}

    def _seen(self):
        return np.array([self.cell], dtype=np.float32)
