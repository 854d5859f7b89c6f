"""Twins of MuJoCo tasks: joints, torques, limits and directions are what their prompts say."""

import ast
import re

import numpy as np
import pytest
from live_twins import ANGLES, JOINTED, RECIPES, ant_pairs, opened

from promptpo.spec import Task, load_spec

seeds = pytest.mark.parametrize("seed", [0, 1, 2])


@seeds
@pytest.mark.parametrize("name", RECIPES)
def test_time_step(name, seed):
    twin = opened(name, seed)
    (step,) = twin.told(r"Steps are ([\d.]+) s apart")
    assert float(step) == pytest.approx(twin.env.dt)
    assert 0.6 <= twin.env.dt / Task.open(load_spec(f"mujoco_{name}")).env.unwrapped.dt <= 1.6


@seeds
@pytest.mark.parametrize("name", JOINTED)
def test_joints_stand_where_the_prompt_says(name, seed):
    twin = opened(name, seed)
    field = ANGLES.get(name, "joint_angles")
    rest = twin.seen(field, twin.env.init_qpos)
    for index, joint in enumerate(twin.joints()):
        changed = twin.seen(field, twin.moved(joint, 0.1)) - rest
        assert np.flatnonzero(np.abs(changed) > 1e-9).tolist() == [index]


@seeds
@pytest.mark.parametrize("name", JOINTED)
def test_a_positive_torque_drives_its_joint_up_with_the_stated_torque(name, seed):
    twin = opened(name, seed)
    for action, (index, joint, largest) in enumerate(motors(twin)):
        torque = np.zeros(len(twin.joints()))
        torque[action] = 0.5
        rest = twin.seen(ANGLES.get(name, "joint_angles"), twin.env.init_qpos)
        changed = twin.seen(ANGLES.get(name, "joint_angles"), twin.moved(joint, 0.1)) - rest
        twin.env.set_state(twin.lifted(), np.zeros(twin.model.nv))
        twin.task.step(torque)
        force = twin.env.data.qfrc_actuator
        assert np.flatnonzero(force).tolist() == [joint.dofadr[0]]
        assert force[joint.dofadr[0]] * np.sign(changed[index]) == pytest.approx(largest / 2)


def motors(twin):
    """For each number of an action: its joint's index, the joint, the largest torque."""
    if twin.name == "ant":
        hip, ankle = map(float, twin.told(r"\(hips ([\d.]+), ankles ([\d.]+) N m\)"))
        order = dict(ant_pairs(twin.told(r"The order is: (.*)\. So")[0]))
        names = [joint.name for joint in twin.joints()]
        said = ast.literal_eval(twin.told(r"drives joint (\[.*?\])\[k\]")[0])
        assert said == [names.index(order[action]) for action in range(8)]
        return [
            (index, twin.joints()[index], hip if "hip" in names[index] else ankle) for index in said
        ]
    stated = twin.told(r"\(([\d., ]+) N m")[0].split(",")
    return list(zip(range(len(stated)), twin.joints(), map(float, stated), strict=True))


@seeds
def test_the_cart_is_pushed_as_the_prompt_says(seed):
    twin = opened("inverted_double_pendulum", seed)
    force, side = twin.told(r"units of ([\d.]+) N, positive to the (left|right)")
    twin.task.step(np.array([0.5]))
    signed = float(force) * (1 if side == "right" else -1)
    assert twin.env.data.qfrc_actuator[0] == pytest.approx(signed / 2)


@seeds
@pytest.mark.parametrize("name", ["hopper", "halfcheetah"])
def test_limits_in_order(name, seed):
    twin = opened(name, seed)
    low, high = map(ast.literal_eval, twin.told(r"(\([-\d., ]+\)) to (\([-\d., ]+\))"))
    for index, joint in enumerate(twin.joints()):
        ends = [twin.seen("joint_angles", twin.moved(joint, end))[index] for end in joint.range]
        assert (min(ends), max(ends)) == pytest.approx((low[index], high[index]), abs=1e-3)


@seeds
def test_limits_of_two_legs(seed):
    twin = opened("walker2d", seed)
    for index, joint in enumerate(twin.joints()):
        ends = [twin.seen("joint_angles", twin.moved(joint, end))[index] for end in joint.range]
        limits = twin.told(r"for a moment: (.*? at the ankles)")[0]
        if "foot" in joint.name:
            assert sorted(ends) == pytest.approx([-0.785, 0.785], abs=1e-3)
        elif " at hips and knees" in limits:
            assert f"{min(ends):.4g} to {max(ends):.4g} at hips" in limits
        else:
            sides = re.findall(r"(-2.618 to 0|0 to 2.618) for ([^;]+)", limits)
            side = "-2.618 to 0" if min(ends) < -1 else "0 to 2.618"
            assert str(index) in dict(sides)[side]


@seeds
@pytest.mark.parametrize("name", ["hopper", "walker2d", "halfcheetah"])
def test_which_way_a_positive_angle_swings(name, seed):
    twin = opened(name, seed)
    ahead = "to the front" if name == "halfcheetah" else "forward"
    rest = {}
    twin.seen("joint_angles", twin.env.init_qpos)
    rest = twin.env.data.geom_xpos.copy()
    forwards = []
    for index, joint in enumerate(twin.joints()):
        position = twin.moved(joint, 0.2)
        sign = np.sign((twin.seen("joint_angles", position))[index])
        part = joint.bodyid[0] if hasattr(joint, "bodyid") else twin.model.jnt_bodyid[joint.id]
        geom = twin.model.body_geomadr[part]
        hinge = twin.env.data.xanchor[joint.id]
        # The lower end of a hanging part: below its hinge, so that it goes as the angle does.
        arm, shift = rest[geom] - hinge, twin.env.data.geom_xpos[geom] - rest[geom]
        turned = -np.cross(arm, shift)[1]  # positive about -y: what hangs swings forward
        if turned * sign > 0:
            forwards.append(str(index))
    (said,) = twin.told(r"swings the lower end (.*?), ?measured")
    if " for " not in said:
        assert len(forwards) == (len(twin.joints()) if ahead in said else 0)
    else:
        spans = re.findall(rf"{ahead}(?: \([^)]*\))? for ((?:\d|, | and )+)", said)
        assert re.findall(r"\d", spans[0]) == forwards
