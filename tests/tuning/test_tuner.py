"""Tuning on noisy episodes, of policies that are only formulas."""

import asyncio
import itertools
import math

import numpy as np
import pytest

from promptpo.outcomes import Episode, Rollout
from promptpo.policies.constants import tunable
from promptpo.tuning.tuner import Tuner, ranked

SOURCE = "a = tunable(1.0, 0.0, 4.0)\nb = tunable(1.0, 0.0, 4.0)\n"
STEPS = 10


def rollout(returns, error=None):
    episodes = tuple(Episode(i, r, STEPS) for i, r in enumerate(returns))
    return Rollout(
        "search", tuple(range(len(returns))), episodes, STEPS * len(returns), error=error
    )


class World:
    """Episodes whose return is ``worth`` of the values, the luck of a seed, and chance."""

    def __init__(self, worth, luck=0.0, chance=0.0):
        self.worth, self.luck, self.chance = worth, luck, chance
        self.played, self._next = [], itertools.count()

    def seeds(self, count):
        return [next(self._next) for _ in range(count)]

    async def play(self, vectors, seeds):
        self.played.append((list(vectors), list(seeds)))
        return [self.rollout(values, seeds) for values in vectors]

    def rollout(self, values, seeds):
        worth = self.worth(*values)
        if math.isnan(worth):
            return Rollout("search", tuple(seeds), (), STEPS, error="it raised")
        episodes = []
        for seed in seeds:
            own = np.random.default_rng([seed, abs(hash(values)) % 2**32])
            luck = self.luck * np.random.default_rng(seed).normal() + self.chance * own.normal()
            episodes.append(Episode(seed, worth + float(luck), STEPS))
        return Rollout("search", tuple(seeds), tuple(episodes), STEPS * len(seeds))

    def tune(self, budget=20_000, seed=1, source=SOURCE):
        tuner = Tuner(tunable(source), self.play, self.seeds, self.seeds, budget, seed)
        return asyncio.run(tuner.tune())


def bowl(a, b):
    return -((a - 3) ** 2) - (b - 2) ** 2


def test_it_finds_better_values_and_says_what_they_bring():
    found = World(bowl).tune()
    assert found.values == pytest.approx((3.0, 2.0), abs=0.1)
    assert found.changed
    assert found.history[0].values == (1.0, 1.0)
    assert found.history[0].run.score.mean_return == -5
    assert found.history[-1].values == found.values
    assert found.after.score.mean_return > found.before.score.mean_return == -5


def test_luck_of_episodes_that_all_share_does_not_mislead():
    found = World(bowl, luck=20.0).tune()
    assert found.values == pytest.approx((3.0, 2.0), abs=0.3)


def test_chance_alone_changes_nothing():
    """Where values do not matter the written ones stay, in nearly all of ten searches."""
    changed = [World(lambda a, b: 0.0, chance=1.0).tune(4000, seed).changed for seed in range(10)]
    assert sum(changed) <= 1


def test_chance_does_not_hide_what_matters():
    found = World(bowl, chance=1.0).tune(60_000)
    assert bowl(*found.values) > -0.5


def test_values_that_fail_are_left_behind():
    found = World(lambda a, b: math.nan if a > 2 else bowl(a, b)).tune()
    assert found.values[0] <= 2
    assert found.values == pytest.approx((2.0, 2.0), abs=0.2)


def test_a_policy_that_fails_as_written_can_be_mended():
    found = World(lambda a, b: math.nan if a < 1.05 else bowl(a, b)).tune()
    assert found.changed
    assert bowl(*found.values) > -0.5


def test_the_budget_is_kept_but_for_what_is_under_way():
    found = World(bowl).tune(budget=5000)
    assert 5000 <= found.steps <= 5000 + STEPS * (6 * 2 + 2 * 3 * 10 * 4 + 2 * 40)


def test_all_of_a_generation_meet_the_same_fresh_seeds():
    world = World(bowl)
    world.tune(budget=3000)
    used = [seed for _, seeds in world.played for seed in seeds]
    assert len(used) == len(set(used))


def test_the_same_seed_does_the_same():
    assert World(bowl, chance=1.0).tune(4000) == World(bowl, chance=1.0).tune(4000)


def test_ranks_are_of_one_generation_and_failures_are_none():
    runs = [rollout([1.0]), rollout([3.0]), rollout([1.0]), rollout([], error="it raised")]
    *ranks, failed = ranked(runs)
    assert ranks == [1.5, 3.0, 1.5]
    assert math.isnan(failed)
