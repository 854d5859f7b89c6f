"""How jobs are divided among workers, and how many episodes are played at the same time."""

import itertools

import pytest

from promptpo.rollout.jobs import BASE, MOST, PlayJob, PlayRun, best_width, divided, joined
from promptpo.types import Episode


@pytest.mark.parametrize(
    ("count", "life", "groups"),
    [(8, 1, 3), (8, 1, 8), (8, 1, 20), (5, 1, 2), (14, 4, 1), (14, 4, 2), (14, 4, 3), (14, 4, 9)],
)
def test_parts_are_of_nearly_equal_size_and_hold_whole_lives(count, life, groups):
    seeds = tuple(range(100, 100 + count))
    parts = divided(PlayJob("", seeds, life=life, keep=seeds[1:3]), groups)
    sizes = [len(part.seeds) for part in parts]
    assert sum((part.seeds for part in parts), ()) == seeds
    assert len(parts) == min(groups, -(-count // life))
    assert all(part.seeds[0] % life == 0 for part in parts)
    assert max(sizes) - min(sizes) <= life + (life > 1)
    assert [part.first for part in parts] == [0, *itertools.accumulate(sizes)][:-1]
    assert sum((part.keep for part in parts), ()) == seeds[1:3]


def run(seed, error=None, kind=None):
    return PlayRun((Episode(seed, 1.0, 2, None, error),), 2, (1,), "x", error, kind)


def test_the_first_failure_in_the_seeds_order_is_that_of_the_whole():
    whole = joined([run(1), run(2, "bad", "exception"), run(3, "slow", "timeout")])
    assert (whole.error, whole.error_kind) == ("bad", "exception")
    assert [result.seed for result in whole.results] == [1, 2, 3]
    assert (whole.steps, whole.clipped, whole.output) == (6, (1, 1, 1), "xxx")


@pytest.mark.parametrize(
    ("name", "opened", "opening", "horizon", "width"),
    [
        ("CartPole", 5, 0.0002, 500, MOST),
        ("HalfCheetah", 5, 0.02, 1000, 10),
        ("reach", 5, 0.4, 500, BASE),
        ("reach, opened before", 12, 0.4, 500, 12),
    ],
)
def test_environments_that_cost_more_than_they_save_are_not_opened(
    name, opened, opening, horizon, width
):
    assert best_width(50, opened, opening, horizon) == width
    assert best_width(3, opened, opening, horizon) == 3
    assert best_width(1000, opened, opening, horizon) <= MOST
