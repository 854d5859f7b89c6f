"""Parameters as models read and write them."""

import random

import pytest

from promptpo.policies import Actions, Vectors, parametric_policy
from promptpo.spec import load_spec

CAR = parametric_policy(
    load_spec("mountain_car_continuous"), Actions((1,), (-1.0,), (1.0,)), scaled=False
)
NIM = parametric_policy(load_spec("nim"), Actions(counts=(3,), starts=(1,)))
PAIR = parametric_policy(load_spec("nim"), Actions((2,), counts=(2, 3), starts=(0, 7)))
NUMBERS = Vectors(CAR, -6.0, 6.0, 1)
TABLE = Vectors(NIM, -6.0, 6.0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "params[0]: 1.0, params[1]: -2.5, params[2]: 3",
        "**params[0]** = 1\n`params[1]`: \N{MINUS SIGN}2.5\n- params[ 2 ]: +3.0.",
        "Params? No: params = [1, -2.5, 3.0]",
        "params[0]: 9, params[1]: 9, params[2]: 9. Or params[0]: 1; params[1]: -2.5; params[2]: 3",
        "params[2]: 9 was bad.\nparams[0]: 1 params[1]: -25e-1 params[2]: 3\nSo params[1]: 4 goes.",
    ],
)
def test_the_last_complete_set_counts(text):
    assert NUMBERS.read(text) == (1.0, -2.5, 3.0)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no parameters found; end with all of them: params[0]: 0.0, params[1]: 0.0"),
        ("params[0]: 1, params[2]: 2", "is not complete: without params[1]"),
        ("params = [1, 2]", "is not complete: without params[2]"),
        ("params = [1, 2, 3, 4]", "there is no params[3]; the last one is params[2]"),
        ("params[0]: 1, params[1]: nan, params[2]: 2", "without params[1]"),
        ("params = [1, 1e999, 3]", "params[1] is no finite number"),
    ],
)
def test_what_is_no_complete_set_is_told(text, complaint):
    with pytest.raises(ValueError, match="param") as raised:
        NUMBERS.read(text)
    assert complaint in str(raised.value)
    for action in ("0", "4", "1.5"):  # there is no such action
        with pytest.raises(ValueError, match="must be a whole number from 1 to 3"):
            TABLE.read(f"params = [{', '.join(['1'] * 10)}, {action}]")


def test_numbers_are_rounded_and_clipped_and_stand_in_the_source_as_literals():
    assert NUMBERS.fitted((6.04, -7.0, -0.04)) == ((6.0, -6.0, 0.0), 1)
    assert str(NUMBERS.fitted((0, 0, -0.04))[0][2]) == "0.0"

    assert "[1.0, -2.5, 3.0]" in NUMBERS.source((1.0, -2.5, 3.0))


@pytest.mark.parametrize("space", [NUMBERS, TABLE, Vectors(PAIR, -6.0, 6.0, 1)])
def test_what_is_drawn_is_shown_as_it_is_read(space):
    drawn = space.draw(random.Random(1), 3.0)
    assert space.read(space.shown(drawn)) == drawn
    assert space.draw(random.Random(1), 3.0) == drawn
    assert "class Policy" in space.source(drawn)


def test_what_is_allowed_is_told_as_the_environment_has_it():
    assert TABLE.allowed == "a whole number from 1 to 3"
    assert TABLE.source((1.0, 3.0, *[2.0] * 9)).count("(0,),\n    (2,),\n    (1,),") == 1

    words = Vectors(PAIR, -6.0, 6.0, 1).allowed
    assert words.endswith("0 to 1 where i % 2 is 0, 7 to 9 where i % 2 is 1")

    assert NUMBERS.allowed == "a number from -6.0 to 6.0 with 1 decimal place"


def test_what_parameters_mean_is_told_with_scaling_where_there_is_one():
    scaled = parametric_policy(
        load_spec("mountain_car_continuous"), Actions((1,), (-1.0,), (1.0,)), scaled=True
    )
    for policy, words in (
        (CAR, "clipped to the action's bounds"),
        (CAR, "x[0] position, x[1] velocity"),
        (NIM, "s = int(obs.sticks)"),
        (PAIR, "params[2 * s + j] is action[j]"),
        (scaled, "less [-0.3, 0], divided by [0.9, 0.07]"),
    ):
        assert words in policy.meaning
    assert "MIDDLE" in scaled.program.source((0, 0, 0))
    assert "MIDDLE" not in CAR.program.source((0, 0, 0))
