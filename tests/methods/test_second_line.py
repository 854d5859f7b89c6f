"""Two lines of attack, and who of a round is asked for what."""

import numpy as np
import pytest
from fake_services import plays, services
from rollouts import rollout

from promptpo.methods.describing import behaviour, most_different, promising
from promptpo.types import Candidate, Key, Trajectory

#: Stands and scores safely; falls, but gains more while it lasts; falls, and moves otherwise.
SAFE = plays(10, length="10")
FAST = plays(4, length="2", moves=1)
ODD = plays(5, length="2", moves=9)


def candidate(name, *returns, lengths=None, source=None):
    run = rollout(returns, lengths=lengths)
    return Candidate(Key(1, name), source or f"policy {name}", run)


BEST = candidate(1, 10.0, 12.0, lengths=(10, 10))


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (candidate(2, 1.0, 11.5, lengths=(10, 10)), True),  # one episode above the best one's mean
        (candidate(2, 3.0, 3.0, lengths=(2, 2)), True),  # more in a step
        (candidate(2, 9.0, 10.5, lengths=(10, 10)), False),
        (candidate(2, 11.0, 13.0, source=BEST.source), False),
        (Candidate(Key(1, 2), None, error="no code"), False),
        (Candidate(Key(1, 2), "policy", rollout((99.0,)), error="it raised"), False),
    ],
)
def test_promising_is_what_shows_something_that_the_best_has_not(other, found):
    assert promising(other, BEST) is found


def moving(action, speed=0.0):
    """An episode with this action at every step, whose observation moves so fast."""
    seen = np.arange(4.0)[:, None] * speed
    return [Trajectory(seen, np.full((3, 1), action), np.zeros(3), 1, False, True, None)]


def test_the_most_different_is_furthest_in_how_it_moves_whatever_the_unit():
    near, far = candidate(2, 1.0), candidate(3, 1.0)
    episodes = {BEST.name: moving(0.0), near.name: moving(0.1), far.name: moving(0.9)}
    assert most_different(BEST, [near, far], episodes) == far
    assert most_different(BEST, [far, near], episodes) == far

    quick, other = candidate(2, 1.0), candidate(3, 1.0)
    for unit in (1, 1000):
        episodes = {
            BEST.name: moving(0.0),
            quick.name: moving(0.0, speed=0.1 * unit),
            other.name: moving(0.9, speed=0.1 * unit),
        }
        assert most_different(BEST, [quick, other], episodes) == other

    assert most_different(BEST, [], {}) is None

    assert behaviour(moving(2.0, speed=3.0)).tolist() == [6.0, 3.0, 2.0, 0.0]


# In the loop


def test_the_most_different_of_the_promising_is_told_in_full():
    fake = services([SAFE, FAST, ODD], [SAFE, SAFE, SAFE])
    first = fake.search().rounds[0]
    assert [note.text for note in first.notes if note.title == "Second line of attack"] == [
        "r01_c03"
    ]
    assert "A second line of attack, r01_c03" in fake.prompt(2, 1, role="policy")
    (odd,) = (c for c in first.candidates if c.name == "r01_c03")
    assert len(odd.notes) == 2  # its worst and its best episode


def test_without_a_promising_policy_or_the_option_there_is_no_second_line():
    fake = services([plays(10), plays(3)], [plays(1), plays(2)])
    fake.search()
    assert "second line" not in fake.prompt(2, 2, role="policy")

    fake = services([SAFE, FAST], [SAFE, SAFE], second_line=False)
    fake.search()
    assert "second line" not in fake.prompt(2, 2, role="policy")

    fake = services([SAFE, FAST], [SAFE])
    fake.allowed[2] = 1
    fake.search()
    assert "go on from the second" not in fake.prompt(2, 1, role="policy")


def test_it_may_come_from_any_earlier_round():
    fake = services([SAFE, FAST], [plays(1, length="10")] * 2, [plays(2, length="10")] * 2)
    fake.search()
    assert "A second line of attack, r01_c02" in fake.prompt(3, 1, role="policy")


def test_the_last_candidate_is_asked_to_go_on_from_it_and_all_read_the_reflection():
    fake = services([SAFE, FAST, FAST], [SAFE, SAFE, SAFE])
    fake.search()
    asked = {i: "go on from the second" in fake.prompt(2, i, role="policy") for i in (1, 2, 3)}
    assert asked == {1: False, 2: False, 3: True}
    assert FAST.splitlines()[1].strip() in fake.prompt(2, 3, role="policy").rpartition("It is:")[2]
    assert all("Lessons for round 2." in fake.prompt(2, i, role="policy") for i in (1, 2, 3))
