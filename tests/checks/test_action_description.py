"""Bounds in words: what a description of an action space may say, and what is wrong."""

import math

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from promptpo.checks.description import description_problems, stated_bounds

POWER = Box(0.0, 3.0, (1,), np.float32)
CAR = Box(np.array([-1.0, 0.0]), np.array([1.0, 1.0]), dtype=np.float64)


@pytest.mark.parametrize(
    "words",
    [
        "in [0, 3]: power", "in (0, 3)", "in [0.0; 3.0]", "0 to 3 kW", "from 0 kW to 3 kW", "0..3",
        "between 0 and 3", "0 <= u <= 3", "0 ≤ u ≤ 3", "minimum 0, maximum 3", "Box(0, 3, (1,))",
        "min: 0, max: 3", "0 is off, 3 is full power", "at least 0, at most 3",
        "in [0, 3], which stands for 0 to 900 W", "in [0, 3]; 0 to 1 is gentle, for 5 to 9 minutes",
    ],
)  # fmt: skip
def test_bounds_may_be_said_in_many_ways(words):
    assert description_problems(f"An array of 1 float {words}.", POWER) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in [0, 1]: 0 is off, 3 is full power", "[0, 1]"),
        ("from 0 to 1; 3 is impossible", "[0, 1]"),
        ("+-3, 0 is off", "[-3, 3]"),
        ("in [3, 0]", "[3, 0]"),
        ("in [0, 30]; 3 heaters", "[0, 30]"),
    ],
)
def test_a_wrong_pair_is_wrong_whatever_numbers_stand_elsewhere(words, said):
    problem = f"the description says {said}, but the bounds are [0, 3]; write these"
    assert description_problems(f"An array of 1 float {words}.", POWER) == [problem]


def test_a_bound_that_nothing_names_is_lacking():
    assert description_problems("An array of 1 float, 0 is off.", POWER) == [
        "the description lacks 3 of Box(0.0, 3.0, (1,), float32)"
    ]


@pytest.mark.parametrize(
    "words",
    [
        "action[0] in [-1, 1] steers; action[1] in [0, 1] is the gas",
        "entry 0, +-1, steers; entry 1, from 0 to 1, is the gas",
        "in turn in [-1, 1], [0, 1]",
        "[-1, 1] for action[0], [0, 1] for action[1]",
        "steering in [-1, 1], gas in [0, 1]",
    ],
)
def test_entries_may_have_bounds_of_their_own(words):
    assert description_problems(f"An array of 2 floats: {words}.", CAR) == []


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            "action[0] in [0, 1] steers; action[1] in [-1, 1] is the gas",
            "the bounds of action[0] are [-1, 1], not [0, 1]",
        ),
        ("in turn in [0, 1], [-1, 1]", "the order of the bounds is [-1, 1], [0, 1]"),
        ("each in [-1, 1]", "the description says [-1, 1], but the bounds are [0, 1]"),
    ],
)
def test_bounds_of_the_wrong_entry_are_told(words, problem):
    assert description_problems(f"An array of 2 floats: {words}.", CAR)[0].startswith(problem)


def test_a_bound_that_is_one_sided_or_absent():
    half = Box(np.array([0.0, -np.inf]), np.array([np.inf, np.inf]), dtype=np.float64)
    assert description_problems("An array of 2 floats, action[0] not below 0.", half) == []
    assert description_problems("An array of 2 floats, any.", half) != []


def test_every_length_of_a_shape_is_named():
    grid = Box(-1.0, 1.0, (3, 2))
    assert description_problems("Floats of shape (3, 2), each in [-1, 1].", grid) == []
    assert "lacks 2" in description_problems("Floats in [-2, 2].", Box(-2.0, 2.0, (2,)))[0]
    assert "lacks 3" in description_problems("2 rows of floats in [-1, 1].", grid)[0]
    assert description_problems("A float in [-1, 1].", Box(-1.0, 1.0, ())) == []


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("-pi to pi", (-math.pi, math.pi)), ("[-pi/2, pi/2]", (-math.pi / 2, math.pi / 2)),
        ("[0, 2 pi]", (0.0, 2 * math.pi)), ("±1e-3", (-0.001, 0.001)), ("[-.5, 1/2]", (-0.5, 0.5)),
    ],
)  # fmt: skip
def test_numbers_may_be_fractions_and_multiples_of_pi(text, bounds):
    assert stated_bounds(text)[0].bounds == pytest.approx(bounds)


@pytest.mark.parametrize("text", ["(120, 90, 60 N m)", "shape (2, 3)", "row - 1", "1, 2 or 3"])
def test_other_numbers_are_no_bounds(text):
    assert stated_bounds(text) == []


def test_whole_numbers_are_counted():
    assert description_problems("An int: 0 left, 1 right.", Discrete(2)) == []
    assert "lacks 2 of" in description_problems("An int: 1 left, 3 right.", Discrete(3, start=1))[0]
    assert description_problems("An int from 0 to 30.", Discrete(31)) == []
    assert description_problems("Two ints of 3 and 4 values.", MultiDiscrete([3, 4])) == []
    assert description_problems("12 ints, each 0 or 1.", MultiBinary(12)) == []
