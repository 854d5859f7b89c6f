"""Tuning on noisy episodes, of policies that are only formulas."""

import asyncio
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from msgspec.structs import replace as replaced

from promptpo.outcomes import Episode, Rollout
from promptpo.policies.constants import tunable
from promptpo.tuning.judging import Bar, Played, ranked
from promptpo.tuning.tuner import JUDGED, KEPT, MOST, SAMPLE, Tuner

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
        self.played, self.bars, self._next = [], [], itertools.count()

    def seeds(self, count):
        return [next(self._next) for _ in range(count)]

    async def play(self, vectors, seeds, bar):
        self.played.append((list(vectors), list(seeds)))
        self.bars.append(bar)
        return [Played(self.rollout(values, seeds), pace=1.0) for values in vectors]

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

    def tune(self, budget=20_000, seed=1, watch=lambda _: None):
        async def go():
            await tuner.advance(budget, watch)
            return await tuner.finish()

        tuner = Tuner(tunable(SOURCE), self.play, self.seeds, self.seeds, seed)
        return asyncio.run(go())


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


class RareFalls(World):
    """The farther ``a`` is from 1, the more an episode brings, and the oftener it falls."""

    def rollout(self, values, seeds):
        risk = min(abs(values[0] - 1) / 5, 0.3)
        episodes = []
        for seed in seeds:
            falls = np.random.default_rng([seed, abs(hash(values)) % 2**32]).random() < risk
            episodes.append(Episode(seed, -10.0 if falls else 3 * risk, STEPS))
        return Rollout("search", tuple(seeds), tuple(episodes), STEPS * len(seeds))


def test_who_took_over_before_its_falls_were_seen_does_not_stand_in_the_end():
    finals = [RareFalls(None).tune(20_000, seed).history[-1].values[0] for seed in range(10)]
    assert sum(abs(a - 1) < 0.3 for a in finals) >= 8


@pytest.mark.parametrize("budget", [2000, 5000, 20_000])
def test_a_budget_is_kept(budget):
    found = World(bowl, luck=1.0, chance=0.3).tune(budget)
    generation = STEPS * MOST * 24
    assert (1 - KEPT) * budget - generation - STEPS * 2 * JUDGED <= found.steps
    assert found.steps <= budget


def test_a_search_goes_on_where_it_stopped():
    """In two parts it comes to the same as in one, but for a judgement in between."""
    world = World(bowl)
    tuner = Tuner(tunable(SOURCE), world.play, world.seeds, world.seeds, 1)
    asyncio.run(tuner.advance(3000))
    first = tuner.result.steps
    asyncio.run(tuner.advance(20_000))
    found = asyncio.run(tuner.finish())
    assert 0 < first <= 3000 < found.steps
    assert found.values == pytest.approx((3.0, 2.0), abs=0.1)


def test_whoever_watches_sees_steps_grow():
    seen = []
    World(bowl).tune(3000, watch=lambda result: seen.append(result.steps))
    assert seen == sorted(seen)
    assert len(seen) > 5


def test_why_values_fail_is_counted():
    found = World(lambda a, b: math.nan if a > 1.2 else bowl(a, b)).tune(2000)
    assert set(found.failures) == {"it raised"}
    assert found.failures["it raised"] > 0


def test_samples_have_a_bar_and_judgements_none():
    world = World(bowl, luck=2.0)
    world.tune(3000)
    for (vectors, seeds), bar in zip(world.played, world.bars, strict=True):
        assert (bar is not None) == (len(seeds) in (SAMPLE, 2 * SAMPLE, MOST)), vectors
    bars = [bar for bar in world.bars if bar is not None]
    assert all(isinstance(bar, Bar) and bar.pace == 1.0 for bar in bars)
    assert bars[0].mean < -5 + 2 * 2.0 * 2


def test_where_the_incumbent_does_not_always_succeed_nobody_is_given_up():
    class Half(World):
        def rollout(self, values, seeds):
            run = super().rollout(values, seeds)
            episodes = tuple(replaced(e, success=e.seed % 2 == 0) for e in run.episodes)
            return replace(run, episodes=episodes)

    world = Half(bowl)
    world.tune(3000)
    assert set(world.bars) == {None}


def test_all_of_a_generation_meet_the_same_fresh_seeds():
    world = World(bowl)
    world.tune(budget=3000)
    used = [seed for _, seeds in world.played for seed in seeds]
    assert len(used) == len(set(used))


def test_the_same_seed_does_the_same():
    assert World(bowl, chance=1.0).tune(4000) == World(bowl, chance=1.0).tune(4000)


def test_ranks_are_of_one_generation_and_failures_are_none():
    runs = [rollout([1.0]), rollout([3.0]), rollout([1.0]), rollout([], error="it raised")]
    *ranks, failed = ranked([Played(run) for run in runs])
    assert ranks == [1.5, 3.0, 1.5]
    assert math.isnan(failed)


def test_who_was_given_up_comes_last_by_what_could_have_been():
    played = [
        Played(rollout([]), bound=5.0),
        Played(rollout([-9.0])),
        Played(rollout([]), bound=4.0),
    ]
    assert ranked(played) == [1.0, 2.0, 0.0]


def test_where_most_samples_fall_far_behind_the_search_begins_narrower():
    """A ridge that is a hundredth of the ranges wide: the first width misses it."""

    def ridge(a, b):
        return 100 - (a - 1) ** 2 if abs(b - 1) + abs(a - 1) < 0.04 + (a - 1) * (b - 1) else 0.0

    world = World(lambda a, b: ridge(a, b) + a * (ridge(a, b) > 0), luck=0.01)
    found = world.tune(20_000)
    judged = [n for n, (_, seeds) in enumerate(world.played) if len(seeds) == JUDGED]
    assert judged[1] - judged[0] > 5, "widths that are tried out are no generations"
    assert found.changed
