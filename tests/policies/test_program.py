"""Programs: a text with places for numbers."""

import ast

import pytest

from promptpo.policies import Program

CUT = Program(("a = ", "\nb = ", "\n"))


def test_numbers_stand_where_it_is_cut():
    assert CUT.size == 2
    assert CUT.source((1, 2.5)) == "a = 1\nb = 2.5\n"

    program = Program.of("x = 1\n")
    assert program.size == 0
    assert program.source() == "x = 1\n"

    assert CUT.source((1.0, 2.0)) == CUT.source([1.0, 2.0])


@pytest.mark.parametrize("constants", [(), (1,), (1, 2, 3)])
def test_a_wrong_count_is_refused(constants):
    with pytest.raises(ValueError, match=f"takes 2 constants, not {len(constants)}"):
        CUT.source(constants)


@pytest.mark.parametrize("number", [0.1 + 0.2, -1e-300, 1e22, 5e-324, -0.0, 2**53 + 1, -7])
def test_a_number_is_read_back_to_the_last_bit(number):
    value = ast.literal_eval(ast.parse(CUT.source((number, 0))).body[0].value)
    assert repr(value) == repr(number)


def test_numpy_s_numbers_are_plain_literals():
    import numpy as np

    assert CUT.source((np.float64(0.5), np.int64(3))) == "a = 0.5\nb = 3.0\n"
