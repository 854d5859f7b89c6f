"""Tuning on noisy episodes, of policies that are only formulas."""

import asyncio
import itertools
import math
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace as replaced

import promptpo
from promptpo.errors import LimitReached
from promptpo.outcomes import Episode, Rollout
from promptpo.policies.constants import tunable
from promptpo.tuning.judging import Bar, Played, ranked, verdict
from promptpo.tuning.tuner import FINAL, JUDGED, KEPT, LEVELS, MOST, SAMPLE, SURE, Tuner

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

    def tune(self, budget=20_000, seed=1, watch=lambda _: None, *, closed=False):
        async def go():
            await tuner.advance(budget, watch)
            return await tuner.finish()

        self._next = itertools.count(seed << 20)
        tuner = Tuner(tunable(SOURCE), self.play, self.seeds, self.seeds, seed, closed=closed)
        return asyncio.run(go())


def bowl(a, b):
    return -((a - 3) ** 2) - (b - 2) ** 2


def test_it_finds_better_values_and_says_what_they_bring():
    seen = []
    found = World(bowl).tune(watch=lambda result: seen.append(result.steps))
    assert seen == sorted(seen)
    assert len(seen) > 5
    assert found.values == pytest.approx((3.0, 2.0), abs=0.1)
    assert found.changed
    assert found.history[0].values == (1.0, 1.0)
    assert found.history[0].run.score.mean_return == -5
    assert found.history[-1].values == found.values
    assert found.after.score.mean_return > found.before.score.mean_return == -5


def test_luck_of_episodes_that_all_share_does_not_mislead():
    found = World(bowl, luck=20.0).tune()
    assert found.values == pytest.approx((3.0, 2.0), abs=0.3)


@pytest.mark.parametrize("closed", [False, True])
def test_chance_alone_is_never_taken_for_better(closed):
    """Where values do not matter, hardly any of ten searches finds others that are better.

    What is left open counts by its estimate, unless the last word is closed.
    """
    ends = [World(lambda a, b: 0.0, chance=1.0).tune(4000, s, closed=closed) for s in range(10)]
    assert sum(end.changed and not end.open for end in ends) <= 1
    for end in ends:
        if end.open:
            assert end.changed
            assert end.after.score > end.before.score
    assert any(end.open for end in ends) is not closed


class Catastrophes(World):
    """What is written loses 5,000 in every other episode, and a little elsewhere."""

    def rollout(self, values, seeds):
        run, written = super().rollout(values, seeds), values[0] < 1.05
        falls = [5000.0 * (written and e.seed % 2) for e in run.episodes]
        pairs = zip(run.episodes, falls, strict=True)
        episodes = [replaced(e, return_=e.return_ - fall) for e, fall in pairs]
        return replace(run, episodes=tuple(episodes))


@pytest.mark.parametrize("budget", [400, 600, 1000, 6000])
def test_a_second_look_always_fits_and_what_is_far_better_stays(budget):
    """Five episodes with rare catastrophes say little by Student's t; ten pairs are enough."""
    found = Catastrophes(bowl, chance=0.5).tune(budget)
    assert found.steps <= budget
    assert found.changed
    assert found.after.score.mean_return > found.before.score.mean_return + 1000
    assert len(found.after.seeds) >= 2 * FINAL or not found.open


def test_a_limit_after_the_first_look_leaves_what_it_has_shown():
    class Limited(World):
        async def play(self, vectors, seeds, bar):
            if len(seeds) == FINAL and self.looks:
                raise LimitReached("no step is left")
            self.looks += len(seeds) == FINAL
            return await super().play(vectors, seeds, bar)

    world = Limited(bowl, chance=3.0)
    world.looks = 0
    found = world.tune(1500)
    assert len(found.after.seeds) == FINAL
    assert found.open == (found.after.score > found.before.score)


def pair(differences):
    zeros = [0.0] * len(differences)
    return {(1,): rollout(differences), (0,): rollout(zeros)}


@pytest.mark.parametrize(
    ("differences", "level", "sign"),
    [
        ([600.0, 700, 800, 1750, 2000], SURE, 0),  # by Student's t of so few
        ([600.0, 700, 800, 1750, 2000], LEVELS[2], 1),
        ([1.0] * 3, SURE, 1),  # no noise
        ([-1.0, -2.0, -90.0] * 4, SURE, -1),  # 2 of 4,096 choices of signs
        ([1.0] * 9 + [2000.0], SURE, 1),  # Student's t sees nothing here
        ([1.0] * 9 + [-2000.0], SURE, 0),
        ([5.0], SURE, 0),
    ],
)
def test_the_verdict_is_exact_from_eight_pairs_on(differences, level, sign):
    assert verdict(pair(differences), (1,), (0,), level) == sign
    assert verdict(pair(differences), (0,), (1,), level) == -sign


def test_looks_err_rarely_and_notice_what_is_there_whatever_the_tails():
    """As ``benchmarks/tuning_looks.py`` has it; docs/tuning.md has its figures."""
    benchmark = runpy.run_path(
        str(Path(promptpo.__file__).parents[1] / "benchmarks/tuning_looks.py")
    )
    kinds, shares = benchmark["KINDS"], benchmark["shares"]
    for draw in (kinds[name] for name in list(kinds)[:3]):
        wrong, _, _ = shares(draw, 0.0, 2, 100, 1)
        right, by_t, _ = shares(draw, 2.0, 2, 100, 1)
        assert wrong <= 0.05
        assert right >= max(0.75, by_t - 0.02)


def test_chance_does_not_hide_what_matters():
    found = World(bowl, chance=1.0).tune(60_000)
    assert bowl(*found.values) > -0.5


def test_values_that_fail_are_left_behind():
    found = World(lambda a, b: math.nan if a > 2 else bowl(a, b)).tune()
    assert found.failures["it raised"] > 0
    assert set(found.failures) == {"it raised"}
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
    finals = [RareFalls(None).tune(20_000, seed).history[-1].values[0] for seed in range(5)]
    assert sum(abs(a - 1) < 0.3 for a in finals) >= 4


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


def test_the_same_seed_does_the_same_on_seeds_that_nothing_has_met():
    worlds = [World(bowl, chance=1.0) for _ in range(2)]
    assert worlds[0].tune(4000) == worlds[1].tune(4000)
    used = [seed for _, seeds in worlds[0].played for seed in seeds]
    assert len(used) == len(set(used))


def test_ranks_have_failures_as_none_and_who_was_given_up_last_by_what_could_have_been():
    runs = [rollout([1.0]), rollout([3.0]), rollout([1.0]), rollout([], error="it raised")]
    *ranks, failed = ranked([Played(run) for run in runs])
    assert ranks == [1.5, 3.0, 1.5]
    assert math.isnan(failed)
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
