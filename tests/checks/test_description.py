"""Descriptions of actions and data sheets, held against the environment."""

import math

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from promptpo.checks.description import description_problems, stated_bounds

POWER = Box(0.0, 3.0, (1,), np.float32)
CAR = Box(np.array([-1.0, 0.0]), np.array([1.0, 1.0]), dtype=np.float64)
GRID = Box(-1.0, 1.0, (3, 2))
HALF = Box(np.array([0.0, -np.inf]), np.array([np.inf, np.inf]), dtype=np.float64)

#: Space | descriptions that state its size and bounds, one a line.
RIGHT = [
    (
        POWER,
        """An array of 1 float in [0, 3]: power
        An array of 1 float in (0, 3)
        An array of 1 float in [0.0; 3.0]
        An array of 1 float 0 to 3 kW
        An array of 1 float from 0 kW to 3 kW
        An array of 1 float 0..3
        An array of 1 float between 0 and 3
        An array of 1 float 0 <= u <= 3
        An array of 1 float 0 ≤ u ≤ 3
        An array of 1 float minimum 0, maximum 3
        An array of 1 float Box(0, 3, (1,))
        An array of 1 float min: 0, max: 3
        An array of 1 float 0 is off, 3 is full power
        An array of 1 float at least 0, at most 3
        An array of 1 float in [0, 3], which stands for 0 to 900 W
        An array of 1 float in [0, 3]; 0 to 1 is gentle, for 5 to 9 minutes""",
    ),
    (
        CAR,
        """An array of 2 floats: action[0] in [-1, 1] steers; action[1] in [0, 1] is the gas
        An array of 2 floats: entry 0, +-1, steers; entry 1, from 0 to 1, is the gas
        An array of 2 floats: in turn in [-1, 1], [0, 1]
        An array of 2 floats: [-1, 1] for action[0], [0, 1] for action[1]
        An array of 2 floats: steering in [-1, 1], gas in [0, 1]""",
    ),
    (HALF, "An array of 2 floats, action[0] not below 0."),
    (GRID, "Floats of shape (3, 2), each in [-1, 1]."),
    (Box(-1.0, 1.0, ()), "A float in [-1, 1]."),
    (Discrete(2), "An int: 0 left, 1 right."),
    (Discrete(31), "An int from 0 to 30."),
    (MultiDiscrete([3, 4]), "Two ints of 3 and 4 values."),
    (MultiBinary(12), "12 ints, each 0 or 1."),
]
SAYS = "the description says {}, but the bounds are [0, 3]; write these"
WRONG = [
    (POWER, "1 float in [0, 1]: 0 is off, 3 is full power", SAYS.format("[0, 1]")),
    (POWER, "1 float from 0 to 1; 3 is impossible", SAYS.format("[0, 1]")),
    (POWER, "1 float +-3, 0 is off", SAYS.format("[-3, 3]")),
    (POWER, "1 float in [3, 0]", SAYS.format("[3, 0]")),
    (POWER, "1 float in [0, 30]; 3 heaters", SAYS.format("[0, 30]")),
    (POWER, "1 float, 0 is off.", "the description lacks 3 of Box(0.0, 3.0, (1,), float32)"),
    (
        CAR,
        "2 floats: action[0] in [0, 1] steers; action[1] in [-1, 1] is the gas",
        "the bounds of action[0] are [-1, 1], not [0, 1]",
    ),
    (CAR, "2 floats in turn in [0, 1], [-1, 1]", "the order of the bounds is [-1, 1], [0, 1]"),
    (CAR, "2 floats each in [-1, 1]", "the description says [-1, 1], but the bounds are [0, 1]"),
    (HALF, "An array of 2 floats, any.", "the description lacks 0"),
    (Box(-2.0, 2.0, (2,)), "Floats in [-2, 2].", "the description lacks 2"),
    (GRID, "2 rows of floats in [-1, 1].", "the description lacks 3"),
    (Discrete(3, start=1), "An int: 1 left, 3 right.", "the description lacks 2 of"),
]


def test_bounds_may_be_said_in_many_ways_and_wrong_ones_are_refused():
    for space, texts in RIGHT:
        for text in texts.splitlines():
            assert description_problems(text.strip(), space) == [], text
    for space, text, problem in WRONG:
        assert description_problems(text, space)[0].startswith(problem), text


def test_numbers_may_be_fractions_and_multiples_of_pi_and_others_are_no_bounds():
    for text, bounds in {
        "-pi to pi": (-math.pi, math.pi),
        "[-pi/2, pi/2]": (-math.pi / 2, math.pi / 2),
        "[0, 2 pi]": (0.0, 2 * math.pi),
        "±1e-3": (-0.001, 0.001),
        "[-.5, 1/2]": (-0.5, 0.5),
    }.items():
        assert stated_bounds(text)[0].bounds == pytest.approx(bounds)
    for text in ("(120, 90, 60 N m)", "shape (2, 3)", "row - 1", "1, 2 or 3"):
        assert stated_bounds(text) == []


# --- Facts ----------------------------------------------------------------------------------------

STATED = 'FACTS = """\nThe line is 42 m long.\nA step takes 1 s.\n"""\n\n\ndef make():'
MEASURED = "lambda env: f'The line is {42 if env else 0} m long.\\nA step takes 1 s.'"


@pytest.fixture
def facts(verdicts):
    """Check the spec with facts and measured facts."""

    def check(facts="FACTS", measured=MEASURED, of="facts"):
        parts = f"    make=make,\n    facts={facts},\n    measured_facts={measured},"
        return verdicts(("def make():", STATED), ("    make=make,", parts))[of]

    return check


def test_facts_that_are_measured_so_pass(facts):
    finding = facts()
    assert (finding.verdict, finding.detail) == ("ok", "2 lines, as the environment has them")
    assert facts(facts="''").more == ("The line is 42 m long.", "A step takes 1 s.")
    finding = facts(measured="None")
    assert finding.verdict == "note"
    assert "measured_facts" in finding.detail


@pytest.mark.slow
def test_the_first_line_that_differs_is_shown_with_what_to_write(facts):
    for measured, line, *more in (
        (MEASURED.replace("42", "40"), 1, "The line is 42 m long.", "The line is 40 m long."),
        ("lambda env: 'The line is 42 m long.'", 2, "A step takes 1 s.", "(it ends before)"),
    ):
        finding = facts(measured=measured)
        assert finding.failed
        assert finding.detail == f"line {line} of facts is not what the environment says"
        assert [words.partition(": ")[2].strip() for words in finding.more[:2]] == more


def test_a_private_phrase_may_not_stand_in_the_facts_either(facts):
    finding = facts(facts="'An earthquake shakes it.'", measured="None", of="prompt")
    assert "contains 'earthquake'" in finding.detail
