"""A population of instructions: drawing, weights, trials and pruning, without a run."""

import random

import pytest
from rollouts import rollout

from promptpo.methods.inspo import Draw, Instructions, Options, ReplayBuffer, less_mean, standings
from promptpo.outcomes import Rollout, Score
from promptpo.types import Candidate, Key, Note, Round


def population(*texts, **options):
    return Instructions(texts or ("plan", "feedback", "phases"), Options(**options))


def played(*returns, successes=None):
    return rollout(returns, seeds=tuple(range(len(returns))), successes=successes)


def failed():
    return Rollout("search", (0, 1), error="it raised")


def weights(of):
    return {i.name: round(i.weight, 6) for i in of.standing.values()}


def test_a_candidate_is_drawn_by_softmax_of_the_weights_and_others_keep_theirs():
    one = population(draw_temperature=0.5)
    one.settle(1, [Draw("a", "i01", 1 / 3), Draw("b", "i02", 1 / 3)],
               {"a": played(2, 2), "b": played(1, 1)}, None)  # fmt: skip
    assert weights(one) == {"i01": 0.3, "i02": -0.3, "i03": 0.0}
    chances = one.chances()
    assert sum(chances.values()) == pytest.approx(1)
    assert chances["i01"] / chances["i02"] == pytest.approx(2.718281828**1.2)
    draws = one.draw([f"c{n}" for n in range(3000)], random.Random(1))
    assert sum(d.instruction == "i01" for d in draws) / 3000 == pytest.approx(
        chances["i01"], abs=0.03
    )
    assert {d.chance for d in draws} == set(chances.values())

    one = population()
    runs = {"a": played(2, 2), "b": played(1, 1)}
    draws = [Draw("a", "i01", 0.3), Draw("b", "i01", 0.3), Draw("c", "i02", 0.3)]
    settled = one.settle(1, draws, runs, None)
    assert weights(one) == {"i01": 0.0, "i02": 0.0, "i03": 0.0}
    assert [d.score for d in settled] == [1.0, -1.0, None]
    assert [i.written for i in one.standing.values()] == [2, 0, 0]


def test_standings_are_the_share_of_opponents_that_are_beaten_less_that_of_those_that_win():
    scores = {"a": Score(3.0), "b": Score(2.0), "c": Score(2.0), "d": Score(failed=True)}
    assert standings(scores) == {"a": 1.0, "b": 0.0, "c": 0.0, "d": -1.0}
    assert standings({"a": Score(1.0)}, played(2, 2)) == {"a": -1.0}
    assert standings({"a": Score(1.0)}) == {"a": 0.0}
    assert standings({"a": Score(failed=True), "b": Score(failed=True)}) == {"a": 0.0, "b": 0.0}


def test_what_is_proposed_is_on_trial_and_one_candidate_is_left_to_the_population():
    one = population("plan", proposals=2)
    assert one.propose(["Plan ", "guess", "swing", "wait"], 2) == ["guess", "swing"]
    assert [(i.name, i.since) for i in one.on_trial] == [("i02", 2), ("i03", 2)]
    draws = one.draw(["a", "b", "c", "d"], random.Random(0))
    assert [d.instruction for d in draws] == ["i01", "i01", "i02", "i03"]
    assert [d.chance for d in draws] == [1.0, 1.0, None, None]

    one = population("plan", trials=3)
    one.propose(["guess"], 2)
    assert [d.instruction for d in one.draw(["a"], random.Random(0))] == ["i01"]
    assert [d.instruction for d in one.draw(["a", "b"], random.Random(0))] == ["i01", "i02"]


@pytest.mark.parametrize(
    ("own", "others", "state", "why"),
    [
        (played(9, 9), [played(1, 1)], "active", "return +8 against the population's mean"),
        (played(1, 1), [played(9, 9), played(1, 1)], "rejected", "return -4 against"),
        (played(1, 9), [played(9, 2)], "active", "return -0.5 ± 7.5 against"),
        (failed(), [played(1, 1)], "rejected", "nothing written under it got through"),
        (played(1, 1), [failed()], "active", "too few episodes"),
        (played(1), [played(2)], "active", "too few episodes"),
        (
            played(1, 1, successes=(True, True)),
            [played(9, 9, successes=(False, False))],
            "active", "success +1 against",
        ),
    ],
)  # fmt: skip
def test_a_trial_admits_what_is_not_worse_beyond_noise(own, others, state, why):
    one = population("plan")
    one.propose(["guess"], 2)
    draws = [Draw(f"c{n}", "i01", 1.0) for n in range(len(others))]
    runs = dict(zip([d.candidate for d in draws], others, strict=True))
    one.settle(2, [*draws, Draw("t", "i02")], {**runs, "t": own}, None)
    decided = (one.standing if state == "active" else one.ended)["i02"]
    assert decided.state == state
    assert why in decided.why
    assert not one.on_trial


def test_one_that_is_admitted_starts_from_the_mean_weight_and_a_stopped_trial_goes_on():
    one = population("plan", weight_step=0.5)
    one.settle(1, [Draw("a", "i01", 1.0)], {"a": played(2, 2)}, played(1, 1))
    one.propose(["guess"], 2)
    one.settle(2, [Draw("a", "i01", 1.0), Draw("t", "i02")],
               {"a": played(1, 1), "t": played(2, 2)}, None)  # fmt: skip
    assert weights(one) == {"i01": -0.25, "i02": 0.75}

    one = population("plan")
    one.propose(["guess"], 2)
    draws = [Draw("a", "i01", 1.0), Draw("t", "i02")]
    one.settle(2, draws, {"a": played(1, 1)}, None)
    assert [i.state for i in one.standing.values()] == ["active", "on trial"]
    assert [i.name for i in one.on_trial] == ["i02"]


def test_the_worst_that_was_drawn_is_pruned_every_few_rounds_or_beyond_the_most():
    one = population(prune_every=2, fewest=2)
    draws = [Draw("a", "i01", 0.3), Draw("b", "i02", 0.3)]
    runs = {"a": played(1, 1), "b": played(2, 2)}
    one.settle(1, draws, runs, None)
    assert not one.ended
    one.settle(2, draws, runs, None)
    (gone,) = one.ended.values()
    assert (gone.name, gone.why) == ("i01", "the lowest weight of 3 active ones")
    assert list(one.standing) == ["i02", "i03"]
    one.settle(4, draws[1:], runs, None)
    assert list(one.ended) == ["i01"]  # the fewest are left
    assert one.propose([gone.text], 5) == []

    one = population("plan", "phases", prune_every=0, most=2)
    one.propose(["guess"], 2)
    draws = [Draw("a", "i01", 0.5), Draw("b", "i02", 0.5), Draw("t", "i03")]
    runs = {"a": played(3, 1), "b": played(3, 2), "t": played(1, 2)}
    one.settle(2, draws, runs, None)
    assert (list(one.ended), list(one.standing)) == (["i01"], ["i02", "i03"])


def test_lives_are_the_pairs_where_a_policy_lives_through_several_episodes():
    told = less_mean(
        [rollout((1, 3, 5, 7), seeds=(0, 1, 2, 3), life=2)],
        [rollout((0, 0, 0, 0), seeds=(0, 1, 2, 3), life=2)],
    )
    assert (told.returns.mean, told.returns.count) == (4, 2)


# The replay buffer


def told(name, error=None, success=None, note="It fell."):
    run = None if error else played(1, 2, successes=None if success is None else (success, True))
    notes = (Note("Worst episode", note),) if note else ()
    return Candidate(Key.named(name), "class Policy: ...", run, error, notes=notes)


def test_failures_come_first_then_the_worst_and_nothing_twice_before_all_were_shown():
    buffer = ReplayBuffer(10)
    candidates = (
        told("r01_c01"), told("r01_c02", success=False), told("r01_c03", error="it raised"),
        told("r01_c04", note=""), told("r01_c05"),
    )  # fmt: skip
    scores = {"r01_c01": 0.5, "r01_c02": 1.0, "r01_c03": -1.0, "r01_c04": 0.0, "r01_c05": None}
    draws = [Draw(name, "i01", 1.0, score) for name, score in scores.items()]
    buffer.add(Round(1, candidates, candidates[0]), draws)
    assert [r.candidate for r in buffer.held] == ["r01_c03", "r01_c02", "r01_c01"]
    assert [(r.title, r.text) for r in buffer.take(2)] == [
        ("Failed", "it raised"), ("Worst episode", "It fell."),
    ]  # fmt: skip
    assert [r.candidate for r in buffer.take(2)] == ["r01_c01", "r01_c03"]


def test_it_keeps_what_comes_first():
    buffer = ReplayBuffer(2)
    for number in (1, 2, 3):
        one = told(f"r{number:02d}_c01")
        buffer.add(Round(number, (one,), one), [Draw(one.name, "i01", 1.0, 0.0)])
    assert [r.candidate for r in buffer.held] == ["r03_c01", "r02_c01"]
