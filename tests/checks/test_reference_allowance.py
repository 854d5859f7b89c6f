"""Stated values that were measured on few episodes are uncertain themselves."""

import math

import pytest

from promptpo.checks.episodes import allowance, rate_bounds
from promptpo.spec import Reference
from promptpo.spec.baselines import Measured


def measured(mean, error, episodes, rate=None):
    return Measured(Reference(mean, rate), error, 500 * episodes, episodes)


def test_a_value_of_few_episodes_may_be_further_off():
    got = measured(100.0, 2.0, 40)
    exact = allowance(Reference(100.0, deviation=12.0), got)
    of_few = allowance(Reference(100.0, deviation=12.0, episodes=9), got)
    assert of_few - 1.0 == pytest.approx((exact - 1.0) * math.hypot(2.0, 4.0) / 2.0)


def test_tworate_bounds_of_few_episodes_agree_where_their_intervals_meet():
    assert rate_bounds(0.5, None) == (0.5, 0.5)
    low, high = rate_bounds(0.9, 10)
    assert low < 0.5
    assert high > 0.9
    assert rate_bounds(1.0, 40)[0] > rate_bounds(0.2, 40)[1], "these do not meet"
