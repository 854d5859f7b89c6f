"""Bodies of twins: with no factor the file's own; a factor changes what it names, no more."""

import mujoco
import numpy as np
import pytest

from env_specs._twins.bodies import Body, bottoms, clearance, model_of
from env_specs._twins.recipes import RECIPES

FILES = (
    "hopper.xml",
    "walker2d_v5.xml",
    "half_cheetah.xml",
    "ant.xml",
    "swimmer.xml",
    "reacher.xml",
    "inverted_double_pendulum.xml",
)
NUMBERS = (
    "body_mass",
    "body_inertia",
    "body_pos",
    "geom_pos",
    "geom_quat",
    "geom_size",
    "geom_friction",
    "jnt_pos",
    "jnt_axis",
    "jnt_range",
    "jnt_stiffness",
    "dof_damping",
    "dof_armature",
    "actuator_gear",
    "qpos0",
)


PLAIN = Body()


def compiled(body: Body = PLAIN, file: str = "hopper.xml") -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(model_of(file, body).to_xml())


def changed(body: Body, file: str = "hopper.xml") -> dict[str, np.ndarray]:
    """The numbers of the model that a body's factors change, and by how much."""
    before, after = compiled(file=file), compiled(body, file)
    found = {}
    for name in NUMBERS:
        old, new = getattr(before, name), getattr(after, name)
        if not np.allclose(old, new, rtol=1e-5, atol=1e-6):
            found[name] = np.divide(new, old, out=np.ones_like(old), where=old != 0)
    return found


@pytest.mark.parametrize("file", FILES)
def test_without_factors_it_is_the_files_own(file):
    path = f"{mujoco_assets()}/{file}"
    original, ours = mujoco.MjModel.from_xml_path(path), compiled(file=file)
    for name in NUMBERS:
        expected, found = getattr(original, name), getattr(ours, name)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6, err_msg=name)
    for name in ("timestep", "integrator", "density", "viscosity"):
        assert getattr(ours.opt, name) == pytest.approx(getattr(original.opt, name))


def mujoco_assets() -> str:
    import gymnasium.envs.mujoco

    return f"{gymnasium.envs.mujoco.__path__[0]}/assets"


def test_a_factor_of_a_joint_or_a_mass_changes_that_one_alone():
    for factor, numbers, joint in (
        ("gears", "actuator_gear", 1),
        ("dampings", "dof_damping", 4),
        ("armatures", "dof_armature", 4),
    ):
        found = changed(Body(**{factor: {"leg_joint": 1.3}}))
        assert set(found) == {numbers}
        ratios = found[numbers].reshape(len(found[numbers]), -1)[:, 0]
        assert np.flatnonzero(ratios != 1.0).tolist() == [joint]
        assert ratios[joint] == pytest.approx(1.3)
    found = changed(Body(masses={"leg": 1.3}))
    assert set(found) == {"body_mass", "body_inertia"}
    leg = compiled().body("leg").id
    assert np.flatnonzero(found["body_mass"] != 1.0).tolist() == [leg]
    assert found["body_mass"][leg] == pytest.approx(1.3)
    found = changed(Body(masses={"ankle_1": 1.3}), "ant.xml")  # by its joint: it has no name
    assert (found["body_mass"] != 1.0).sum() == 1


def test_a_factor_of_a_length_moves_what_is_hinged_to_the_part():
    before, after = compiled(), compiled(Body(lengths={"leg": 1.3}))

    def shape(model):
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        hip, knee, ankle = data.xanchor[3:6]
        tip = data.geom("foot_geom").xpos
        return [np.linalg.norm(part) for part in (hip - knee, knee - ankle, ankle - tip)]

    assert np.divide(shape(after), shape(before)) == pytest.approx([1.0, 1.3, 1.0])
    assert clearance(after) == pytest.approx(clearance(before), abs=1e-4)
    leg = before.geom("leg_geom").id
    assert after.geom_size[leg] == pytest.approx(before.geom_size[leg] * [1.0, 1.3, 1.0])
    others = np.arange(before.ngeom) != leg
    assert after.geom_size[others] == pytest.approx(before.geom_size[others])


def test_friction_is_that_of_sliding_and_the_fluid_has_another_density():
    found = changed(Body(friction=1.3))
    assert set(found) == {"geom_friction"}
    assert found["geom_friction"] == pytest.approx(np.tile([1.3, 1.0, 1.0], (5, 1)))
    assert not changed(Body(fluid=1.3), "swimmer.xml")
    assert compiled(Body(fluid=1.3), "swimmer.xml").opt.density == pytest.approx(5200)


def test_drawn_bodies_are_symmetric_stand_and_differ_noticeably_within_bounds():
    for seed in range(10):
        body = RECIPES["mujoco_walker2d"].drawn_world(seed)["body"]
        for part in ("thigh", "leg", "foot"):
            assert body["lengths"][part] == body["lengths"][f"{part}_left"]
            assert body["masses"][part] == body["masses"][f"{part}_left"]
            assert body["gears"][f"{part}_joint"] == body["gears"][f"{part}_left_joint"]
        world = RECIPES["mujoco_halfcheetah"].drawn_world(seed)
        ends = bottoms("half_cheetah.xml", Body(**world["body"]))
        assert abs(ends["bfoot"] - ends["ffoot"]) < 0.12
        for name in (name for name in RECIPES if name.startswith("mujoco_")):
            world = RECIPES[name].drawn_world(seed)
            groups = [value for value in world["body"].values() if isinstance(value, dict)]
            factors = [factor for group in groups for factor in group.values()]
            factors += [world["body"][k] for k in ("friction", "fluid") if k in world["body"]]
            assert all(0.6 <= f <= 1.6 and max(f, 1 / f) > 1.09 for f in factors)
            assert world["frame_skip"] != RECIPES[name].world["frame_skip"]
