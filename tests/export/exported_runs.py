"""Small finished runs to export, played live."""

import contextlib
import subprocess
import sys
from pathlib import Path

from scripted import FEEDBACK, GOOD, replies

import promptpo
from promptpo.cli import main

SWING = '''
"""Joints swing; actions go beyond their bounds on purpose."""
import numpy as np
from math import sin


class Policy:
    def __init__(self):
        self.t = 0

    def act(self, obs):
        self.t += 1
        return 1.5 * np.sin(0.4 * self.t + np.arange(6)) - obs.joint_angles * sin(1.0)
'''

TO_GOAL = """
import numpy as np


class Policy:
    \"\"\"Moves the finger tips straight to the goal.\"\"\"

    def act(self, obs):
        return np.concatenate([8 * (obs.goal_position - obs.fingertip_position), [0.0]])
"""

DOWN_RIGHT = """
class Policy:
    \"\"\"Down, then right.\"\"\"

    def act(self, obs):
        return 1 if obs.agent_row < 1 else 3
"""

SOURCES = {
    "cartpole": GOOD,
    "mujoco_halfcheetah": SWING,
    "metaworld_reach": TO_GOAL,
    "noise_world_board_1": DOWN_RIGHT,
}

PLAIN = FEEDBACK.replace(", last {last.pole_angle:.2f}", "")

#: Runs a script in an interpreter that sees the folders before "--", not the modules after it.
RUNNER = """
import os, sys
script, *rest = sys.argv[1:]
cut = rest.index("--")
sys.path[:0] = [os.path.dirname(script), *rest[:cut]]
for name in rest[cut + 1:]:
    sys.modules[name] = None
exec(compile(open(script).read(), script, "exec"), {"__name__": "__main__", "__file__": script})
"""

ROOT = Path(promptpo.__file__).parents[1]

REFUSED = ("promptpo", "sandbox", "env_specs", "RestrictedPython", "litellm", "rich")


def finished_run(out, spec, source=None, **settings):
    """A run of one round and one candidate."""
    out.mkdir(exist_ok=True)
    script = replies([source or SOURCES[spec]], feedback=PLAIN)
    small = {"rounds": 1, "candidates": 1, "episodes": 2, "test_episodes": 3, "max_repairs": 0}
    return promptpo.optimize(
        spec, model=script.write(out / "replies.jsonl"), out=str(out), workers=1,
        **{**small, **settings},
    )  # fmt: skip


def lines_of(script, *refused):
    """What a script prints where the modules ``refused`` cannot be imported."""
    paths = [] if refused else [str(ROOT)]  # promptpo is in the clone, not installed
    done = subprocess.run(
        [sys.executable, "-I", "-c", RUNNER, str(script), *paths, "--", *refused],
        check=False, cwd=script.parent, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def readme_loop(result):
    """The script in the README of a run, as a file where that says to put it."""
    script = result.folder / "best" / "loop.py"
    script.write_text(
        (result.folder / "README.md").read_text().split("```python\n")[1].split("```")[0]
    )
    return script


def measured_lines(result):
    """What an exported script prints of the held-out episodes of a run."""
    return [
        f"seed {seed}: return {value:.6g}, measured {value:.6g}"
        for seed, value in zip(result.test.seeds, result.test.returns, strict=True)
    ]


def episode_return(policy, env, seed):
    """What ``predict`` reaches in an episode."""
    policy.reset()
    observation, total, done = env.reset(seed=seed)[0], 0.0, False
    while not done:
        action, _ = policy.predict(observation)
        assert env.action_space.contains(action)
        observation, reward, terminated, truncated, _ = env.step(action)
        total += reward
        done = terminated or truncated
    return total


def exit_code(*arguments):
    """``promptpo ARGUMENTS`` in this process."""
    with contextlib.chdir(ROOT):
        return main([str(a) for a in arguments])
