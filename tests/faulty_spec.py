"""A spec whose environment does what a test writes into it."""

import textwrap

SPEC = '''
"""Room: warm a room."""

import ctypes
import os
import sys
import time

import gymnasium
import numpy as np

from promptpo.spec import EnvSpec, field

{at_import}


class Observation:
    """The room."""

    heat: float = field(doc="of the room")
    doors: np.ndarray = field(shape=(2,), doc="how far open")


ACTION = """An int, 0 to 2."""


def reward(observation, action, next_observation):
    """Warmth."""
    return 0.0


class Room(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(3)
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (3,), np.float64)

    def __init__(self):
        pass
        {in_make}

    def reset(self, *, seed=None, options=None):
        self.count = 0
        {in_reset}
        return np.zeros(3), {{}}

    def step(self, action):
        self.count += 1
        heat, pay = 0.5, 1.0
        {in_step}
        return np.array([heat, 0.0, 0.0]), pay, self.count >= 5, False, {{}}


SPEC = EnvSpec(
    make=Room, observation=Observation, action=ACTION, reward=reward, reward_tolerance=None,
    horizon=8,
)
'''

#: What ends or stops a process, and what is said of it; each is one statement.
FAULTS = {
    "os._exit": ("os._exit(3)", r"os\._exit\(3\)"),
    "crash": ("ctypes.string_at(0)", "SIGSEGV"),
    # Its lock held: nothing in the process can run, no thread and no handler of a signal.
    "lock held": ("ctypes.PyDLL(None).sleep(1000)", "did not return within 0.75 s"),
    "raise": ("raise ValueError('cold')", "ValueError: cold"),
    "sys.exit": ("sys.exit(4)", r"sys\.exit\(4\) was called"),
}


def write(path, **places):
    """Write the spec with statements at ``at_import``, ``in_make``, ``in_reset``, ``in_step``."""
    blank = dict.fromkeys(("at_import", "in_make", "in_reset", "in_step"), "")
    path.write_text(textwrap.dedent(SPEC).format(**blank | places))
    return path


def always(action):
    """A policy with one action."""
    return f"class Policy:\n    def act(self, obs):\n        return {action}\n"
