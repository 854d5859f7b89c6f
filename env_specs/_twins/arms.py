"""Meta-World's tasks with another motion of the hand and other objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from promptpo.spec import Env

NONE: Mapping[str, float] = {}


def in_world(
    env: Env,
    *,
    action_scale: float,
    frame_skip: int,
    radii: Mapping[str, float] = NONE,
    masses: Mapping[str, float] = NONE,
    dampings: Mapping[str, float] = NONE,
) -> Env:
    """Change a task of Meta-World's in place; returns it. Each episode starts as it always did.

    Args:
        env: the task, as Meta-World builds it.
        action_scale: by how many m 1.0 of an action moves the hand's commanded position.
        frame_skip: simulator steps per step.
        radii: of cylinders, in m, by the names of geoms.
        masses: of bodies, as factors; inertias go with them.
        dampings: of joints, as factors.
    """
    _change_objects(env.model, radii, masses, dampings)
    env.action_scale = action_scale
    begin, usual = env.reset, env.frame_skip

    def reset(**arguments: Any) -> Any:  # noqa: ANN401 - as Gymnasium's
        # A reset brings the hand to its place by simulation; rewards know where that ends.
        env.frame_skip = usual
        started = begin(**arguments)
        env.frame_skip = frame_skip
        return started

    env.reset = reset
    return env


def _change_objects(
    model: Any,  # noqa: ANN401 - a mujoco.MjModel, which is untyped
    radii: Mapping[str, float],
    masses: Mapping[str, float],
    dampings: Mapping[str, float],
) -> None:
    import mujoco

    for name, radius in radii.items():
        geom = model.geom(name)
        half = geom.size[1]
        geom.size[0] = radius
        geom.rbound[0] = float(np.hypot(radius, half))
        model.geom_aabb[geom.id, 3:] = (radius, radius, half)
    for name, factor in masses.items():
        model.body(name).mass *= factor
        model.body(name).inertia *= factor
    for name, factor in dampings.items():
        model.joint(name).damping *= factor
    if masses:
        mujoco.mj_setConst(model, mujoco.MjData(model))  # what follows from masses
