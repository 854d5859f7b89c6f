"""Who of the finalists is chosen by what they played on selection episodes."""

import asyncio
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest
from rollouts import rollout

from promptpo.config import RunConfig
from promptpo.run import phases
from promptpo.run.phases import chosen, smallest_difference
from promptpo.types import Candidate, Key, unique


def finalist(number, search=1.0, source=None):
    return Candidate(Key(number, 1), source or f"policy {number}", rollout((search,)))


A, B = finalist(1), finalist(2)
SHORT, LONG = "x = 1\n", '"""A text."""\n\n# a remark\nx = [1,\n     2]\ny = 2\n'


def played(hits, count, mean):
    return rollout(
        (float(mean),) * count, stream="selection", successes=[i < hits for i in range(count)]
    )


def returns(*values, error=None):
    return rollout(values, stream="selection", error=error)


@pytest.mark.parametrize(
    ("a", "b", "winner"),
    [
        (played(98, 100, 1), played(80, 100, 9), A),  # beyond noise, whatever the return
        (played(20, 20, 1), played(19, 20, 9), B),  # success does not tell them apart
        # 20 of 20 may be less than 98 of 100; who played on after the other stands.
        (played(20, 20, 9), played(98, 100, 1), B),
        (returns(1.0, 2.0), returns(2.0, 2.0), B),
        (returns(1.0, 2.0), returns(1.0, 2.0), A),  # the earlier one
        (returns(9.0, error="it raised"), returns(1.0), B),
    ],
)
def test_success_beyond_noise_decides_then_return(a, b, winner):
    assert chosen([A, B], {A.name: a, B.name: b}) == (winner, [])


def test_of_those_that_are_tied_the_shortest_is_chosen():
    long, short = finalist(1, source=LONG), finalist(2, source=SHORT)
    near, far = returns(5.0, 6.1, 7.0, 8.1), returns(5.0, 6.0, 7.0, 8.0)
    runs = {long.name: near, short.name: far}
    assert chosen([long, short], runs, 1.0) == (short, [long, short])
    assert chosen([long, short], runs, 0.1) == (long, [])  # the interval is wider than that
    assert chosen([long, short], runs) == (long, [])
    same = {long.name: far, short.name: far}
    assert chosen([long, short], same, 0.0) == (short, [long, short])
    again = finalist(3, source=SHORT + "# as long\n")
    assert chosen([short, again], {short.name: far, again.name: near}, 1.0)[0] == again


def test_equal_texts_are_one_finalist():
    assert unique([A, finalist(3, source=A.source), B]) == [A, B]


@pytest.mark.parametrize(
    ("share", "references", "smallest"),
    [
        (0.01, {"random": 100.0, "expert": 1100.0}, 10.0),
        (0.02, {"random": 100.0, "expert": 500.0, "optimum": 1100.0}, 20.0),
        (0.01, {"random": 100.0}, 0.0),
        (0.01, {"expert": 100.0}, 0.0),
        (0, {"random": 100.0, "expert": 1100.0}, None),
    ],
)
def test_the_smallest_difference_is_a_share_of_the_range(share, references, smallest):
    scores = {name: SimpleNamespace(mean_return=value) for name, value in references.items()}
    spec = SimpleNamespace(reference_scores=scores)
    assert smallest_difference(RunConfig(smallest_difference=share), spec) == smallest


class AlwaysSucceeds:
    """A player under whom every policy succeeds, with its round as the return.

    ``falls`` is the round of one that fails after 10 episodes.
    """

    def __init__(self, falls=0):
        self.played = Counter()
        self.falls = falls

    async def play_alone(self, play, key):
        count, before = len(play.seeds), self.played[key.name]
        self.played[key.name] += count
        succeeds = key.round != self.falls or before < 10
        run = rollout((float(key.round),) * count, stream="selection", successes=[succeeds] * count)
        episodes = tuple(
            msgspec.structs.replace(e, seed=s)
            for e, s in zip(run.episodes, play.seeds, strict=True)
        )
        return replace(run, seeds=tuple(play.seeds), episodes=episodes)


@pytest.mark.parametrize(
    ("smallest", "episodes"),
    [
        (None, (20, 20, 60, 60, 60)),  # three at most play on, until the limit
        (1.5, (20, 60, 60, 20, 60)),  # the fourth is tied with the best
        (10.0, (10, 10, 10, 10, 20)),  # all are tied and succeed: only the winner plays on
    ],
)
def test_finalists_play_on_until_they_are_told_apart_or_tied(smallest, episodes):
    player = AlwaysSucceeds()
    services = SimpleNamespace(config=RunConfig(), player=player)
    finalists = [Candidate(Key(n, 1), f"text {n}") for n in (1, 2, 3, 4, 5)]
    runs = asyncio.run(phases._raced(services, finalists, smallest))
    assert player.played == dict(zip((c.name for c in finalists), episodes, strict=True))
    assert chosen(finalists, runs)[0].name == "r05_c01"


def test_all_finalists_play_on_where_the_one_to_be_chosen_fails():
    player = AlwaysSucceeds(falls=3)
    services = SimpleNamespace(config=RunConfig(), player=player)
    finalists = [Candidate(Key(n, 1), f"text {n}") for n in (1, 2, 3)]
    runs = asyncio.run(phases._raced(services, finalists, 10.0))
    assert list(player.played.values()) == [20, 20, 20]
    assert chosen(finalists, runs, 10.0)[0].name == "r02_c01"


def test_a_number_of_selection_episodes_that_is_asked_for_is_played_by_all():
    player = AlwaysSucceeds()
    services = SimpleNamespace(config=RunConfig(selection_episodes=12), player=player)
    finalists = [Candidate(Key(n, 1), f"text {n}") for n in (1, 2)]
    asyncio.run(phases._raced(services, finalists, 10.0))
    assert list(player.played.values()) == [12, 12]
