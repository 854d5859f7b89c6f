"""50 held-out episodes through the executor, as a run plays them, against a bare loop.

The modes ``held-out`` and ``held-out-one`` of ``sandbox_throughput.py``. Worker processes and
their environments are there already, as they are at the end of a search; all that a play itself
takes counts: the policy's processes, resets, hand-overs, results.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sandbox_cases import Result

EPISODES = 50


class HeldOut(NamedTuple):
    """A spec and a policy for it."""

    spec: str
    source: str


GRID = """
class Policy:
    def act(self, obs):
        if obs.row > obs.goal_row:
            return 0
        if obs.row < obs.goal_row:
            return 1
        return 2 if obs.column > obs.goal_column else 3
"""
CARTPOLE = """
class Policy:
    def act(self, obs):
        lean = obs.pole_angle + 0.3 * obs.pole_velocity
        return int(lean + 0.02 * obs.cart_position + 0.05 * obs.cart_velocity > 0)
"""
CHEETAH = """
import numpy as np
class Policy:
    def __init__(self):
        self.t = 0
        self.phase = np.array([0.0, 0.9, 1.8, 3.1, 4.0, 4.9])
    def act(self, obs):
        self.t += 1
        wave = np.sin(0.4 * self.t + self.phase)
        return np.clip(0.8 * wave - 0.05 * obs.joint_velocities, -1, 1)
"""
REACH = """
import numpy as np
class Policy:
    def act(self, obs):
        action = np.zeros(4)
        action[:3] = np.clip(10.0 * (obs.goal_position - obs.hand_position), -1, 1)
        return action
"""
TASKS = {
    "grid": HeldOut(str(Path(__file__).parent / "grid_world.py"), GRID),
    "cartpole": HeldOut("cartpole", CARTPOLE),
    "halfcheetah": HeldOut("mujoco_halfcheetah", CHEETAH),
    "reach": HeldOut("metaworld_reach", REACH),
}


class Bare:
    """The loop that people write: one episode after the other, everything in one process."""

    def __init__(self, task: HeldOut) -> None:
        from promptpo.spec import Task, load_spec, standalone_source
        from promptpo.spec.environment import flat_function

        self.spec = load_spec(task.spec)
        self.env: Any = Task.open(self.spec).env
        self.flat = flat_function(self.spec, self.env)
        names: dict[str, Any] = {"np": np, "math": math}
        exec(standalone_source(self.spec.observation), names)  # noqa: S102 - a shipped spec's
        exec(task.source, names)  # noqa: S102 - the benchmark's own text
        self.policy, self.observation = names["Policy"], names["Observation"]

    def play(self, seeds: Sequence[int]) -> list[float]:
        """The returns of the episodes."""
        return [self._episode(seed) for seed in seeds]

    def _episode(self, seed: int) -> float:
        env, spec, flat, observe = self.env, self.spec, self.flat, self.observation
        space = env.action_space
        low, high = getattr(space, "low", None), getattr(space, "high", None)
        policy, total, success = self.policy(), 0.0, False
        raw = spec.reset(env, seed) if spec.reset else env.reset(seed=seed)[0]
        for _ in range(spec.horizon):
            action = policy.act(observe(flat(raw)))
            if low is not None:
                action = np.clip(action, low, high).astype(space.dtype)
            raw, reward, terminated, truncated, info = env.step(action)
            total += float(reward)
            if spec.success:
                success = success or spec.success(info, reward, terminated)
            if terminated or truncated:
                break
        return total


def measure(name: str, cores: Sequence[int], rounds: int) -> Result:
    """Alternate between one bare loop and an executor with a worker on each of these cores."""
    from promptpo.rollout import LocalExecutor, Settings, episode_seeds, evaluate

    os.sched_setaffinity(0, set(cores))
    task = TASKS[name]
    bare, result = Bare(task), Result([], [], True)
    executor = LocalExecutor(Settings(task.spec, policy_seed=1), len(cores))
    loop = asyncio.new_event_loop()
    took = [0.0, 0.0]
    for number in range(rounds + 1):
        seeds = episode_seeds(number, "test", EPISODES)
        for side in (0, 1) if number % 2 else (1, 0):
            start = time.perf_counter()
            if side:
                playing = evaluate(executor, task.source, "test", seeds)
                rollout, _ = loop.run_until_complete(playing)
            else:
                returns = bare.play(seeds)
            took[side] = time.perf_counter() - start
        if rollout.error is not None:
            raise RuntimeError(rollout.error)
        result.identical &= returns == list(rollout.returns)
        if number:  # the first round opens processes and environments
            result.bare.append(took[0] / rollout.steps)
            result.sandboxed.append(took[1] / rollout.steps)
    executor.close()
    return result
