"""Meta-World's tasks without a file of their own: rewards, first observations, references."""

import sys

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from env_specs._metaworld import world
from promptpo.checks.description import check_observation
from promptpo.checks.play import Played, play_episode
from promptpo.checks.reward import check_reward
from promptpo.spec import Task, layout, load_spec

#: Meta-World's scripted policies ask for more than the bounds, and warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

#: Grasping, two objects, a drop of height, a fast-falling closeness: one of each kind.
KINDS = ["push-v3", "hammer-v3", "stick-pull-v3", "assembly-v3", "door-lock-v3", "sweep-into-v3"]

#: Their objects would be seen, at first, where the draw before has put them.
PLACED_TWICE = ["dial-turn-v3", "faucet-open-v3", "lever-pull-v3", "window-open-v3"]


@pytest.mark.slow
@pytest.mark.parametrize("member", KINDS)
def test_the_rewards_of_an_experts_episode_are_the_environments(member):
    task = Task.open(load_spec(f"metaworld:{member}"))
    played = Played(task.spec)
    play_episode(task, "expert", 3, played)
    task.close()
    assert played.episodes[0].success
    assert [f.detail for f in (*check_reward(played), *check_observation(played)) if f.failed] == []
    rewards = [step.reward for step in played.transitions]
    assert max(rewards) > 5 * min(rewards), "the reward has been climbed, not only begun"


@pytest.mark.parametrize("member", [*PLACED_TWICE, "push-v3", "faucet-close-v3"])
def test_the_first_observation_is_of_where_things_are(member):
    task = Task.open(load_spec(f"metaworld:{member}"))
    for seed in (1, 2):
        task.reset(seed)
        first = task.raw[:18].copy()
        mujoco.mj_forward(task.env.model, task.env.data)
        there = task.env._get_curr_obs_combined_no_goal()
        np.testing.assert_allclose(first, there, atol=1e-3)
    task.close()


def test_a_window_that_is_to_be_closed_is_seen_too_far_left_at_first_as_the_spec_says():
    task = Task.open(load_spec("metaworld:window-close-v3"))
    flat = task.reset(4)
    at = {item.name: flat[item.slice] for item in layout(task.spec.observation)}
    mujoco.mj_forward(task.env.model, task.env.data)
    there = task.env._get_pos_objects()
    np.testing.assert_allclose(there - at["handle_position"], [0.2, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(there, at["handle_start"], atol=1e-6)
    task.close()


def test_two_objects_are_seen_where_they_are_now_and_one_step_before():
    task = Task.open(load_spec("metaworld:hammer-v3"))
    fields = layout(task.spec.observation)
    task.reset(5)
    before = task.raw[:18]
    flat = task.step(np.array([0.5, 1.0, -0.5, 1.0]))[0]
    at = {item.name: flat[item.slice] for item in fields}
    np.testing.assert_array_equal(at["hammer_position"], task.raw[4:7])
    np.testing.assert_array_equal(at["nail_position"], task.env.get_body_com("nail_link"))
    np.testing.assert_array_equal(at["previous_nail_rotation"], before[14:18])
    np.testing.assert_array_equal(at["goal_position"], task.env._target_pos)
    np.testing.assert_array_equal(at["fingertip_position"], task.env.tcp_center)
    task.close()


@pytest.mark.parametrize("member", ["reach-v3", "hammer-v3", "stick-pull-v3", "door-open-v3"])
def test_meta_worlds_own_observation_has_the_same_bits(member, monkeypatch):
    task = Task.open(load_spec(f"metaworld:{member}"))
    env, rng = task.env, np.random.default_rng(0)
    own = vars(sys.modules[type(env)._get_quat_objects.__module__])
    task.reset(1)
    for _ in range(60):
        task.step(rng.uniform(-1, 1, 4))
        quick = env._get_curr_obs_combined_no_goal()
        with monkeypatch.context() as patched:
            if "Rotation" in own:
                patched.setitem(own, "Rotation", Rotation)
            assert type(env)._get_curr_obs_combined_no_goal(env).tobytes() == quick.tobytes()
    task.close()


def test_a_rotation_has_the_bits_of_scipys():
    rng, matrix = np.random.default_rng(0), np.empty(9)
    near = [np.roll([1.0, 0.0, 0.0, 0.0], n) for n in range(4)]
    for n in range(2000):
        quaternion = rng.normal(size=4) if n % 2 else near[n % 8 // 2] + 1e-7 * rng.normal(size=4)
        mujoco.mju_quat2Mat(matrix, quaternion / np.linalg.norm(quaternion))
        square = matrix.reshape(3, 3)
        quick, theirs = (of(square).as_quat() for of in (world._rotation, Rotation.from_matrix))
        assert quick.tobytes() == theirs.tobytes()
    skewed = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    quick, theirs = (of(skewed).as_quat() for of in (world._rotation, Rotation.from_matrix))
    np.testing.assert_array_equal(quick, theirs)


def test_the_goal_is_drawn_from_the_range_that_is_stated():
    task = Task.open(load_spec("metaworld:push-v3"))
    field = next(f for f in layout(task.spec.observation) if f.name == "goal_position")
    goals = np.array([task.reset(seed)[field.slice] for seed in range(40)])
    assert (goals >= np.array(field.field.low) - 1e-9).all()
    assert (goals <= np.array(field.field.high) + 1e-9).all()
    low, high = task.env._random_reset_space.low[3:5], task.env._random_reset_space.high[3:5]
    np.testing.assert_allclose(low, field.field.low[:2])
    np.testing.assert_allclose(high, field.field.high[:2])
    assert len(np.unique(goals, axis=0)) == 40
    task.close()
