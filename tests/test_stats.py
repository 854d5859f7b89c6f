"""Confidence intervals against scipy's, against simulation, and at their edges."""

import math
from typing import Any

import numpy as np
import pytest

from promptpo.stats import Interval, mean_interval, success_interval, worst_tenth


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (0, 50), (50, 50), (1, 50), (49, 50), (17, 50), (3, 7)]
)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_agrees_with_scipy(
    scipy_stats: Any, successes: int, trials: int, level: float
) -> None:
    ours = success_interval(successes, trials, level)
    theirs = scipy_stats.binomtest(successes, trials).proportion_ci(level, method="wilson")
    assert ours is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_perfect_success_still_leaves_doubt() -> None:
    interval = success_interval(50, 50)
    assert interval is not None
    assert interval.high == 1.0
    assert 0.92 < interval.low < 0.94


def test_no_trials_give_no_interval() -> None:
    assert success_interval(0, 0) is None


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="trials"):
        success_interval(successes, trials)


def test_bootstrap_agrees_with_scipy(scipy_stats: Any) -> None:
    sample = np.random.default_rng(3).exponential(100.0, size=40)
    ours = mean_interval(sample.tolist(), resamples=20_000)
    theirs = scipy_stats.bootstrap(
        (sample,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(9)
    ).confidence_interval
    assert ours is not None
    spread = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=0.03 * spread)
    assert ours.high == pytest.approx(theirs.high, abs=0.03 * spread)


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(300):
        interval = mean_interval(rng.normal(5.0, 2.0, size=50).tolist(), resamples=500)
        assert interval is not None
        hits += interval.low <= 5.0 <= interval.high
    assert 0.90 <= hits / 300 <= 0.98


def test_bootstrap_is_reproducible() -> None:
    values = [1.0, 5.0, 2.5, 9.0]
    assert mean_interval(values) == mean_interval(values)


def test_chunks_of_a_large_sample_make_one_bootstrap() -> None:
    values = np.random.default_rng(1).normal(size=300_000)
    interval = mean_interval(values.tolist(), resamples=40)
    assert interval is not None
    standard_error = values.std() / math.sqrt(values.size)
    assert 2 * standard_error < interval.high - interval.low < 6 * standard_error


@pytest.mark.parametrize("values", [[], [3.0], [1.0, math.nan], [1.0, math.inf]])
def test_a_sample_that_cannot_tell_has_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_equal_values_have_no_spread() -> None:
    assert mean_interval([500.0] * 50) == Interval(500.0, 500.0)


@pytest.mark.parametrize("level", [0.0, 1.0, -1.0, 95.0])
def test_a_level_that_is_no_level_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        success_interval(1, 2, level)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([4.0], 4.0),
        ([3.0, 1.0, 2.0], 1.0),
        ([*range(9, -1, -1)], 0.0),
        ([*range(15)], (0 + 0.5 * 1) / 1.5),
        ([*range(30)], 1.0),
    ],
)
def test_the_worst_tenth_counts_a_part_of_an_episode(values: list[float], expected: float) -> None:
    assert worst_tenth(values) == pytest.approx(expected)


def test_the_interval_of_the_worst_tenth_lies_below_that_of_the_mean() -> None:
    values = np.random.default_rng(0).normal(size=100).tolist()
    mean, tail = mean_interval(values), mean_interval(values, tail=True)
    assert mean is not None
    assert tail is not None
    assert tail.low < worst_tenth(values) < tail.high < mean.low
