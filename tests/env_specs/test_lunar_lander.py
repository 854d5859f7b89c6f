"""LunarLander: signs, sides and ends are what the words of the spec say."""

import numpy as np
import pytest

from promptpo.spec import Task, layout, load_spec


@pytest.fixture
def task():
    opened = Task.open(load_spec("lunar_lander"))
    opened.reset(0)
    yield opened
    opened.close()


def fields(task, flat):
    return {item.name: float(flat[item.start]) for item in layout(task.spec.observation)}


def pushed(task, action):
    """What ten steps of an action make of a lander at rest in the air."""
    task.reset(0)
    lander = task.env.lander
    lander.linearVelocity, lander.angle, lander.angularVelocity = (0, 0), 0, 0
    for _ in range(10):
        flat = task.step(np.array([float(action)]))[0]
    return fields(task, flat)


def finished(task, seed, act):
    task.reset(seed)
    over = False
    while not over:
        flat, reward, over, _, success = task.step(np.array([float(act(task.raw))]))
    return fields(task, flat), reward, success


def test_engines_push_and_turn_as_described(task):
    idle, left, main, right = (pushed(task, action) for action in range(4))
    assert left["velocity_x"] < idle["velocity_x"] - 0.05
    assert right["velocity_x"] > idle["velocity_x"] + 0.05
    assert left["angle"] > 0.05 > -0.05 > right["angle"]
    assert left["spin"] > 0 > right["spin"]
    assert main["velocity_y"] > idle["velocity_y"] + 0.3
    assert idle["velocity_y"] < -0.2, "gravity"


def test_a_positive_angle_leans_to_the_left(task):
    task.env.lander.angle = 0.3
    top = task.env.lander.GetWorldVector((0, 1))
    assert top[0] < 0


def test_units_are_the_stated_ones(task):
    lander = task.env.lander
    seen = fields(task, task.step(np.array([0.0]))[0])
    assert seen["x"] * 10 == pytest.approx(lander.position.x - 10, abs=1e-4)
    assert seen["velocity_x"] * 5 == pytest.approx(lander.linearVelocity.x, abs=1e-4)
    assert seen["velocity_y"] * 7.5 == pytest.approx(lander.linearVelocity.y, abs=1e-4)
    assert seen["spin"] * 2.5 == pytest.approx(lander.angularVelocity, abs=1e-4)
    # 0.6 m is what the legs hold a lander that stands above the ground.
    assert seen["y"] * 20 / 3 == pytest.approx(
        lander.position.y - task.env.helipad_y - 0.6, abs=1e-4
    )


def test_the_pad_is_where_the_description_says(task):
    assert (task.env.helipad_x1, task.env.helipad_x2) == (8.0, 12.0)
    task.reset(1)
    height = task.env.lander.position.y - task.env.helipad_y
    assert height == pytest.approx(10.0, abs=0.2)


def test_the_right_leg_is_the_one_on_the_right(task):
    right, left = task.env.legs
    assert right.position.x > task.env.lander.position.x > left.position.x
    right.ground_contact = True
    seen = fields(task, task.step(np.array([0.0]))[0])
    assert (seen["right_leg"], seen["left_leg"]) == (1.0, 0.0)


def test_a_fall_is_a_crash(task):
    seen, reward, success = finished(task, 0, lambda raw: 0)
    assert (seen["crashed"], seen["at_rest"], reward, success) == (1.0, 0.0, -100.0, False)


def test_a_lander_that_leaves_the_world_has_lost(task):
    task.env.lander.linearVelocity = (40, 0)
    over = False
    while not over:
        flat, reward, over, _, success = task.step(np.array([0.0]))
    seen = fields(task, flat)
    assert seen["x"] >= 1.0
    assert (seen["crashed"], reward, success) == (0.0, -100.0, False)
