"""The seam: what holds of the search of every method, against services that a test has written."""

import pytest
import test_best_of_n
import test_inspo
import test_props
import test_r2po
import test_random_search
from fake_services import plays
from fake_services import services as promptpo_services

from promptpo.errors import GoalReached, LimitReached, ModelError, UsageError
from promptpo.methods import find_method
from promptpo.run.settings import build
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, MethodTable, Round

LIMIT = LimitReached("the limit of 7 model calls is reached")
CODE = ([plays(5), plays(2)], [plays(3), plays(4)], [plays(7), plays(6)])

#: Services of each method for a search of three rounds of two candidates.
SEARCHES = {
    "promptpo": lambda **more: promptpo_services(*CODE, repairs=3, **more),
    "inspo": lambda **more: test_inspo.services(*CODE, **more),
    "best-of-n": lambda **more: test_best_of_n.services(*CODE, **more),
    "random-search": lambda **more: test_random_search.services(rounds=3, candidates=2, **more),
    "props": lambda **more: test_props.services(1.0, 3.0, 2.0, **more),
    "r2po": lambda **more: test_r2po.services((1.0, 2.0), (4.0, 3.0), (2.0, 2.0), **more),
}
every = pytest.mark.parametrize("method", SEARCHES)


@every
def test_resuming_does_nothing_again_and_records_the_same(method):
    fake = SEARCHES[method]()
    first, facts = fake.search(), list(fake.recorded)
    asked, played = list(fake.asked), list(fake.played)
    fake.recorded.clear()
    assert fake.search() == first
    assert (fake.asked, fake.played) == (asked, played)
    assert sorted(map(repr, fake.recorded)) == sorted(map(repr, facts))
    assert (first.reason.startswith("all "), first.limited) == (True, False)


@every
@pytest.mark.parametrize(
    "end", [GoalReached("the target is reached"), LIMIT], ids=["goal", "limit"]
)
def test_it_ends_with_the_rounds_that_were_done_where_none_is_opened_any_more(method, end):
    fake = SEARCHES[method]()
    fake.ends[2] = end
    search = fake.search()
    assert (len(search.rounds), search.reason) == (1, str(end))
    assert search.limited == (end is LIMIT)
    assert search.finalists


@every
def test_candidates_and_then_their_round_are_recorded_and_what_was_last_recorded_stands(method):
    fake = SEARCHES[method]()
    search = fake.search()
    rounds = [fact.number for fact in fake.recorded if isinstance(fact, Round)]
    assert rounds == [1, 2, 3]
    assert isinstance(fake.recorded[-1], Round)
    assert {type(fact) for fact in fake.recorded} <= {Candidate, MethodTable, Round}
    last = {c.name: c for c in fake.candidates() if c.key.round}
    assert last == {c.name: c for r in search.rounds for c in r.candidates}


@every
def test_the_limits_say_how_many_candidates_a_round_has(method):
    fake = SEARCHES[method]()
    whole = [len(r.candidates) for r in fake.search().rounds]
    fake = SEARCHES[method]()
    fake.allowed[2] = 1
    assert [len(r.candidates) for r in fake.search().rounds] == [whole[0], 1, whole[2]]


@pytest.mark.parametrize("method", ["promptpo", "inspo", "best-of-n"])
def test_a_missing_reply_is_the_caller_s_to_know_and_the_others_are_recorded(method):
    fake = SEARCHES[method]()
    del fake.replies[Key(1, 1, role="policy")]
    with pytest.raises(ModelError, match="no reply for r01_c01_policy"):
        fake.search()
    assert [c.name for c in fake.candidates()] == ["r01_c02"]  # it was paid for


@pytest.mark.parametrize("method", ["promptpo", "inspo", "best-of-n"])
def test_a_limit_before_a_policy_or_its_episodes_is_its_error_and_the_others_go_on(method):
    fake = SEARCHES[method]()
    fake.ends |= {Key(1, 1, role="policy"): LIMIT, "r02_c01_0": LIMIT}
    first, second, _ = fake.search().rounds
    assert (first.candidates[0].source, first.candidates[0].error) == (
        None,
        f"not written: {LIMIT}",
    )
    assert second.candidates[0].error == f"not played: {LIMIT}"
    assert "plays 3" in second.candidates[0].source
    assert [first.winner.name, second.winner.name] == ["r01_c02", "r02_c02"]
    assert not [key for key in fake.asked if key.attempt], "nothing is repaired"


@every
def test_a_search_asks_and_plays_no_more_than_its_forecast(method):
    fake = SEARCHES[method]()
    fake.search()
    demand = find_method(method).forecast(fake.spec, fake.config)
    assert len(fake.asked) == demand.calls
    assert sum(len(seeds) for _, seeds, _ in fake.played) <= demand.search_steps / 500


#: Of PromptPO: probes, first episodes, those of the best so far in round 2, hard ones.
PARTS = (2 * 2, 2 * 3 * 5, 5, 3 * 3)
TWO = {"rounds": 2, "candidates": 3}
#: Settings of CartPole, and the calls, the most calls with repairs, the episodes and the finalists.
FORECASTS = [
    ("promptpo", {"rounds": 3, "candidates": 4}, 1 + 12 + 2, 15 + 13 * 3, None, 3),
    ("promptpo", {"rounds": 3, "candidates": 4, "reflection": False}, 13, 13 + 13 * 3, None, 3),
    ("promptpo", {"rounds": 1, "candidates": 2, "max_repairs": 0}, 3, 3, None, 1),
    ("promptpo", {**TWO, "preset": "paper"}, 8, None, 2 * 3 * 5, 2),
    ("promptpo", {**TWO, "episodes": 5}, 8, None, sum(PARTS), 2),
    ("promptpo", {**TWO, "episodes": 5, "probe": 0}, 8, None, sum(PARTS[1:]), 2),
    ("promptpo", {**TWO, "episodes": 5, "challenge": False}, 8, None, sum(PARTS[:2]), 2),
    ("promptpo", {**TWO, "episodes": "auto"}, 8, None, sum(PARTS) + 2 * 4 * 10, 2),
    ("inspo", {"rounds": 3, "candidates": 4, "episodes": 2}, 15, 15 + 15 * 3, 4 + 24 + 4, 3),
    ("best-of-n", {"rounds": 3, "episodes": 2}, 12, 12, 12 * 2, 5),
    ("best-of-n", {"rounds": 1, "candidates": 3}, 3, 3, 15, 3),
    ("random-search", {"rounds": 3}, 0, 0, 3 * 4 * 5, 3),
    ("props", {"rounds": 10, "episodes": 3}, 10, 50, 20 + 10 * 3, 5),
    ("r2po", {"rounds": 10, "episodes": 3}, 20, 100, 20 + 20 * 3, 5),
    ("r2po", {"rounds": 10, "episodes": 3, "critic_only": True}, 10, 50, 20 + 10 * 3, 5),
]


@pytest.mark.parametrize("case", FORECASTS, ids=str)
def test_the_forecast_counts_what_may_be_asked_and_played(case):
    method, settings, calls, most, episodes, finalists = case
    spec, config = load_spec("cartpole"), build({"method": method, **settings})
    demand = find_method(method).forecast(spec, config)
    assert (demand.calls, demand.finalists) == (calls, finalists)
    assert most in (None, demand.max_calls)
    assert episodes in (None, demand.search_steps / 500)
    prompts = find_method(method).all_prompts(spec, config)
    assert bool(prompts) == bool(calls) == (demand.prompt_tokens > 100 * calls)
    assert (demand.completion_tokens > 10 * calls) == bool(calls)


@pytest.mark.parametrize("settings", [{}, {"episodes": 2, "preset": "paper"}], ids=str)
def test_a_race_is_within_the_forecast(settings):
    close = [[plays(f"{i} + (seed * 7919) % 5") for i in (0, 0.1, 0.2)] for _ in range(3)]
    fake = promptpo_services(*close, probe=2, **{"episodes": "auto", **settings})
    fake.search()
    played = sum(len(seeds) for _, seeds, _ in fake.played)
    assert played <= find_method("promptpo").forecast(fake.spec, fake.config).search_steps / 500


TITLES = [
    ("props", {}, ["search", "again, after a reply without parameters"]),
    ("r2po", {}, ["search", "critic"]),
    ("r2po", {"critic_only": True}, ["critic"]),
    ("r2po", {"second_search": "pure"}, ["search", "second search"]),
    ("r2po", {"second_search": "informed"}, ["search", "second search"]),
]


def test_the_prompts_that_are_shown_are_those_of_the_variant():
    for method, settings, titles in TITLES:
        config = build({"method": method, **settings})
        shown = [t for t, _ in find_method(method).all_prompts(load_spec("cartpole"), config)]
        assert shown[: len(titles)] == titles


def test_the_papers_numbers_are_the_defaults():
    numbers = {
        "props": (400, 1, 20, {"warm_up": 20, "bound": 6.0, "max_repairs": 4}),
        "r2po": (100, 2, 20, {"warm_up": 20, "shown": "median"}),
    }
    for method, (rounds, candidates, episodes, options) in numbers.items():
        for preset in ({}, {"preset": "paper"}):
            config = build({"method": method, **preset})
            assert (config.rounds, config.candidates, config.episodes) == (
                rounds, candidates, episodes
            )  # fmt: skip
            assert config.patience == 0
            assert {k: getattr(config.options, k) for k in options} == options
        quick = build({"method": method, "preset": "quick"})
        assert (quick.rounds, quick.candidates) == (2, 2)
    assert build({"method": "props", "preset": "paper", "rounds": 7}).rounds == 7
    assert build({"preset": "paper"}).rounds == 10
    with pytest.raises(UsageError, match="candidates is 2 with the method r2po"):
        build({"method": "r2po", "candidates": 4})
