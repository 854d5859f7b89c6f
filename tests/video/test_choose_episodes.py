"""Which episodes are filmed."""

from dataclasses import replace

import pytest

from promptpo.errors import UsageError
from promptpo.types import Episode, Rollout
from promptpo.video import Options, parse_episodes
from promptpo.video.choose import pick, recorded

EPISODES = [Episode(seed, total, 10) for seed, total in enumerate([5.0, 1.0, 9.0, 7.0, 3.0])]
ALL = ("best", "median", "worst")


def seeds(chosen):
    return {label: e.seed for label, e in chosen.items()}


def test_best_median_and_worst_by_return():
    assert seeds(pick(EPISODES, ALL)) == {"best": 2, "median": 0, "worst": 1}


def test_success_counts_before_the_return():
    episodes = [Episode(0, 9.0, 5, False), Episode(1, 1.0, 5, True), Episode(2, 8.0, 5, False)]
    assert seeds(pick(episodes, ALL)) == {"best": 1, "median": 0, "worst": 2}


def test_a_failure_is_the_worst():
    episodes = [*EPISODES, Episode(9, 99.0, 0, error="ZeroDivisionError")]
    assert seeds(pick(episodes, ("worst",))) == {"worst": 9}


def test_equal_episodes_are_three_different_ones():
    assert len(set(seeds(pick([Episode(s, 500.0, 500) for s in range(4)], ALL)).values())) == 3


@pytest.mark.parametrize(("count", "labels"), [(1, ["best"]), (2, ["best", "median"])])
def test_no_episode_is_filmed_twice(count, labels):
    assert list(pick(EPISODES[:count], ALL)) == labels


def test_a_number_takes_the_first_ones():
    assert seeds(pick(EPISODES, 2)) == {"episode1": 0, "episode2": 1}


def test_names_and_numbers_are_read():
    assert parse_episodes("worst, best,worst") == ("worst", "best")
    assert parse_episodes("12") == 12


@pytest.mark.parametrize("words", ["beste", "", "best,", "0", "-1", "best,3"])
def test_other_words_are_refused(words):
    with pytest.raises(UsageError, match=r"--episodes: '.*' is neither one of best, median, worst"):
        Options(episodes=parse_episodes(words))


def test_a_record_counts_for_its_own_seeds_only():
    episodes = (Episode(4, 1.0, 10), Episode(5, 2.0, 20))
    record = Rollout("test", (4, 5), episodes)
    assert recorded(record, [4, 5]) == list(episodes)
    assert recorded(record, [4, 6]) == []
    assert recorded(replace(record, error="it failed"), [4, 5]) == []
    assert recorded(None, [4, 5]) == []
