"""Which of several policies is best on common episodes."""

import math
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from rollouts import rollout

from promptpo.outcomes import Terms
from promptpo.racing import paired, standard_error, undecided
from promptpo.store.codec import encode

STEADY = rollout((5.0, 6.0, 7.0, 8.0))


def successes(*told):
    return rollout((1.0,) * len(told), successes=[bool(each) for each in told])


def test_the_difference_is_that_of_pairs():
    better = rollout((6.0, 8.0, 8.0, 10.0))
    told = paired(better, STEADY).returns
    assert (told.mean, told.count) == (1.5, 4)
    assert told.error == pytest.approx(math.sqrt(1 / 3) / 2)


def test_only_common_seeds_are_pairs():
    other = rollout((1.0, 1.0, 1.0), seeds=(4, 3, 99))
    told = paired(STEADY, other).returns
    assert (told.mean, told.count) == (6.5, 2)


def test_an_episode_that_broke_off_is_no_pair():
    broken = rollout((1.0, 2.0, 3.0, 4.0))
    first = msgspec.structs.replace(broken.episodes[0], error="it raised")
    broken = replace(broken, episodes=(first, *broken.episodes[1:]))
    assert paired(STEADY, broken).returns.count == 3


@pytest.mark.parametrize("seeds", [(9,), (4, 9)])
def test_fewer_than_two_pairs_tell_nothing(seeds):
    assert paired(STEADY, rollout((1.0,) * len(seeds), seeds=seeds)) is None


@pytest.mark.parametrize("shift", [-3.0, -1.2, -0.4, 0.0, 0.3, 0.9, 1.1, 2.0])
def test_beyond_noise_is_what_student_s_t_says(scipy_stats, shift):
    noise = (0.3, -1.1, 0.7, 0.2, -0.4, 1.3)
    a = rollout(tuple(10 + i + shift + n for i, n in enumerate(noise)))
    b = rollout(tuple(10.0 + i for i in range(6)))
    test = scipy_stats.ttest_rel(a.returns, b.returns)
    expected = 0 if test.pvalue >= 0.05 else 1 if test.statistic > 0 else -1
    assert paired(a, b).sign == expected


def test_the_sign_is_that_of_success_then_of_return():
    same = paired(STEADY, rollout((5.0, 6.0, 7.0, 8.0)))
    assert (same.same, same.sign) == (True, 0)
    won, lost, mixed = (True,) * 3, (False,) * 3, (True, False, True)
    for a, b, sign in (
        (rollout((5.1, 6.1, 7.1, 8.1)), STEADY, 1),  # all alike: no noise
        (STEADY, rollout((6.0, 7.0, 8.0, 9.0)), -1),
        (rollout((0.0,) * 3, successes=won), rollout((9.0,) * 3, successes=lost), 1),
        (rollout((9.0, 8.0, 9.0), successes=mixed), rollout((1.0, 0.0, 1.0), successes=mixed), 1),
        (rollout((9.0,) * 3, successes=mixed), rollout((1.0,) * 3, successes=(False, *won[1:])), 0),
    ):
        assert paired(a, b).sign == sign


def test_the_best_comes_first_then_those_that_it_does_not_beat():
    beaten, close = rollout((1.0, 2.1, 3.0, 3.9)), rollout((7.0, 4.0, 8.5, 6.0))
    failed = rollout((1.0, 2.0), error="it raised")
    assert undecided({"a": STEADY, "b": beaten}) == ["a"]
    assert undecided({"a": STEADY, "b": beaten}, by_success=True) == ["a"]  # none is defined
    assert undecided({"b": close, "c": rollout((0.0,) * 4), "a": STEADY}) == ["a", "b"]
    assert undecided({"a": failed, "b": STEADY}) == ["b"]
    assert undecided({"a": rollout((), error="it raised")}) == []
    assert undecided({"a": STEADY, "b": rollout((5.0, 6.0, 7.0, 8.0))}) == ["a"]  # the same
    assert undecided({"a": successes(1, 1, 1), "b": successes(1, 1, 1)}, by_success=True) == [
        *("a", "b")
    ]
    a = rollout((9.0, 9.5, 9.0), successes=(True,) * 3)
    b = rollout((1.0, 1.0, 1.5), successes=(True,) * 3)
    assert undecided({"a": a, "b": b}) == ["a"]
    assert undecided({"a": a, "b": b}, by_success=True) == ["a", "b"]  # a return beats nobody


def test_the_standard_error_of_one_number_is_unknown():
    assert math.isnan(standard_error([1.0]))
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("successes", "race"), [((True,) * 4, False), ((True, True, False, True), True)]
)
def test_what_always_succeeds_is_not_raced_for_its_return(successes, race):
    close = tuple(x + d for x, d in zip(STEADY.returns, (0.1, -0.2, 0.1, -0.1), strict=True))
    a, b = (rollout(r, successes=successes) for r in (STEADY.returns, close))
    assert len(undecided({"a": a, "b": b})) == 1 + race
    assert len(undecided({"a": a, "b": b}, by_success=True)) == 2


def test_of_policies_that_live_through_several_episodes_lives_are_the_pairs():
    a = rollout((1.0, 9.0, 2.0, 10.0), seeds=(10, 11, 12, 13), life=2)
    b = rollout((0.0, 6.0, 0.0, 6.0), seeds=(10, 11, 12, 13), life=2)
    told = paired(a, b).returns
    assert (told.mean, told.count) == (2.5, 2)
    assert told.error == pytest.approx(0.5)
    assert paired(rollout((1.0, 2.0), seeds=(10, 11), life=2), b) is None


CVAR = Terms("cvar10")


def test_where_the_worst_tenth_ranks_it_is_compared():
    steady = rollout((5.0,) * 10, terms=CVAR)
    risky = rollout((9.0,) * 9 + (1.0,), terms=CVAR)
    assert risky.score.mean_return > steady.score.mean_return
    assert risky.score < steady.score
    assert (paired(steady, risky).returns.mean, paired(steady, risky).tail) == (4.0, True)
    assert undecided({"steady": steady, "risky": risky})[0] == "steady"
    assert rollout((9.0, 1.0)).score.worst_tenth is None
    assert "terms" not in encode(rollout((9.0, 1.0)))  # as in logs from before


@pytest.mark.parametrize("pairs", [5, 20])
def test_worst_tenths_of_equal_policies_are_rarely_told_apart(pairs):
    rng, told = np.random.default_rng(0), 0
    for _ in range(200):
        luck, ours, theirs = rng.normal(size=(3, pairs))
        a, b = (rollout(tuple(luck + own), terms=CVAR) for own in (ours, theirs))
        told += paired(a, b).sign != 0
    assert told <= 20
    ahead = rollout(tuple(luck + ours + 20.0), terms=CVAR)
    assert paired(ahead, b).sign == 1
