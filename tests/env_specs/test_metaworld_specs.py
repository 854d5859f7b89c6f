"""Meta-World through our specs: the same episodes as without them, goals without end by seed."""

import pickle

import numpy as np
import pytest

from promptpo.spec import Task, layout, load_spec

#: Meta-World's scripted policies ask for more than the bounds, and warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

SPECS = {
    "metaworld_reach": "reach-v3",
    "metaworld_button_press": "button-press-v3",
    "metaworld_pick_place": "pick-place-v3",
    "metaworld_door_open": "door-open-v3",
    "metaworld_drawer_open": "drawer-open-v3",
}


@pytest.fixture(params=SPECS)
def task(request):
    task = Task.open(load_spec(request.param))
    yield task
    task.close()


def plain_env(task_name: str, rand_vec: np.ndarray):
    """Return Meta-World's own environment with a task set its own way, without our code."""
    import metaworld
    from metaworld.env_dict import ALL_V3_ENVIRONMENTS

    environment = ALL_V3_ENVIRONMENTS[task_name]
    env = environment()
    data = {"rand_vec": rand_vec, "env_cls": environment, "partially_observable": False}
    env.set_task(metaworld.Task(env_name=task_name, data=pickle.dumps(data)))
    return env


@pytest.mark.slow
def test_episodes_are_metaworlds_own_bit_for_bit(task):
    act = task.spec.expert(task.env)
    for seed in (11, 12):
        task.reset(seed)
        other = plain_env(SPECS[task.spec.name], task.env._last_rand_vec)
        raw, _ = other.reset()
        np.testing.assert_array_equal(task.raw, raw)
        for _ in range(60):
            action = np.clip(act(task.raw), -1, 1).astype(np.float32)
            _, reward, _, _, success = task.step(action.astype(np.float64))
            raw, other_reward, _, _, info = other.step(action)
            np.testing.assert_array_equal(task.raw, raw)
            assert reward == other_reward
            assert success == bool(info["success"])
        other.close()


def test_fields_show_what_metaworld_observes(task):
    flat = task.reset(5)
    for _ in range(3):
        previous, raw_before = flat, task.raw
        flat = task.step(np.array([0.5, 1.0, -0.5, 1.0]))[0]
    at = {item.name: flat[item.start : item.stop] for item in layout(task.spec.observation)}
    before = {item.name: previous[item.start : item.stop] for item in layout(task.spec.observation)}
    np.testing.assert_array_equal(at["hand_position"], task.raw[:3])
    np.testing.assert_array_equal(at["previous_hand_position"], before["hand_position"])
    np.testing.assert_array_equal(at["previous_hand_position"], raw_before[:3])
    np.testing.assert_array_equal(at["fingertip_position"], task.env.tcp_center)
    goals = {"goal_position", "pressed_position", "open_position"}
    (goal,) = goals & set(at)
    np.testing.assert_array_equal(at[goal], task.env._target_pos)
    assert at["gripper_opening"] < before["gripper_opening"], "a positive effort closes the fingers"


def test_hand_and_gripper_axes_are_what_the_spec_says(task):
    for axis in range(3):
        task.reset(0)
        start = task.raw[:3].copy()
        push = np.zeros(4)
        push[axis] = 1.0
        for _ in range(10):
            task.step(push)
        moved = task.raw[:3] - start
        assert moved[axis] > 0.03
        assert np.abs(np.delete(moved, axis)).max() < moved[axis]


def test_success_in_reach_is_the_distance_of_the_fingertips():
    task = Task.open(load_spec("metaworld_reach"))
    task.reset(3)
    act = task.spec.expert(task.env)
    outcomes = []
    for _ in range(100):
        success = task.step(np.asarray(act(task.raw), dtype=np.float64))[4]
        distance = np.linalg.norm(task.env.tcp_center - task.env._target_pos)
        outcomes.append(success)
        assert success == (distance <= 0.05)
    assert {True, False} == set(outcomes)


def test_the_hinge_of_the_door_is_where_the_spec_says():
    task = Task.open(load_spec("metaworld_door_open"))
    flat = task.reset(4)
    at = {item.name: flat[item.slice] for item in layout(task.spec.observation)}
    hinge = task.env.data.xanchor[task.env.model.joint("doorjoint").id]
    away = hinge[:2] - at["handle_position"][:2]
    np.testing.assert_allclose(away, [-0.376, 0.107], atol=1e-3)
    assert at["handle_position"][0] - at["open_position"][0] == pytest.approx(0.49, abs=2e-3)
    task.env._set_obj_xyz(np.array(-1.0))
    assert task.env.data.geom("handle").xpos[1] < at["handle_position"][1], "opens to the robot"


def test_the_far_finger_pad_is_the_first():
    task = Task.open(load_spec("metaworld_pick_place"))
    flat = task.reset(4)
    at = {item.name: flat[item.slice] for item in layout(task.spec.observation)}
    far, near = at["finger_pads"]
    assert far > at["fingertip_position"][1] > near
    np.testing.assert_array_equal(at["puck_start"], at["puck_position"])
