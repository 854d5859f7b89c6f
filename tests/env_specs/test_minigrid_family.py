"""MiniGrid's tasks: the view, the mission and the reward are what the specs say."""

import numpy as np
import pytest

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.spec import Task, layout, load_spec

pytest.importorskip("minigrid")

WALL, DOOR, GOAL = 2, 4, 8


def open_task(member):
    return Task.open(load_spec(f"minigrid:{member}"))


def fields_of(task, flat):
    fields = layout(task.spec.observation)
    return {item.name: flat[item.slice].reshape(item.shape) for item in fields}


@pytest.mark.slow
@pytest.mark.parametrize("member", ["MiniGrid-Empty-5x5-v0", "MiniGrid-GoToDoor-5x5-v0"])
def test_a_member_passes_the_quick_check(member):
    spec = load_spec(f"minigrid:{member}")
    with Replays([spec.ref]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []


def test_rows_and_columns_of_the_view_are_as_described():
    task = open_task("MiniGrid-Empty-5x5-v0")
    seen = fields_of(task, task.reset(0))  # at the top left, looking right; the goal bottom right
    view = seen["view_object"]
    assert seen["direction"] == 0
    assert view[6, 2] == WALL, "on the left of one who looks right is the upper wall"
    assert (view[4:7, 3] == 1).all(), "ahead it is empty"
    assert view[3, 3] == WALL, "and then there is the right wall"
    assert view[4, 5] == GOAL, "two ahead and two to the right"


def test_walking_to_the_goal_pays_what_the_reward_function_says():
    task = open_task("MiniGrid-Empty-5x5-v0")
    task.reset(0)
    for action in (2, 2, 1, 2):
        flat, reward, terminated, _, success = task.step(np.array([float(action)]))
        assert (reward, terminated, success) == (0.0, False, False)
    flat, reward, terminated, _, success = task.step(np.array([2.0]))
    assert (terminated, success) == (True, True)
    assert fields_of(task, flat)["steps"] == 5
    assert reward == pytest.approx(1 - 0.9 * 5 / 100)
    assert task.spec.horizon == 100


def test_the_codes_of_a_mission_spell_it():
    task = open_task("MiniGrid-LockedRoom-v0")
    doc = next(f for f in layout(task.spec.observation) if f.name == "mission").field.doc
    colors = doc.partition("<0>: ")[2].partition(";")[0]
    names = dict(pair.split() for pair in colors.split(", "))
    for seed in range(5):
        key, room, door = fields_of(task, task.reset(seed))["mission"]
        key, room, door = (names[str(int(code))] for code in (key, room, door))
        expected = f"get the {key} key from the {room} room, unlock the {door} door"
        assert task.raw["mission"].startswith(expected)


def test_a_collision_with_an_obstacle_costs_1():
    task = open_task("MiniGrid-Dynamic-Obstacles-5x5-v0")
    for seed in range(50):
        task.reset(seed)
        terminated = False
        while not terminated:
            _, reward, terminated, truncated, _ = task.step(np.array([2.0]))
            if truncated:
                break
        if terminated and reward < 0:
            assert task.spec.reward_inputs(task.info) == {"accomplished": False, "collided": True}
            assert reward == -1.0
            return
    pytest.fail("no collision in 50 episodes of walking ahead")


def test_what_walls_hide_is_stated():
    for member, words, hides in (
        ("MiniGrid-Empty-5x5-v0", "Walls hide nothing", False),
        ("MiniGrid-DoorKey-5x5-v0", "Cells behind walls and closed doors are unseen", True),
    ):
        task = open_task(member)
        assert words in " ".join(task.spec.observation.__doc__.split())
        views = [fields_of(task, task.reset(seed))["view_object"] for seed in range(10)]
        assert any((view == 0).any() for view in views) == hides


def test_what_ends_an_episode_without_success_is_stated():
    for member, action, words in (
        ("MiniGrid-GoToDoor-5x5-v0", 5, "on action 5"),
        ("MiniGrid-GoToObject-6x6-N2-v0", 5, "on action 5"),
        ("MiniGrid-GoToObject-6x6-N2-v0", 6, "on action 6 anywhere but beside the object"),
    ):
        task, successes = open_task(member), []
        assert words in task.spec.description
        for seed in range(20):
            task.reset(seed)
            _, _, terminated, _, success = task.step(np.array([float(action)]))
            assert terminated
            successes.append(success)
        assert not all(successes)
