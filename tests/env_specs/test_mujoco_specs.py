"""The MuJoCo specs: lengths, gears, joint limits and signs are what their words say."""

import numpy as np
import pytest

from promptpo.spec import Task, layout, load_spec, shipped_specs

MUJOCO = [name for name in shipped_specs() if name.startswith("mujoco_")]


def opened(name: str) -> Task:
    task = Task.open(load_spec(name))
    task.reset(0)
    return task


def fields(task: Task, flat: np.ndarray) -> dict[str, np.ndarray]:
    return {item.name: flat[item.slice] for item in layout(task.spec.observation)}


def placed(env, index: int | None = None, value: float = 0.3) -> dict[str, np.ndarray]:
    """Positions of all bodies and sites with one coordinate moved from the model's own pose."""
    position = env.init_qpos.copy()
    if index is not None:
        position[index] += value
    env.set_state(position, np.zeros(env.model.nv))
    bodies = {env.model.body(i).name: env.data.xpos[i].copy() for i in range(env.model.nbody)}
    geoms = {env.model.geom(i).name: env.data.geom_xpos[i].copy() for i in range(env.model.ngeom)}
    return {**bodies, **geoms}


@pytest.mark.parametrize(
    ("name", "gear", "first", "velocity"),
    [
        ("mujoco_swimmer", [150] * 2, 3, "hinge_velocities"),
        ("mujoco_reacher", [200] * 2, 0, "joint_velocities"),
        ("mujoco_hopper", [200] * 3, 3, "joint_velocities"),
        ("mujoco_walker2d", [100] * 6, 3, "joint_velocities"),
    ],
)
def test_a_positive_torque_drives_its_joint_up(name, gear, first, velocity):
    task = opened(name)
    env = task.env
    assert env.model.actuator_gear[:, 0].tolist() == gear
    for joint in range(len(gear)):
        placed(env, 1, 1.0)  # off the ground, where there is one
        before = env.data.qpos[first + joint]
        torque = np.zeros(len(gear))
        torque[joint] = 0.5
        seen = fields(task, task.step(torque)[0])
        assert env.data.qpos[first + joint] > before
        assert seen[velocity][joint] > 0


@pytest.mark.parametrize(
    ("name", "legs"), [("mujoco_hopper", [""]), ("mujoco_walker2d", ["", "_left"])]
)
def test_legs_and_torso_turn_as_described(name, legs):
    env = opened(name).env
    rest = placed(env)
    assert rest["torso"][2] == pytest.approx(1.25)
    for number, leg in enumerate(legs):
        hip, knee, ankle = (3 + 3 * number + i for i in range(3))
        assert placed(env, hip)[f"foot{leg}"][0] > rest[f"foot{leg}"][0], "swings forward"
        assert placed(env, knee)[f"foot{leg}"][0] > rest[f"foot{leg}"][0]
        assert placed(env, ankle)[f"foot{leg}"][2] > rest[f"foot{leg}"][2], "toes up"
        limits = env.model.jnt_range[[hip, knee, ankle]].round(3).tolist()
        assert limits == [[-2.618, 0], [-2.618, 0], [-0.785, 0.785]]
    leaning = placed(env, 2)
    assert leaning["thigh"][0] < rest["thigh"][0], "the torso's lower end goes back"
    assert env.dt == pytest.approx(0.008)


def test_the_swimmer_turns_anticlockwise_and_starts_in_the_middle_of_its_chain():
    env = opened("mujoco_swimmer").env
    rest = placed(env)
    assert rest["torso"].tolist() == [0, 0, 0]
    middles = [env.data.xipos[env.model.body(link).id][0] for link in ("torso", "mid", "back")]
    assert middles == pytest.approx([1.0, 0.0, -1.0])
    placed(env, 2)
    assert env.data.xipos[env.model.body("torso").id][1] > 0, "heading up: the front goes left"
    placed(env, 3)
    assert env.data.xipos[env.model.body("mid").id][1] < 0, "what is behind goes right"
    assert env.model.jnt_range[3:5].round(3).tolist() == [[-1.745, 1.745]] * 2
    assert env.dt == pytest.approx(0.04)


def test_the_arm_of_reacher_is_as_long_as_described():
    task = opened("mujoco_reacher")
    env = task.env
    seen = fields(task, task.reset(3))
    angles = np.arctan2(seen["sin_angles"], seen["cos_angles"])
    elbow = 0.10 * np.array([np.cos(angles[0]), np.sin(angles[0])])
    reach = 0.11 * np.array([np.cos(angles.sum()), np.sin(angles.sum())])
    tip = seen["target_position"] + seen["tip_offset"]
    np.testing.assert_allclose(tip, elbow + reach, atol=1e-9)
    assert np.linalg.norm(seen["target_position"]) <= 0.2
    assert env.dt == pytest.approx(0.02)


def test_the_arm_of_pusher_turns_as_described_and_the_cylinder_starts_there():
    task = opened("mujoco_pusher")
    env, rest = task.env, placed(task.env)
    assert rest["tips_arm"] == pytest.approx([0.821, -0.6, 0])
    assert placed(env, 0)["tips_arm"][1] > rest["tips_arm"][1], "anticlockwise from above"
    for joint in (1, 3):
        assert placed(env, joint)["tips_arm"][2] < rest["tips_arm"][2], "the hand goes down"
    assert placed(env, 5)["tip_arml"][2] < rest["tip_arml"][2]
    for joint in (2, 4, 6):  # about x, right-handed: what is left of the axis goes up
        assert placed(env, joint)["tip_armr"][2] > rest["tip_armr"][2]
    starts = [fields(task, task.reset(seed)) for seed in range(40)]
    offsets = np.array([seen["cylinder"] - seen["goal"] for seen in starts])
    assert np.abs(offsets[:, 0]).max() <= 0.2
    assert offsets[:, 0].min() < 0 < offsets[:, 0].max()
    assert -0.3 <= offsets[:, 1].min() < offsets[:, 1].max() <= 0
    assert np.linalg.norm(offsets[:, :2], axis=1).min() > 0.17
    assert {tuple(seen["goal"].round(4)) for seen in starts} == {(0.45, -0.05, -0.323)}
    assert {float(z) for z in offsets[:, 2].round(4)} == {0.048}
    assert env.dt == pytest.approx(0.05)
    assert env.model.actuator_gear[:, 0].tolist() == [1] * 7
    bent = env.init_qpos.copy()
    bent[[1, 3, 5]] = -0.2  # off the table, and off the limits of elbow and wrist
    for joint, torque in enumerate(0.5 * np.eye(7)):
        env.set_state(bent, np.zeros(env.model.nv))
        assert fields(task, task.step(torque)[0])["joint_angles"][joint] > bent[joint]


def test_poles_and_carts_go_the_ways_described():
    for name, force in (
        ("mujoco_inverted_pendulum", 100),
        ("mujoco_inverted_double_pendulum", 500),
    ):
        task = opened(name)
        assert task.env.model.actuator_gear[0, 0] == force
        placed(task.env)
        seen = fields(task, task.step(np.array([0.1]))[0])
        assert seen["cart_velocity"][0] > 0
        leaning = placed(task.env, 1, 0.1)
        tip = leaning["cpole"]
        assert tip[0] > 0, "a positive angle leans to the right"
        assert task.env.model.jnt_range[0].tolist() == [-1, 1]
    assert task.env.dt == pytest.approx(0.05)


def test_the_tip_of_the_double_pendulum_is_where_the_angles_put_it():
    task = opened("mujoco_inverted_double_pendulum")
    seen = fields(task, task.reset(5))
    angles = np.arctan2(seen["sin_angles"], seen["cos_angles"])
    x = seen["cart_position"][0] + 0.6 * np.sin(angles[0]) + 0.6 * np.sin(angles.sum())
    height = 0.6 * np.cos(angles[0]) + 0.6 * np.cos(angles.sum())
    assert (seen["tip_x"][0], seen["tip_height"][0]) == pytest.approx((x, height))


@pytest.mark.parametrize("name", ["mujoco_hopper", "mujoco_walker2d"])
def test_velocities_are_cut_where_their_fields_say_so_and_the_reward_goes_by_the_uncut_ones(name):
    task = opened(name)
    env = task.env
    speeds = np.full(env.model.nv, 30.0)
    speeds[1:3] = 0.0
    env.set_state(env.init_qpos + np.array([0.0, 1.0, *[0.0] * (env.model.nq - 2)]), speeds)
    after, reward, *_ = task.step(np.zeros(task.action_size))
    seen = fields(task, after)
    assert seen["x_velocity"] == 10.0 < env.data.qvel[0]
    assert reward > 15.0
    for item in layout(task.spec.observation):
        if "velocit" in item.name:
            assert "cut to -10 to 10" in item.field.doc
            values = env.data.qvel[item.start - env.model.nq : item.stop - env.model.nq]
            np.testing.assert_array_equal(seen[item.name], np.clip(values, -10, 10))


@pytest.mark.parametrize("name", MUJOCO)
def test_no_number_is_cut_without_a_word(name):
    """An observation shows the simulator's own positions and velocities, but where a field says."""
    task = opened(name)
    env = task.env
    env.set_state(env.init_qpos, np.linspace(11.0, 12.0, env.model.nv))
    seen = fields(task, task._flat(env._get_obs()))
    for item in layout(task.spec.observation):
        if (np.abs(seen[item.name]) == 10.0).any():
            assert "cut" in item.field.doc, item.name
