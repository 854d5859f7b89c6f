"""MuJoCo bodies with other lengths, masses, motors and joints, from Gymnasium's model files."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from promptpo.spec import Env

#: Elements of a ``mujoco.MjSpec``.
Element: TypeAlias = Any

NONE: Mapping[str, float] = {}


@dataclass(frozen=True)
class Body:
    """How a twin's body differs; everything is a factor, by the names in the model file.

    A part without a name goes by that of its first joint.

    Attributes:
        lengths: of rigid parts: their own length, and where the next part is hinged to them.
            Radii of rods stay; a ball's radius changes.
        masses: of rigid parts, at equal length.
        gears: of motors, by their joints.
        dampings: of joints.
        armatures: of joints.
        friction: of all sliding contacts.
        fluid: of the density of what surrounds the body.
    """

    lengths: Mapping[str, float] = field(default_factory=dict)
    masses: Mapping[str, float] = field(default_factory=dict)
    gears: Mapping[str, float] = field(default_factory=dict)
    dampings: Mapping[str, float] = field(default_factory=dict)
    armatures: Mapping[str, float] = field(default_factory=dict)
    friction: float = 1.0
    fluid: float = 1.0


def make_env(env_id: str, file: str, body: Body, **arguments: Any) -> Env:  # noqa: ANN401
    """Gymnasium's environment ``env_id`` with another body; ``file`` is its model's name."""
    import gymnasium

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.xml")
        path.write_text(model_of(file, body).to_xml(), encoding="utf-8")
        return gymnasium.make(env_id, xml_file=str(path), disable_env_checker=True, **arguments)


def model_of(file: str, body: Body) -> Any:  # noqa: ANN401 - a mujoco.MjSpec, which is untyped
    """The model of a body, as ``mujoco.MjSpec``; it stands as high above the floor as before."""
    spec = _read(file)
    before = clearance(spec.compile())
    for root in spec.worldbody.bodies:
        _scale(root, None, body)
    for geom in spec.geoms:
        geom.friction[0] *= body.friction
    spec.option.density *= body.fluid
    for joint in spec.joints:
        joint.damping *= body.dampings.get(joint.name, 1.0)
        joint.armature *= body.armatures.get(joint.name, 1.0)
    for actuator in spec.actuators:
        actuator.gear[0] *= body.gears.get(actuator.target, 1.0)
    if before is not None:
        lift = before - (clearance(spec.compile()) or 0.0)
        for root in spec.worldbody.bodies:
            _raise(root, round(lift, 4))
    spec.compile()  # its XML is that of the latest compilation
    return spec


def _read(file: str) -> Any:  # noqa: ANN401 - a mujoco.MjSpec
    import gymnasium.envs.mujoco
    import mujoco

    assets = Path(gymnasium.envs.mujoco.__file__).with_name("assets")
    spec = mujoco.MjSpec.from_file(str(assets / file))
    _spread_total_mass(spec)
    return spec


def _scale(part: Element, parent: float | None, body: Body) -> None:
    """Scale a rigid part along all of its axes, but for radii, and what is hinged to it."""
    name = part.name or part.joints[0].name
    own = body.lengths.get(name, 1.0)
    hinge = part.joints[0].pos.copy() if parent is not None and part.joints else np.zeros(3)
    # The joint keeps its place on both parts: at the scaled point of the parent's frame.
    part.pos = (parent or 1.0) * (part.pos + hinge) - own * hinge
    for joint in part.joints:
        joint.pos = joint.pos * own
    for site in part.sites:
        site.pos = site.pos * own
    for geom in part.geoms:
        _scale_geom(geom, own)
        factor = body.masses.get(name, 1.0)
        geom.density *= factor
        geom.mass *= factor  # not a number where the density decides
    for child in part.bodies:
        _scale(child, own, body)


def _scale_geom(geom: Element, factor: float) -> None:
    import mujoco

    geom.pos = geom.pos * factor
    if np.isfinite(geom.fromto).all():
        geom.fromto = geom.fromto * factor
    elif geom.type == mujoco.mjtGeom.mjGEOM_SPHERE:
        geom.size[0] *= factor
    else:
        geom.size[1] *= factor


def _spread_total_mass(spec: Any) -> None:  # noqa: ANN401 - a mujoco.MjSpec
    """Where a file states the total mass, give the parts their shares of it, so that each counts.

    What a ``mujoco.MjSpec`` writes does not state a total mass.
    """
    total = spec.compiler.settotalmass
    if total > 0:
        spec.compiler.settotalmass = -1.0
        share = total / spec.compile().body_mass.sum()
        for geom in spec.geoms:
            geom.density *= share


def clearance(model: Any) -> float | None:  # noqa: ANN401 - a mujoco.MjModel
    """Height in m of the lowest point of all rods and balls at the model's own posture.

    None where nothing moves.
    """
    return min(_bottoms(model).values(), default=None)


def _bottoms(model: Any) -> dict[str, float]:  # noqa: ANN401 - a mujoco.MjModel
    """The height in m of the lowest point of each rod and ball that moves, by its name or index."""
    import mujoco

    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    heights = {}
    for geom in range(model.ngeom):
        if not model.geom_bodyid[geom]:
            continue
        half = model.geom_size[geom][1] * abs(data.geom_xmat[geom][8])
        rod = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE
        radius = model.geom_size[geom][0]
        bottom = data.geom_xpos[geom][2] - radius - (half if rod else 0.0)
        heights[model.geom(geom).name or str(geom)] = float(bottom)
    return heights


def _raise(root: Element, lift: float) -> None:
    """Let a body start higher; a slide that counts from the floor goes on doing so."""
    root.pos[2] += lift
    for joint in root.joints:
        if joint.ref and abs(joint.axis[2]) == 1.0:
            joint.ref += lift


@cache
def start_height(file: str, *, part: str, lengths: tuple[tuple[str, float], ...] = ()) -> float:
    """Height in m of a part above the floor at the model's own posture."""
    return float(model_of(file, Body(dict(lengths))).body(part).pos[2])


def bottoms(file: str, body: Body) -> dict[str, float]:
    """Height in m of the lowest point of each of a body's rods and balls, before it moves."""
    return _bottoms(model_of(file, body).compile())
