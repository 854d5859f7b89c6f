"""What the Meta-World specs share: construction, goals by seed, observations, experts.

Facts are from metaworld 3.1.1 (``sawyer_xyz_env.py``, the task's own module).

Seeds: Meta-World's ``reset(seed=)`` ignores its seed, and its benchmarks draw from 50 fixed goals
in an order that depends on the episodes before. Here every seed has object and goal positions of
its own, drawn by the environment itself from the task's full range, whatever ran before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.spec import Env

Array = NDArray[np.float64]

HORIZON = 500


def make_env(task: str) -> Env:
    """Build a task such as ``"reach-v3"`` with its goal observable, without wrappers."""
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS_GOAL_OBSERVABLE as ENVIRONMENTS

    build: Callable[..., Env] = ENVIRONMENTS[f"{task}-goal-observable"]
    env = build(seed=0)
    # Positions are drawn anew at every reset, from the environment's own generator.
    env._freeze_rand_vec = False
    env.seeded_rand_vec = True
    return env


def reset(env: Env, seed: int) -> Array:
    """Start the episode of a seed and return the raw observation, shape (39,)."""
    env.np_random = np.random.default_rng(seed)
    observation: Array = env.reset()[0]
    return observation


def reset_twice(env: Env, seed: int) -> Array:
    """As ``reset``, for tasks whose first observation would show the object where it is not.

    Meta-World's reset draws and places twice, and some objects are observed where the first draw
    put them. A second reset that keeps the last draw, as Meta-World's own tasks do, cures it.
    """
    reset(env, seed)
    env._freeze_rand_vec = True
    observation: Array = env.reset()[0]
    env._freeze_rand_vec = False
    return observation


def observe(raw: Array, env: Env) -> Array:
    """Return hand, gripper, object now and one step before, goal, fingertips: shape (28,).

    The raw vector is [hand 3, gripper 1, object position 3, object quaternion 4, zeros 7] now, the
    same 18 for the step before, and the goal 3; the midpoint of the finger pads is added, because
    Meta-World's rewards and success tests use it.
    """
    return np.concatenate((raw[:11], raw[18:29], raw[36:39], env.tcp_center))


def success(info: Mapping[str, Any], reward: float, terminated: bool) -> bool:
    """Meta-World's own test of one step."""
    return bool(info["success"])


def expert(task: str) -> Callable[[Env], Callable[[Array], Any]]:
    """Return the factory of Meta-World's scripted policy for a task."""

    def factory(env: Env) -> Callable[[Array], Any]:
        from metaworld.policies import ENV_POLICY_MAP

        build: Callable[[], Any] = ENV_POLICY_MAP[task]
        act: Callable[[Array], Any] = build().get_action
        return act

    return factory
