"""Scores, differences and sources in words."""

import pytest
from rollouts import rollout

from promptpo.prompts.words import (
    lengths_words,
    paired_words,
    source_difference,
    what_differs,
    with_error,
)
from promptpo.racing import Difference, Paired

POLICY = '''class Policy:
    """Leans."""

    def act(self, obs):
        a = 1
        b = 2
        c = 3
        return a
'''


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((1.0,), "1"),
        ((2.0, 2.0), "2"),
        ((1.0, 3.0), "2 ± 1"),
        ((1544.4, 1600.0, 1500.0), "1548.1 ± 29"),
        ((0.00012, 0.00014), "0.00013 ± 1e-05"),
    ],
)
def test_a_mean_has_its_standard_error_where_there_is_one(values, words):
    assert with_error(values) == words


def paired(mean, error, count=9, successes=None):
    return Paired(Difference(mean, error, count), successes)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (paired(120.0, 30.0), "better (+120 ± 30)"),
        (paired(-120.0, 30.0), "worse (-120 ± 30)"),
        (paired(20.0, 30.0), "not told apart (+20 ± 30)"),
        (paired(0.0, 0.0), "as the best before it"),
        (
            paired(-5.0, 1.0, successes=Difference(0.5, 0.1, 9)),
            "better (success +0.5 ± 0.1, -5 ± 1)",
        ),
    ],
)
def test_a_paired_difference_is_better_or_worse_beyond_noise(told, words):
    assert paired_words(told) == words


def test_lengths_say_how_many_ended_early():
    run = rollout((1.0,) * 3, lengths=(10, 3, 7))
    assert lengths_words(run, 10) == "3-10 steps (2 ended early)"
    assert lengths_words(rollout((1.0,), lengths=(10,)), 10) == "10 steps"


def test_a_difference_of_sources_is_the_changed_lines_without_docstrings():
    assert source_difference(POLICY, POLICY.replace("b = 2", "b = 9")) == (
        "-        b = 2\n+        b = 9"
    )

    assert source_difference(POLICY, POLICY.replace("Leans.", "Falls.")) == ""

    other = "\n".join(f"line_{i} = {i}" for i in range(9))
    assert source_difference(POLICY, other) == ""

    old = "\n".join(f"some_quite_long_name_{i} = {i}" for i in range(100))
    new = old.replace(" = 33", " = 30")
    changed = old.replace("name_4", "other_4").replace("name_5", "other_5")
    assert "more lines" not in source_difference(old, new)
    assert source_difference(old, changed).splitlines()[-1].startswith("... ")


def test_of_two_texts_only_the_new_statements_are_told():
    first = "It leans left. Speed 3; height 2.\nIt falls."
    assert what_differs("It leans left. Speed 4; height 2.\nIt stands.", first) == (
        "Speed 4; It stands."
    )
    assert what_differs(first, first) == "(as above)"
