"""A task and its twins stand side by side; without twins nothing moves."""

from promptpo.common.text import side_by_side

A, B, TWIN_A, OTHER_A = ("a", ""), ("b", ""), ("twin_a", "a"), ("twin_a_3", "a")


def ordered(*tasks):
    found = side_by_side(enumerate(tasks), lambda item: item[1])
    return [(task[0], number) for number, task in found]


def test_without_twins_everything_stays():
    assert ordered(B, A, B, A) == [("b", 0), ("a", 1), ("b", 2), ("a", 3)]


def test_those_of_a_family_stand_together_the_original_first():
    assert ordered(B, OTHER_A, TWIN_A, B, A, TWIN_A) == [
        ("b", 0), ("a", 4), ("twin_a", 2), ("twin_a", 5), ("twin_a_3", 1), ("b", 3),
    ]  # fmt: skip


def test_twins_without_their_original_stand_together_too():
    assert ordered(TWIN_A, B, TWIN_A) == [("twin_a", 0), ("twin_a", 2), ("b", 1)]
