"""Findings as they are printed, and how far a stated value may be off."""

import math

import pytest

from promptpo.checks import Finding
from promptpo.checks.episodes import allowance, rate_bounds
from promptpo.spec import Reference
from promptpo.spec.baselines import Measured

FINDING = Finding(
    "reward",
    "FAIL",
    "largest deviation 3 on 200 transitions; correct reward() at /some/where/walk.py:22",
    ("the worst, step 2 of seed 5, with held actions:", "  position  0.25  0.5", "hint: add 1"),
)
MORE = [
    "      the worst, step 2 of seed 5, with held actions:",
    "        position  0.25  0.5",
    "      hint: add 1",
]


def test_a_finding_is_a_line_and_more_and_broken_where_there_is_little_room():
    head = f"FAIL  reward                  {FINDING.detail}"
    assert str(FINDING).splitlines() == [head, *MORE]
    assert FINDING.text(62).splitlines() == [
        "FAIL  reward                  largest deviation 3 on 200",
        "                              transitions; correct reward() at",
        "                              /some/where/walk.py:22",
        *MORE,
    ]


def test_a_value_of_few_episodes_may_be_further_off():
    got = Measured(Reference(100.0), 2.0, 20_000, 40)
    exact = allowance(Reference(100.0, deviation=12.0), got)
    of_few = allowance(Reference(100.0, deviation=12.0, episodes=9), got)
    assert of_few - 1.0 == pytest.approx((exact - 1.0) * math.hypot(2.0, 4.0) / 2.0)
    assert rate_bounds(0.5, None) == (0.5, 0.5)
    low, high = rate_bounds(0.9, 10)
    assert low < 0.5
    assert high > 0.9
    assert rate_bounds(1.0, 40)[0] > rate_bounds(0.2, 40)[1], "these do not meet"
