"""A walk on a line: a true spec whose environment is numpy and a few lines."""

TEXT = '''"""Walk: go right along a line.

The walker starts within 1 m of the middle.
"""

import gymnasium
import numpy as np

from promptpo.spec import EnvSpec, Reference, field


class Observation:
    """The walker, before each action."""

    position: float = field(unit="m", low=-21.0, high=21.0, doc="0 in the middle")
    last_step: np.ndarray = field(shape=(1,), unit="m", low=-1.0, high=1.0, doc="of the walker")


ACTION = """An array of 1 float in [-1, 1]: how far to go, in m, positive to the right."""


def reward(observation, action, next_observation):
    """Reward of one step: the way made to the right."""
    return float(action[0])


class Line(gymnasium.Env):
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-21.0, 21.0, (2,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen = np.array([self.np_random.uniform(-1, 1), 0.0])
        return self.seen.copy(), {}

    def step(self, action):
        self.seen = np.array([self.seen[0] + action[0], action[0]])
        return self.seen.copy(), action[0], False, False, {"right": self.seen[0] > 15}


def make():
    return Line()


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=20,
    success=lambda info, reward, terminated: info["right"],
    expert=lambda env: lambda raw: np.array([1.0]),
    references={"zero action": Reference(0.0, 0.0), "expert": Reference(20.0, 1.0)},
    withheld=("earthquake",),
)
'''
