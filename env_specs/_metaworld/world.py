"""What the Meta-World specs share: construction, goals by seed, observations, experts.

Facts are from metaworld 3.1.1 (``sawyer_xyz_env.py``, the task's own module).

Seeds: Meta-World's ``reset(seed=)`` ignores its seed, and its benchmarks draw from 50 fixed goals
in an order that depends on the episodes before. Here every seed has object and goal positions of
its own, drawn by the environment itself from the task's full range, whatever ran before.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
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
    names = vars(sys.modules[type(env)._get_quat_objects.__module__])
    if "Rotation" in names:
        names["Rotation"] = SimpleNamespace(from_matrix=_rotation)
    env._get_curr_obs_combined_no_goal = partial(_seen, env)
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


def _seen(env: Env) -> Array:
    """Return hand, gripper and objects, shape (18,): Meta-World's method, with fewer arrays."""
    row = np.zeros(4 + env._obs_obj_max_len)
    apart = env.data.body("rightclaw").xpos - env.data.body("leftclaw").xpos
    row[:3] = env.get_endeff_pos()
    row[3] = min(max(math.sqrt(apart.dot(apart)) / 0.1, 0.0), 1.0)
    positions, rotations = env._get_pos_objects(), env._get_quat_objects()
    for n in range(len(positions) // 3):
        row[7 * n + 4 : 7 * n + 7] = positions[3 * n : 3 * n + 3]
        row[7 * n + 7 : 7 * n + 11] = rotations[4 * n : 4 * n + 4]
    return row


def _rotation(matrix: Array) -> SimpleNamespace:
    """Stand in for SciPy's ``Rotation.from_matrix`` where Meta-World observes."""
    return SimpleNamespace(as_quat=lambda: _quaternion(matrix))


def _quaternion(matrix: Array) -> Array:
    """Return the unit quaternion (x, y, z, w) of a rotation: SciPy's bits, much faster.

    SciPy's took a third of the time of a step. Its method (F. L. Markley, "Unit quaternion from
    rotation matrix", Journal of Guidance, Control, and Dynamics 31, 2008) is done here with
    plain numbers; what is not a rotation within rounding goes to SciPy.
    """
    m = (a, b, c), (d, e, f), (g, h, i) = matrix.tolist()
    level = abs(a * d + b * e + c * f) + abs(a * g + b * h + c * i) + abs(d * g + e * h + f * i)
    sizes = (x * x + y * y + z * z for x, y, z in m)
    turn = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    if not (level < 1e-12 and turn > 0.0 and all(abs(size - 1.0) < 1e-6 for size in sizes)):
        from scipy.spatial.transform import Rotation

        quaternion: Array = Rotation.from_matrix(matrix).as_quat()
        return quaternion
    trace = a + e + i
    largest = max(a, e, i, trace)
    if largest == a:
        q = [1.0 - trace + 2.0 * a, d + b, g + c, h - f]
    elif largest == e:
        q = [b + d, 1.0 - trace + 2.0 * e, h + f, c - g]
    elif largest == i:
        q = [c + g, f + h, 1.0 - trace + 2.0 * i, d - b]
    else:
        q = [h - f, c - g, d - b, 1.0 + trace]
    x, y, z, w = q
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    return np.array([x / norm, y / norm, z / norm, w / norm])
