"""The vocabulary's own rules."""

import itertools
import math
import random

from rollouts import rollout

from promptpo.types import Score

ODD = (math.nan, -math.inf, math.inf, -1e308, 0.0, 1.0)


def test_every_score_has_its_place_whatever_it_holds():
    scores = [Score(mean, rate) for mean in ODD for rate in (None, *ODD)] + [Score(failed=True)]
    in_order = [s.key for s in sorted(scores)]
    for seed in range(20):
        assert [s.key for s in sorted(random.Random(seed).sample(scores, len(scores)))] == in_order
    for one, other in itertools.product(scores, repeat=2):
        assert (one < other) + (other < one) + (one == other) == 1


def test_a_return_that_is_no_number_beats_failures_only():
    assert Score(failed=True) < Score(math.nan) < Score(-1e308)


def test_an_interval_is_over_lives_where_a_policy_lives_through_several_episodes():
    returns, seeds = (0.0, 10.0) * 20, range(20, 60)
    lone = rollout(returns, seeds=seeds)
    lives = rollout(returns, seeds=seeds, life=2)
    assert len(lone.lives) == 40
    assert [e.return_ for e in lives.lives[3]] == [0.0, 10.0]
    assert lives.life_returns == (5.0,) * 20
    assert lone.return_interval.low < lives.return_interval.low == 5.0
    assert lives.success_interval is None
    early = rollout(returns, seeds=seeds, successes=(False,) * 20 + (True,) * 20, life=20)
    wilson = rollout(returns, seeds=seeds, successes=(False,) * 20 + (True,) * 20)
    assert early.success_interval.low == 0.0 < wilson.success_interval.low
