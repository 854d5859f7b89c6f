"""CMA-ES over constants."""

import math

import pytest

from promptpo.policies.constants import Constant
from promptpo.policies.sources import Literal
from promptpo.tuning.optimizer import SEPARABLE, Optimizer

NOWHERE = Literal(0, 0, 1, 0.0, (1, 0, 1, 0))


def constant(value, low, high, **kind):
    return Constant("c", value, low, high, NOWHERE, **kind)


def tuned(constants, score, generations=60, seed=1):
    optimizer = Optimizer(constants, seed)
    for _ in range(generations):
        optimizer.tell([score(values) for values in optimizer.ask()])
    return optimizer


def test_it_finds_the_best_of_a_bowl():
    goal = (1.0, 2.0, -3.0)
    constants = [constant(g + 1.0, g - 3, g + 3) for g in goal]
    found = tuned(constants, lambda v: -math.dist(v, goal))
    assert found.mean == pytest.approx(goal, abs=1e-3)


def test_a_logarithm_is_searched_across_magnitudes():
    found = tuned([constant(1.0, 1e-4, 1e4, log=True), constant(0.0, -1, 1)],
                  lambda v: -abs(math.log(v[0] / 300)) - abs(v[1]))  # fmt: skip
    assert found.mean[0] == pytest.approx(300, rel=0.05)


def test_whole_numbers_stay_whole_and_within_their_range():
    optimizer = Optimizer([constant(3, 1, 9, integer=True), constant(0.5, 0, 1)], 1)
    for _ in range(20):
        asked = optimizer.ask()
        assert all(isinstance(n, int) and 1 <= n <= 9 and 0 <= x <= 1 for n, x in asked)
        optimizer.tell([n + x for n, x in asked])
    assert optimizer.mean[0] == 9


def test_one_constant_alone_is_tuned():
    assert tuned([constant(1.0, 0, 4)], lambda v: -abs(v[0] - 3)).mean == pytest.approx(
        (3.0,), abs=1e-2
    )


def test_many_constants_are_searched_without_their_covariances():
    many = [constant(1.0, 0.0, 2.0) for _ in range(SEPARABLE + 10)]
    found = tuned(many, lambda v: -sum((x - 0.5) ** 2 for x in v), generations=150)
    assert found.mean == pytest.approx([0.5] * len(many), abs=0.05)


def test_only_the_order_counts_and_what_is_no_number_is_the_worst():
    constants = [constant(1.0, 0, 4), constant(1.0, 0, 4)]
    plain = tuned(constants, lambda v: -sum(v), generations=5)
    bent = tuned(constants, lambda v: -math.exp(sum(v)), generations=5)
    assert plain.mean == bent.mean
    first, second, other = (Optimizer([constant(1.0, 0, 4)] * 3, seed) for seed in (1, 1, 2))
    assert first.ask() == second.ask() != other.ask()
    first.tell([0.0] * first.population)
    second.tell([5.0] * second.population)
    assert first.mean == second.mean
    away = tuned(constants, lambda v: math.nan if v[0] > 1 else v[0])
    assert 0.9 < away.mean[0] <= 1.05


def test_a_search_comes_to_a_stop_and_begins_again_with_more():
    optimizer = Optimizer([constant(1.0, 0, 4), constant(1.0, 0, 4)], 1)
    small = optimizer.population
    for _ in range(400):
        optimizer.tell([-abs(v[0] - 2) - abs(v[1] - 2) for v in optimizer.ask()])
        if optimizer.stopped:
            break
    assert optimizer.stopped
    optimizer.restart((3.0, 1.0), 0.2)
    assert (optimizer.restarts, optimizer.population) == (1, 2 * small)
    assert optimizer.mean == pytest.approx((3.0, 1.0))
    assert not optimizer.stopped


def test_a_wrong_number_of_scores_and_no_constants_are_refused():
    with pytest.raises(ValueError, match="no constant"):
        Optimizer([], 1)
    optimizer = Optimizer([constant(1.0, 0, 4)], 1)
    asked = optimizer.ask()
    with pytest.raises(ValueError, match=f"{len(asked)} values were asked for, not 1"):
        optimizer.tell([0.0])
