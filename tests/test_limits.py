import pytest

from promptpo.config import RunConfig
from promptpo.limits import Ledger
from promptpo.methods.base import GoalReached, LimitReached
from promptpo.types import Candidate, Rollout, Round


def ledger(**settings):
    return Ledger(RunConfig(**settings), horizon=100)


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
    book.count_reply({}, 0.4)
    book.reserve_call()
    book.count_reply({}, 0.2)
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.reserve_call()


def test_one_unknown_price_makes_the_total_unknown():
    book = ledger()
    book.count_reply({}, 0.4)
    book.count_reply({}, None)
    book.count_reply({}, 0.4)
    assert book.usage.cost is None


def test_tokens_are_those_of_prompts_and_replies():
    book = ledger(max_tokens=100)
    book.count_reply({"prompt_tokens": 60, "completion_tokens": 39}, 0.0)
    book.check()
    book.count_reply({"prompt_tokens": 1, "completion_tokens": 0}, 0.0)
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
