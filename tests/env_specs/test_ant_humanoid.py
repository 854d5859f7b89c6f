"""Ant and Humanoid: names, orders, signs, frames and lengths are what their words say."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from promptpo.spec import Task, layout, load_spec
from promptpo.spec.observation import observation_class

ANT_LEGS = {  # joint of the hip -> x and y towards which the leg points
    0: (1, 1),
    2: (-1, 1),
    4: (-1, -1),
    6: (1, -1),
}


@pytest.fixture(params=["mujoco_ant", "mujoco_humanoid"])
def task(request):
    return opened(request.param)


def opened(name: str) -> Task:
    task = Task.open(load_spec(name))
    task.reset(0)
    return task


def seen(task: Task):
    """What a policy sees of the state in which the simulator is now."""
    return observation_class(task.spec.observation)(task._flat(task.env._get_obs()))


def place(task: Task, position: dict[int, float], velocity: dict[int, float] | None = None):
    """Put the body into its own pose, some coordinates of ``qpos`` and ``qvel`` changed."""
    qpos, qvel = task.env.init_qpos.copy(), np.zeros(task.env.model.nv)
    qpos[2] = 3.0
    for index, value in position.items():
        qpos[index] = value
    for index, value in (velocity or {}).items():
        qvel[index] = value
    task.env.set_state(qpos, qvel)
    return seen(task)


def orientation(axis: str, angle: float) -> dict[int, float]:
    x, y, z, w = Rotation.from_euler(axis, angle).as_quat()
    return {3: w, 4: x, 5: y, 6: z}


def geom(task: Task, name: str) -> np.ndarray:
    return task.env.data.geom(name).xpos.copy()


def middle(task: Task, body: int) -> np.ndarray:
    """Centre of mass of a body, by its row in the spec."""
    return task.env.data.xipos[1 + body].copy()


def test_the_observation_holds_what_gymnasium_observes_and_bodies_of_the_simulator(task):
    rng = np.random.default_rng(3)
    for _ in range(5):
        flat = task.step(rng.uniform(-0.4, 0.4, task.action_size))[0]
    at = {item.name: flat[item.slice] for item in layout(task.spec.observation)}
    data, joints = task.env.data, task.env.model.njnt - 1
    expected = {
        "torso_position": data.qpos[:3],
        "torso_orientation": data.qpos[3:7],
        "joint_angles": data.qpos[7:],
        "torso_velocity": data.qvel[:3],
        "torso_angular_velocity": data.qvel[3:6],
        "joint_velocities": data.qvel[6:],
        "body_positions": data.xpos[1:],
    }
    assert at["joint_angles"].shape == (joints,)
    if task.spec.name == "mujoco_humanoid":
        expected["body_inertias"] = data.cinert[1:]
        expected["body_velocities"] = data.cvel[1:]
        expected["joint_torques"] = data.qfrc_actuator[6:]
        expected["contact_forces"] = data.cfrc_ext[1:]
        expected["center_of_mass"] = data.subtree_com[1]
    else:
        expected["contact_forces"] = np.clip(data.cfrc_ext[1:], -1, 1)
    assert expected.keys() == at.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(at[name], values.ravel(), atol=1e-12, err_msg=name)


def test_turning_and_orientation_have_the_signs_described(task):
    for number, axis in enumerate("xyz"):
        angles = place(task, orientation(axis, 0.3)).roll_pitch_yaw()
        assert angles == pytest.approx([0.3 if i == number else 0.0 for i in range(3)])
    turn = Rotation.from_euler("ZYX", [0.7, -0.4, 1.1])
    x, y, z, w = turn.as_quat()
    observation = place(task, {3: w, 4: x, 5: y, 6: z})
    assert observation.roll_pitch_yaw() == pytest.approx((1.1, -0.4, 0.7))
    spinning = place(task, orientation("x", np.pi / 2), {5: 1.0})
    assert spinning.torso_angular_velocity.tolist() == [0, 0, 1]
    world = task.env.data.cvel[1][:3]
    assert world == pytest.approx([0, -1, 0], abs=1e-9), "about the torso's own axis"


def test_contact_rows_hold_torque_first_and_force_in_world_axes(task):
    """At rest the forces of the floor, in world axes, carry the weight."""
    place(task, {2: 0.7 if task.spec.name == "mujoco_ant" else 1.0})
    for _ in range(400):
        task.env.do_simulation(np.zeros(task.env.model.nu), 5)
    forces = task.env.data.cfrc_ext[1:]
    weight = 9.81 * task.env.model.body_mass.sum()
    assert forces[:, 5].sum() == pytest.approx(weight, rel=0.1)
    assert np.abs(forces[:, 3:5].sum(axis=0)).max() < 0.1 * weight
    if task.spec.name == "mujoco_ant":
        assert (seen(task).contact_forces[[3, 6, 9, 12], 5] > 0.9).all(), "it stands on its legs"
    else:
        assert weight == pytest.approx(413, abs=0.5)


def test_the_legs_of_the_ant_are_where_their_names_say_and_as_long():
    task = opened("mujoco_ant")
    bodies = place(task, {}).body_positions - [0, 0, 3]
    for number, (x, y) in enumerate(ANT_LEGS.values()):
        link, hip, ankle = bodies[1 + 3 * number : 4 + 3 * number]
        assert link.tolist() == [0, 0, 0]
        assert (np.sign(hip[0]), np.sign(hip[1])) == (x, y)
        lengths = np.linalg.norm(hip), np.linalg.norm(ankle - hip)
        assert lengths == pytest.approx((0.283, 0.283), abs=1e-3)
    assert task.env.model.geom("left_ankle_geom").size[1] * 2 == pytest.approx(0.57, abs=5e-3)
    assert task.env.dt == pytest.approx(0.05)


def test_the_joints_of_the_ant_turn_as_described():
    task = opened("mujoco_ant")
    for hip, (x, y) in ANT_LEGS.items():
        lower = 3 + 3 * (hip // 2)
        place(task, {})
        rest = middle(task, lower)
        place(task, {7 + hip: 0.3})
        moved = middle(task, lower) - rest
        assert x * moved[1] - y * moved[0] > 0.1, "anticlockwise seen from above"
        place(task, {7 + hip + 1: 0.3 if x > 0 else -0.3})
        assert middle(task, lower)[2] < rest[2] - 0.05, "the lower leg bends down"


def test_the_action_of_the_ant_drives_the_joint_that_the_formula_says():
    task = opened("mujoco_ant")
    for joint in range(8):
        torques = np.zeros(8)
        torques[joint] = 0.5
        action = np.roll(torques, 2)
        assert action[(joint + 2) % 8] == 0.5
        before = place(task, {8: 0.9, 10: -0.9, 12: -0.9, 14: 0.9}).joint_angles
        moved = observation_class(task.spec.observation)(task.step(action)[0]).joint_angles - before
        assert np.argmax(np.abs(moved)) == joint
        assert moved[joint] > 0.01
    assert (task.env.model.actuator_gear[:, 0] == 150).all()


def test_lying_on_its_back_does_not_end_the_ants_episode_and_height_does():
    task = opened("mujoco_ant")
    for height, over in ((0.5, False), (1.2, True)):
        place(task, {2: height, **orientation("x", np.pi)})
        assert task.step(np.zeros(8))[2] == over


BACK, FORWARD, LEFT, RIGHT, UP, DOWN = (
    np.array(v) for v in ((-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
)


SWINGS = {
    (1, "right_foot"): [BACK],
    (1, "left_foot"): [BACK],
    (2, "right_foot"): [LEFT],
    (3, "right_foot"): [LEFT],
    (5, "right_foot"): [BACK],
    (6, "right_foot"): [FORWARD],
    (7, "left_foot"): [RIGHT],
    (9, "left_foot"): [BACK],
    (10, "left_foot"): [FORWARD],
    (11, "right_hand"): [LEFT, DOWN],
    (12, "right_hand"): [LEFT, UP],
    (13, "right_hand"): [BACK, LEFT, UP],
    (14, "left_hand"): [LEFT, UP],
    (15, "left_hand"): [LEFT, DOWN],
    (16, "left_hand"): [BACK, RIGHT, UP],
}


def test_the_joints_of_the_humanoid_swing_and_turn_as_described():
    task = opened("mujoco_humanoid")
    for (joint, part), directions in SWINGS.items():
        place(task, {})
        rest = geom(task, part)
        place(task, {7 + joint: 0.2})
        moved = geom(task, part) - rest
        assert all(moved @ direction > 0.01 for direction in directions), (joint, part)
    # Anticlockwise from above is inward for the right leg, clockwise for the left one.
    for joint, thigh, turn in ((0, 3, 1), (0, 6, 1), (4, 3, 1), (8, 6, -1)):
        place(task, {7 + joint: 0.2})
        axis = task.env.data.xmat[1 + thigh].reshape(3, 3)[:, 0]
        assert np.arctan2(axis[1], axis[0]) == pytest.approx(0.2 * turn, abs=0.01)


def test_the_action_of_the_humanoid_drives_the_joint_described():
    task = opened("mujoco_humanoid")
    gears = [100] * 5 + [300, 200, 100, 100, 300, 200] + [25] * 6
    for joint in range(17):
        task.reset(0)
        place(task, {})
        action = np.zeros(17)
        action[{0: 1, 1: 0}.get(joint, joint)] = 0.4
        torques = observation_class(task.spec.observation)(task.step(action)[0]).joint_torques
        assert np.flatnonzero(torques).tolist() == [joint]
        assert torques[joint] == pytest.approx(0.4 * gears[joint])


def test_lengths_and_inertias_of_the_humanoid_are_as_described():
    task = opened("mujoco_humanoid")
    observation = place(task, {7 + 5: -0.8, 7 + 9: 0.3})
    body, data, model = 3, task.env.data, task.env.model
    offset = middle(task, body) - observation.center_of_mass
    mass = model.body_mass[1 + body]
    turn = data.ximat[1 + body].reshape(3, 3)
    inertia = turn @ np.diag(model.body_inertia[1 + body]) @ turn.T
    inertia += mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    stated = observation.body_inertias[body]
    upper = [inertia[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(stated, [*upper, *(mass * offset), mass], atol=1e-9)
    sole = geom(task, "right_foot") - observation.body_positions[5]
    assert np.linalg.norm(sole) == pytest.approx(0.1)
    start = place(task, {2: 1.4})
    assert start.body_positions[5][2] + 0.1 - 0.075 == pytest.approx(0.107, abs=1e-3)
    assert task.env.dt == pytest.approx(0.015)


def test_velocities_of_bodies_are_taken_at_the_centre_of_mass():
    """A body that turns about its own x axis moves sideways at the whole body's centre of mass."""
    task = opened("mujoco_humanoid")
    observation = place(task, {}, {3: 2.0})
    below = observation.center_of_mass - observation.torso_position
    velocity = np.cross([2.0, 0, 0], below)
    np.testing.assert_allclose(observation.body_velocities[0], [2, 0, 0, *velocity], atol=1e-9)
