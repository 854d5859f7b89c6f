"""A round of PromptPO: the best so far meets its challengers, and close ones race."""

import asyncio

import pytest
from fake_services import fails, plays, services
from rollouts import rollout

from promptpo.methods.contest import EXTRA_EACH, HARD, MOST, Contest, hard_seeds
from promptpo.types import Candidate, Key, Rollout

#: What the episodes of two rounds of two episodes are.
FIRST, SECOND = (100, 101), (102, 103)


def lucky(mean, luck):
    """A policy whose returns differ from seed to seed: other luck, other seeds."""
    return plays(f"{mean} + ((seed * {luck}) % 11 - 5)", note=str(luck))


def by_name(search):
    return {c.name: c for r in search.rounds for c in r.candidates}


def seeds_of(candidate):
    return candidate.pooled.seeds


# The best so far plays along


def test_the_best_so_far_is_a_guest_that_plays_the_fresh_episodes_of_every_round_once():
    best = plays(9)
    fake = services([best], [plays(1)], [plays(2)])
    fake.search()
    mine = [seeds for source, seeds, _ in fake.played if source.strip() == best.strip()]
    assert mine == [FIRST, SECOND, (104, 105)]

    fake = services([plays(9), plays(1)], [plays(2), plays(3)])
    fake.search()
    assert fake.guests == {1: (), 2: (Key(1, 1),)}

    fake = services([plays(1)], [plays(9)], [plays(2)])
    fake.search()
    assert fake.guests[3] == (Key(2, 1),)

    search = services([plays("seed")], [plays(1)]).search()
    best = by_name(search)["r01_c01"]
    assert seeds_of(best) == (*FIRST, *SECOND)
    assert best.score.mean_return == 101.5
    assert best.rollout.seeds == FIRST

    fake = services([plays(9)], [plays(1)])
    fake.steps = 1
    assert seeds_of(by_name(fake.search())["r01_c01"]) == FIRST


def test_the_winner_of_a_round_is_one_of_its_candidates():
    search = services([plays(9), plays(8)], [plays(1), plays(2)]).search()
    assert [r.winner.name for r in search.rounds] == ["r01_c01", "r02_c02"]


def test_without_challenge_it_does_not_play():
    fake = services([plays(9)], [plays(1)], challenge=False)
    search = fake.search()
    assert [seeds for _, seeds, _ in fake.played] == [FIRST, SECOND]
    assert seeds_of(by_name(search)["r01_c01"]) == FIRST
    assert fake.guests == {1: (), 2: ()}


# Equal texts are one policy


def test_equal_texts_are_one_policy_with_one_score_by_all_episodes_of_both():
    fake = services([plays(9)], [plays(9)])
    fake.search()
    assert [seeds for _, seeds, _ in fake.played] == [FIRST, SECOND]

    found = by_name(services([plays("seed")], [plays("seed")]).search())
    assert found["r01_c01"].score == found["r02_c01"].score
    assert set(seeds_of(found["r02_c01"])) == {*FIRST, *SECOND}

    found = by_name(services([plays(9)], [plays(9)]).search())
    assert found["r02_c01"].parents == ("r01_c01",)

    fake = services([plays(999), plays("seed")], [plays(1), plays("seed")])
    found = by_name(fake.search())
    assert set(seeds_of(found["r02_c02"])) == {*FIRST, *SECOND}
    assert set(seeds_of(found["r01_c02"])) == {*FIRST, *SECOND}


# Racing


def racing(*rounds, **settings):
    return services(*rounds, episodes="auto", **settings)


def test_seeds_of_rounds_never_overlap():
    close = [[lucky(0.1 * n, 3 + n), lucky(0.05, 7)] for n in range(3)]
    fake = racing(*close)
    search = fake.search()
    played = {source: set() for source, _, _ in fake.played}
    for source, seeds, _ in fake.played:
        assert played[source].isdisjoint(seeds), "nothing is played twice"
        played[source] |= set(seeds)
    fresh = [set(r.candidates[0].rollout.seeds) for r in search.rounds]
    assert fresh == [set(range(a, a + 5)) for a in (100, 100 + MOST, 100 + 2 * MOST)]
    assert max(max(seeds) for seeds in played.values()) < 100 + 3 * MOST


def test_close_ones_play_on_until_one_stands_out_or_has_played_the_most():
    found = by_name(racing([lucky(0.1, 3), lucky(0, 7), plays(-90)]).search())
    assert seeds_of(found["r01_c03"]) == tuple(range(100, 105))
    assert seeds_of(found["r01_c01"]) == seeds_of(found["r01_c02"])
    assert len(seeds_of(found["r01_c01"])) == 5 + 3 * EXTRA_EACH // 2

    found = by_name(racing([lucky(0.1, 3), plays(-90)]).search())
    assert {len(seeds_of(c)) for c in found.values()} == {5}

    hopeless = [plays(-90, note) for note in "abcd"]
    found = by_name(racing([lucky(0.1, 3), lucky(0, 7), *hopeless]).search())
    assert len(seeds_of(found["r01_c01"])) == MOST


def test_a_race_keeps_to_the_round_s_allowance_and_the_run_s_limits():
    fake = racing([lucky(0.1 * i, 3 + i) for i in range(4)])
    fake.search()
    further = sum(len(seeds) for _, seeds, _ in fake.played) - 4 * 5
    assert 0 < further <= 4 * EXTRA_EACH

    fake = racing([lucky(0.1, 3), lucky(0, 7)])
    fake.steps = 2
    found = by_name(fake.search())
    assert {len(seeds_of(c)) for c in found.values()} == {5}


def test_equal_and_failed_ones_do_not_race():
    fake = racing([lucky(0, 3), lucky(0, 3)])
    fake.search()
    assert len(fake.played) == 1

    fake = racing([fails("why"), lucky(0, 3)])
    fake.search()
    assert {seeds for _, seeds, _ in fake.played} == {tuple(range(100, 105))}


def test_the_best_so_far_races_with_its_challengers():
    search = racing([lucky(0, 3)], [lucky(0.1, 7)]).search()
    best, other = by_name(search).values()
    assert seeds_of(other) == tuple(range(120, 135))
    assert seeds_of(best) == (*range(100, 105), *range(120, 135))


# Hard episodes

#: Gets through every episode but that of seed 101.
RELIABLE = plays(9, success="seed != 101")
HARD_ONE = plays(1, success="0", note="worse")


def test_challengers_play_the_episodes_in_which_the_best_failed_which_are_no_part_of_a_score():
    found = by_name(services([RELIABLE], [HARD_ONE], episodes=4).search())
    assert found["r02_c01"].hard.seeds == (101,)
    assert found["r01_c01"].hard is None

    always = plays("100 if seed == 101 else 1", success="seed == 101")
    found = by_name(services([RELIABLE], [always], episodes=4).search())
    assert found["r02_c01"].hard.successes == (True,)
    assert found["r02_c01"].score.success_rate == 0
    assert found["r02_c01"].score.mean_return == 1
    assert 101 not in found["r02_c01"].pooled.seeds

    fake = services([RELIABLE], [HARD_ONE], [plays(2)], episodes=4)
    fake.search()
    assert "Hard episodes, in which the best had failed: no success" in fake.prompt(
        3, 1, role="policy"
    )


def test_who_fails_or_has_no_step_left_is_spared_them():
    found = by_name(services([RELIABLE], [fails("why")], episodes=4).search())
    assert found["r02_c01"].hard is None

    fake = services([RELIABLE], [HARD_ONE], episodes=4)
    fake.steps = 3  # two policies, and the best so far again
    found = by_name(fake.search())
    assert found["r02_c01"].hard is None
    assert found["r02_c01"].error is None


def told(outcomes, lengths=None):
    successes = None if lengths else [bool(each) for each in outcomes]
    run = rollout((1.0,) * len(outcomes), successes=successes, lengths=lengths)
    return Candidate(Key(1, 1), "text", run)


@pytest.mark.parametrize(
    ("outcomes", "hard"),
    [
        ((1, 1, 0, 1), (3,)),
        ((0, 1, 0, 1), (3, 1)),
        ((1, 1, 1), ()),
        ((0, 0, 1), ()),  # it mostly fails: nothing is hard in particular
        ((0, 1, 1, 0, 1, 0, 1, 0, 1, 1), (8, 6, 4)),
    ],
)
def test_hard_are_the_failures_of_who_mostly_gets_through_the_latest_first(outcomes, hard):
    assert hard_seeds(told(outcomes), horizon=10) == hard
    assert len(hard) <= HARD


@pytest.mark.parametrize(
    ("lengths", "hard"),
    [((10, 10, 3, 10), (3,)), ((3, 4, 3, 4), ()), ((10, 10, 10), ()), ((10, 10, 9), ())],
)
def test_without_success_they_are_those_that_ended_long_before_the_others(lengths, hard):
    assert hard_seeds(told(lengths, lengths), horizon=10) == hard


def test_a_failed_policy_has_no_hard_episodes():
    failed = Candidate(Key(1, 1), "text", Rollout("search", (1,), error="it raised"))
    assert hard_seeds(failed, 10) == ()


# Limits in the middle of a race


def test_who_gets_no_step_stays_as_it_was_and_the_others_go_on():
    fake = services([lucky(0, 3), lucky(0.1, 7)], episodes="auto")
    entrants = [
        Candidate(Key(1, i), source, fake._rollout(source, (1, 2)))
        for i, source in enumerate((lucky(0, 3), lucky(0.1, 7)), 1)
    ]
    fake.steps = 1
    raced = asyncio.run(Contest(fake, 1).race(entrants))
    assert sorted(len(c.later) for c in raced) == [0, 1]
