"""The classic specs: directions and signs are what their words say, optima are exact."""

import numpy as np
import pytest

from env_specs._shared.tabular import start_value
from promptpo.spec import Task, load_spec


def test_the_stated_optimum_is_that_of_value_iteration():
    for name in ("frozen_lake", "cliff_walking", "taxi"):
        spec = load_spec(name)
        value = start_value(spec.make().unwrapped, spec.horizon)
        assert spec.reference_scores["optimum"].mean_return == pytest.approx(value, abs=0.005)


def test_a_slippery_move_leads_where_it_says_or_to_a_side():
    for name, columns, start, targets in (
        # FrozenLake's cell 9: west, south, east, north. The cliff's 17: north, east, south, west.
        ("frozen_lake", 4, 9, [(2, 0), (3, 1), (2, 2), (1, 1)]),
        ("cliff_walking", 12, 17, [(0, 5), (1, 6), (2, 5), (1, 4)]),
    ):
        table = load_spec(name).make().unwrapped.P
        for action, target in enumerate(targets):
            reached = [divmod(int(outcome[1]), columns) for outcome in table[start][action]]
            assert reached[1] == target
            assert len(set(reached)) == 3


def test_the_map_of_frozen_lake_is_the_described_one():
    spec = load_spec("frozen_lake")
    rows = ["".join(cell.decode() for cell in row) for row in spec.make().unwrapped.desc]
    assert ", ".join(rows) in " ".join(spec.description.split())


def test_the_walls_of_the_taxi_are_the_described_ones():
    env = load_spec("taxi").make().unwrapped
    walls = {
        (row, column)
        for row in range(5)
        for column in range(4)
        if env.P[env.encode(row, column, 0, 1)][2][0][1] == env.encode(row, column, 0, 1)
    }
    assert walls == {(0, 1), (1, 1), (3, 0), (4, 0), (3, 2), (4, 2)}
    for action, target in enumerate([(3, 1), (1, 1), (2, 2), (2, 0)]):
        assert env.P[env.encode(2, 1, 0, 1)][action][0][1] == env.encode(*target, 0, 1)
    assert env.locs == [(0, 0), (0, 4), (4, 0), (4, 3)]


@pytest.mark.parametrize("push", [-1.0, 1.0])
@pytest.mark.parametrize("name", ["mountain_car", "mountain_car_continuous"])
def test_cars_go_where_they_are_pushed(name, push):
    task = Task.open(load_spec(name))
    task.reset(0)
    task.env.state = np.array([-np.pi / 6, 0.0])  # the bottom: no slope
    action = push + 1 if name == "mountain_car" else push
    position, velocity = task.step(np.array([action]))[0]
    assert np.sign(velocity) == push
    assert np.sign(position + np.pi / 6) == push


def test_the_signs_of_the_pendulum():
    task = Task.open(load_spec("pendulum"))
    task.reset(0)
    task.env.state = np.array([0.0, 0.0])
    cos_angle, sin_angle, velocity = task.step(np.array([2.0]))[0]
    assert cos_angle > 0.9, "angle 0 is upright"
    # The environment draws its rod at angle + pi / 2, anticlockwise from the right.
    assert velocity > 0
    assert np.cos(np.arctan2(sin_angle, cos_angle) + np.pi / 2) < 0, "tilted to the left"


def test_the_signs_of_the_acrobot():
    task = Task.open(load_spec("acrobot"))
    task.reset(0)
    task.env.state = np.zeros(4)
    flat = task.step(np.array([2.0]))[0]
    assert flat[3] > 0, "a positive torque bends the chain anticlockwise"
    assert flat[5] > 0
    # Hanging at rest, anticlockwise of straight down, gravity pulls back.
    task.env.state = np.array([0.5, 0.0, 0.0, 0.0])
    assert task.step(np.array([1.0]))[0][4] < 0


def test_hands_of_blackjack_are_compared_as_described():
    spec = load_spec("blackjack")
    assert spec.reward_inputs({"player": [1, 10], "dealer": [7, 7, 7]}) == {"outcome": 1}
    assert spec.reward_inputs({"player": [1, 10], "dealer": [10, 1]}) == {"outcome": 0}
    assert spec.reward_inputs({"player": [10, 9], "dealer": [10, 6, 10]}) == {"outcome": 1}
    assert spec.reward_inputs({"player": [10, 7], "dealer": [1, 8]}) == {"outcome": -1}
