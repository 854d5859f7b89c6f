"""How jobs are divided among workers, and how many episodes are played at the same time."""

import itertools

import pytest

from promptpo.rollout.jobs import BASE, MOST, PlayJob, PlayRun, best_width, divided, joined
from promptpo.types import Episode

SEEDS = tuple(range(100, 108))


@pytest.mark.parametrize(("count", "groups"), [(8, 3), (8, 8), (8, 20), (5, 2)])
def test_parts_are_of_nearly_equal_size_and_know_their_numbers(count, groups):
    parts = divided(PlayJob("", SEEDS[:count], keep=SEEDS[1:3]), groups)
    sizes = [len(part.seeds) for part in parts]
    assert sum((part.seeds for part in parts), ()) == SEEDS[:count]
    assert max(sizes) - min(sizes) <= 1
    assert [part.first for part in parts] == [0, *itertools.accumulate(sizes)][:-1]
    assert sum((part.keep for part in parts), ()) == SEEDS[1:3]


@pytest.mark.parametrize("groups", [1, 2, 3, 9])
def test_episodes_on_one_object_stay_together(groups):
    seeds = tuple(range(12, 26))
    parts = divided(PlayJob("", seeds, life=4, keep=seeds[3:]), groups)
    assert sum((part.seeds for part in parts), ()) == seeds
    assert len(parts) == min(groups, 4)
    assert all(part.seeds[0] % 4 == 0 for part in parts)
    assert [seeds[part.first] for part in parts] == [part.seeds[0] for part in parts]
    assert sum((part.keep for part in parts), ()) == seeds[3:]


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
