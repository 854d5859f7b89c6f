"""Who of the finalists is chosen by what they played on selection episodes."""

import asyncio
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import msgspec
from rollouts import rollout

from promptpo.config import RunConfig
from promptpo.run import phases
from promptpo.run.phases import chosen, unique
from promptpo.types import Candidate, Key


def finalist(number, search=1.0, source=None):
    return Candidate(Key(number, 1), source or f"policy {number}", rollout((search,)))


A, B = finalist(1), finalist(2)


def played(hits, count, mean):
    successes = [i < hits for i in range(count)]
    return rollout((float(mean),) * count, stream="selection", successes=successes)


def test_who_succeeds_more_often_beyond_noise_is_chosen_whatever_the_return():
    runs = {A.name: played(98, 100, 1), B.name: played(80, 100, 9)}
    assert chosen([A, B], runs) == A


def test_return_decides_among_those_that_cannot_be_told_apart():
    runs = {A.name: played(20, 20, 1), B.name: played(19, 20, 9)}
    assert chosen([A, B], runs) == B


def test_the_lower_bound_counts_what_few_episodes_do_not_show():
    """20 of 20 may be less than 98 of 100; who played on after the other stands."""
    runs = {A.name: played(20, 20, 9), B.name: played(98, 100, 1)}
    assert chosen([A, B], runs) == B


def test_without_success_the_mean_return_decides():
    runs = {
        A.name: rollout((1.0, 2.0), stream="selection"),
        B.name: rollout((2.0, 2.0), stream="selection"),
    }
    assert chosen([A, B], runs) == B


def test_where_all_is_equal_the_earlier_is_chosen():
    run = rollout((1.0, 2.0), stream="selection")
    assert chosen([A, B], {A.name: run, B.name: run}) == A


def test_one_that_fails_in_selection_is_not_chosen():
    failed = rollout((9.0,), stream="selection", error="it raised")
    runs = {A.name: failed, B.name: rollout((1.0,), stream="selection")}
    assert chosen([A, B], runs) == B


def test_equal_texts_are_one_finalist():
    assert unique([A, finalist(3, source=A.source), B]) == [A, B]


class AlwaysSucceeds:
    """A player under whom every policy succeeds, in so many steps of return as its name says."""

    def __init__(self):
        self.played = Counter()

    async def play(self, play, key, keep=()):
        self.played[key.name] += len(play.seeds)
        count = len(play.seeds)
        run = rollout((float(key.round),) * count, stream="selection", successes=[True] * count)
        episodes = tuple(
            msgspec.structs.replace(e, seed=s)
            for e, s in zip(run.episodes, play.seeds, strict=True)
        )
        return replace(run, seeds=tuple(play.seeds), episodes=episodes)


def test_three_finalists_at_most_play_on_until_the_limit():
    player = AlwaysSucceeds()
    services = SimpleNamespace(config=RunConfig(), player=player)
    finalists = [Candidate(Key(n, 1), f"text {n}") for n in (1, 2, 3, 4, 5)]
    runs = asyncio.run(phases._raced(services, finalists))
    assert player.played == {
        "r01_c01": 20, "r02_c01": 20, "r03_c01": 60, "r04_c01": 60, "r05_c01": 60
    }  # fmt: skip
    assert chosen(finalists, runs).name == "r05_c01"
