"""The statistics of a benchmark against the values of ``rliable``.

RLIABLE holds what version 1.2.0 gave for X and Y (arch 7.2.0, pandas 2): ``get_interval_estimates``
with 20,000 repetitions and ``RandomState(0)``; ``create_performance_profile`` with 2,000.
"""

import numpy as np
import pytest

from promptpo.matrix.statistics import (
    AGGREGATES,
    estimate,
    improvement,
    interquartile_mean,
    optimality_gap,
    profile,
)

X = np.array([
    [0.6, 0.69, 0.52, 0.33], [0.46, 0.3, 0.62, 1.0], [0.45, 0.41, 0.75, 0.71],
    [0.63, 0.32, 0.59, 0.81], [0.2, 0.46, 0.03, 0.21],
])  # fmt: skip
Y = np.array([[-0.34, 0.31, -0.11, 0.51], [0.46, 0.33, -0.61, 0.18], [0.38, 0.45, -0.21, 0.21]])

RLIABLE = {
    "IQM": (0.507, 0.393, 0.609),
    "median": (0.485, 0.392, 0.590),
    "mean": (0.5045, 0.4065, 0.5965),
    "optimality gap": (0.4955, 0.4025, 0.5950),
}
#: Resampling noise of the ends of an interval, for 10,000 draws.
NOISE = 0.012


def test_aggregates_improvement_and_profile_are_those_of_rliable():
    for name, (value, low, high) in RLIABLE.items():
        e = estimate(AGGREGATES[name], X)
        assert e.value == pytest.approx(value)
        assert (e.interval.low, e.interval.high) == pytest.approx((low, high), abs=NOISE)

    odds = estimate(improvement, X, Y)
    assert odds.value == pytest.approx(0.8)
    # Its values are sixtieths: an end of the interval may lie one of them off.
    ends = (odds.interval.low, odds.interval.high)
    assert ends == pytest.approx((0.6333, 0.9333), abs=0.017)

    shares = profile(X, np.array([0, 0.25, 0.5, 0.75, 1.0]))
    assert shares.share == pytest.approx([1, 0.85, 0.5, 0.1, 0])
    assert shares.low == pytest.approx([1, 0.7, 0.3, 0, 0], abs=0.051)
    assert shares.high == pytest.approx([1, 1, 0.7, 0.2, 0], abs=0.051)


def test_the_definitions_on_a_few_numbers():
    assert interquartile_mean(np.array([[-100.0, 1, 2, 3, 4, 5, 6, 1000]])) == 3.5
    assert interquartile_mean(np.array([[0.0, 1, 5]])) == 2.0  # of three, none is left out
    assert optimality_gap(np.array([[0.5, 3.0]])) == 0.25  # 3 makes up for no gap
    assert improvement(np.array([[1.0]]), np.array([[1.0]])) == 0.5
    assert improvement(X, Y) + improvement(Y, X) == pytest.approx(1)


def test_one_run_a_spec_gives_no_interval_and_a_spread_between_specs_none_either():
    single = np.array([[0.5, 0.7, 0.9]])
    assert estimate(interquartile_mean, single).interval is None
    assert estimate(improvement, single, np.repeat(single, 3, axis=0)).interval is None
    assert np.isnan(profile(single, np.array([0.5])).low).all()
    steady = np.array([[0.0, 1.0]] * 4)
    interval = estimate(AGGREGATES["mean"], steady).interval
    assert (interval.low, interval.high) == (0.5, 0.5)
    for scores in (np.zeros(3), np.zeros((0, 2)), np.array([[np.nan]])):
        with pytest.raises(ValueError, match="score"):
            estimate(interquartile_mean, scores)
