from types import MappingProxyType

import pytest

from promptpo.config import RunConfig
from promptpo.limits import Ledger
from promptpo.methods.base import GoalReached, LimitReached
from promptpo.types import Candidate, Reply, Rollout, Round
from promptpo.usage import dollars, tokens_of


def ledger(**settings):
    return Ledger(RunConfig(**settings), horizon=100)


def reply(usage=MappingProxyType({"prompt_tokens": 1, "completion_tokens": 1}), cost=0.0):
    return Reply("", "m", usage=usage, cost=cost)


def won(number, mean_return):
    winner = Candidate(number, 1, "", Rollout("search", (1,), (mean_return,), (1,), (None,), 1))
    return Round(number, (winner,), winner)


def test_calls_in_flight_count_against_the_limit():
    book = ledger(max_calls=2)
    book.reserve_call()
    book.reserve_call()
    with pytest.raises(LimitReached, match="2 model calls"):
        book.reserve_call()
    book.release_call()
    book.reserve_call()


def test_cost_stops_further_calls():
    book = ledger(max_cost=0.5)
    book.count_reply(reply(cost=0.4))
    book.reserve_call()
    book.count_reply(reply(cost=0.2))
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.reserve_call()


def test_one_unknown_price_makes_the_total_unknown():
    book = ledger()
    for cost in (0.4, None, 0.4):
        book.count_reply(reply(cost=cost))
    assert book.usage.cost is None


def test_a_limit_counts_what_is_known_and_says_once_what_is_not():
    book = ledger(max_cost=0.5, max_tokens=30)
    blind = reply(usage=None, cost=None)
    told = [book.count_reply(r) for r in (reply(cost=0.4), blind, blind)]
    assert [len(notices) for notices in told] == [0, 2, 0]
    book.count_reply(reply(cost=0.1))
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.check()


ODD = [None, "12", 12.0, -1, True, [12], {"n": 12}, float("nan"), float("inf"), 10**30]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_tokens_that_are_no_count_are_unknown(odd):
    assert tokens_of({"prompt_tokens": odd, "completion_tokens": 3}) == (None, 3)


@pytest.mark.parametrize("usage", [None, [], "many", 7, {}, {"prompt_tokens": {}}], ids=repr)
def test_a_usage_of_any_shape_makes_the_totals_unknown_and_not_nothing(usage):
    book = ledger()
    book.count_reply(reply(usage=usage))
    assert (book.usage.prompt_tokens, book.usage.completion_tokens) == (None, None)


@pytest.mark.parametrize("odd", [None, "1", -0.1, True, [1], float("nan"), float("inf"), 10**400])
def test_a_price_that_is_none_is_unknown(odd):
    assert dollars(odd) is None


def test_tokens_are_those_of_prompts_and_replies():
    book = ledger(max_tokens=100)
    book.count_reply(reply({"prompt_tokens": 60, "completion_tokens": 39}))
    book.check()
    book.count_reply(reply({"prompt_tokens": 1, "completion_tokens": 0}))
    with pytest.raises(LimitReached, match="100 tokens"):
        book.check()


def test_earlier_sessions_count_as_time():
    book = Ledger(RunConfig(max_time=60), horizon=1, earlier=61.0)
    with pytest.raises(LimitReached, match="60 s"):
        book.check()


def test_the_step_limit_admits_whole_candidates_only():
    book = ledger(max_env_steps=1600, episodes=5, candidates=4)
    assert book.candidates_allowed() == 3
    book.count_steps("search", 1101)
    with pytest.raises(LimitReached, match="1,600 environment steps"):
        book.candidates_allowed()


def test_only_search_steps_count_against_the_step_limit():
    book = ledger(max_env_steps=2000)
    book.count_steps("test", 5000)
    assert book.candidates_allowed() == 4


def test_a_target_that_is_met_ends_the_search():
    book = ledger(target=10.0)
    book.check_progress([won(1, 9.9)])
    with pytest.raises(GoalReached, match="target of 10"):
        book.check_progress([won(1, 9.9), won(2, 10.0)])


def test_patience_counts_rounds_since_the_best():
    book = ledger(patience=2)
    book.check_progress([won(1, 5.0), won(2, 1.0)])
    with pytest.raises(GoalReached, match="2 rounds brought nothing better"):
        book.check_progress([won(1, 5.0), won(2, 1.0), won(3, 5.0)])
