from dataclasses import replace
from types import MappingProxyType

import pytest
from rollouts import rollout

from promptpo.config import RunConfig
from promptpo.errors import GoalReached, LimitReached
from promptpo.llm.messages import Reply, dollars, tokens_of
from promptpo.run.limits import Ledger, check_optimum
from promptpo.spec import Reference, load_spec
from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.store.trials import Usage
from promptpo.types import Candidate, Key, Round

CALLS = [Key(1, index, role="policy") for index in (1, 2, 3)]


def ledger(**settings):
    return Ledger(RunConfig(**settings), horizon=100)


def reply(usage=MappingProxyType({"prompt_tokens": 1, "completion_tokens": 1}), cost=0.0):
    return Reply("", "m", usage=usage, cost=cost)


def won(number, mean_return):
    winner = Candidate(Key(number, 1), "", rollout((mean_return,)))
    return Round(number, (winner,), winner)


def test_calls_in_flight_count_against_the_limit():
    book = ledger(max_calls=2)
    book.reserve_call(CALLS[0])
    book.reserve_call(CALLS[1])
    with pytest.raises(LimitReached, match="2 model calls"):
        book.reserve_call(CALLS[2])
    book.release_call(CALLS[0])
    book.reserve_call(CALLS[2])


def test_a_call_that_a_kill_cut_short_keeps_its_place():
    sent = [Event("prompt", {"key": encode(key)}) for key in CALLS[:2]]
    book = Ledger(RunConfig(max_calls=2), 100, sent)
    with pytest.raises(LimitReached, match="2 model calls"):
        book.reserve_call(CALLS[2])
    book.reserve_call(CALLS[1])


def test_what_earlier_sessions_spent_counts_from_the_start():
    usage = {"prompt_tokens": 3, "completion_tokens": 4}
    past = [
        Event("reply", {"key": encode(CALLS[0]), "usage": usage, "cost": 0.5}),
        Event("rollout", {"stream": "search", "steps": 7}),
        Event("rollout", {"stream": "test", "steps": 9}),
    ]
    book = Ledger(RunConfig(max_cost=0.5), 100, past)
    book.count_reply(reply(usage=usage, cost=0.5), new=False)
    book.count_steps("search", 7, new=False)
    none = {"search": 0, "tuning": 0, "selection": 0, "test": 0}
    assert book.usage == Usage(1, 3, 4, 0.5, {**none, "search": 7, "test": 9})
    assert book.reached.usage == Usage(1, 3, 4, 0.5, {**none, "search": 7})
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.check()


def test_cost_stops_further_calls():
    book = ledger(max_cost=0.5)
    book.count_reply(reply(cost=0.4))
    book.reserve_call(CALLS[0])
    book.count_reply(reply(cost=0.2))
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.reserve_call(CALLS[0])


def test_a_limit_counts_what_is_known_and_says_once_what_is_not():
    book = ledger(max_cost=0.5, max_tokens=30)
    blind = reply(usage=None, cost=None)
    told = [book.count_reply(r) for r in (reply(cost=0.4), blind, blind)]
    assert [len(notices) for notices in told] == [0, 2, 0]
    book.count_reply(reply(cost=0.1))
    with pytest.raises(LimitReached, match=r"\$0\.5"):
        book.check()


ODD = [None, "12", 12.0, -1, True, [12], {"n": 12}, float("nan"), float("inf"), 10**30]


def test_what_is_no_number_is_unknown_and_so_are_the_totals():
    for odd in ODD:
        assert tokens_of({"prompt_tokens": odd, "completion_tokens": 3}) == (None, 3), odd
    for odd in (None, "1", -0.1, True, [1], float("nan"), float("inf"), 10**400):
        assert dollars(odd) is None
    for usage in (None, [], "many", 7, {}, {"prompt_tokens": {}}):
        book = ledger()
        for cost in (0.4, None, 0.4):
            book.count_reply(reply(usage=usage, cost=cost))
        total = book.usage
        assert (total.prompt_tokens, total.completion_tokens, total.cost) == (None, None, None)


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
    assert book.open_round(1) == 3
    book.count_steps("search", 1101, new=True)
    with pytest.raises(LimitReached, match="1,600 environment steps"):
        book.open_round(2)


def test_a_candidate_and_its_repairs_have_to_do_with_their_share():
    book = ledger(max_env_steps=2400, episodes=5, candidates=2)
    book.open_round(1)  # 1,200 each, 500 an attempt
    book.check_attempt(Key(1, 1))
    book.count_share(Key(1, 1), 500)
    book.check_attempt(Key(1, 1, 1))
    book.count_share(Key(1, 1, 1), 201)
    book.check_attempt(Key(1, 2))
    with pytest.raises(LimitReached, match="another attempt's 500"):
        book.check_attempt(Key(1, 1, 2))


def test_a_share_is_reserved_from_whoever_is_asked_for_episodes():
    book = ledger(max_env_steps=2400, episodes=5, candidates=2)
    book.open_round(1)
    assert book.reserve_steps(Key(1, 1), 12) == 0  # 1,200 of its own: nothing is taken from others
    with pytest.raises(LimitReached, match="another attempt's 1,300"):
        book.reserve_steps(Key(1, 2), 13)


def test_what_belongs_to_no_candidate_is_taken_from_what_is_left():
    book = ledger(max_env_steps=1000)
    first = book.reserve_steps(Key(1), 6)
    assert first == 600
    with pytest.raises(LimitReached, match="no room for 500 more"):
        book.reserve_steps(Key(1), 5)
    book.release_steps(first)
    book.count_steps("test", 5000, new=True)  # other streams do not count
    book.count_steps("search", 300, new=True)
    assert book.reserve_steps(Key(1), 7) == 700


def test_a_round_that_has_begun_is_shared_out_as_it_was():
    past = [Event("rollout", {"stream": "search", "steps": 600})] * 2
    book = Ledger(RunConfig(max_env_steps=1650, episodes=5, candidates=2), 100, past)
    assert book.open_round(1, begun=1) == 2
    book.count_steps("search", 600, new=False)
    assert book.open_round(2, begun=1) == 2
    book.count_steps("search", 600, new=False)
    with pytest.raises(LimitReached, match="no room"):
        book.open_round(3)


def test_a_round_that_has_begun_keeps_its_candidates_where_not_all_would_fit_now():
    book = ledger(max_env_steps=900, episodes=5, candidates=4)
    assert book.open_round(1, begun=3) == 3


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


CARTPOLE = load_spec("cartpole")  # its optimum is 500
WITH_SUCCESS = replace(
    CARTPOLE, references={"optimum": Reference(500.0, 1.0), "random": Reference(20.0, 0.0)}
)


def best(*returns, **details):
    return Candidate(Key(1, 1), "text", rollout(returns, **details))


def test_the_best_possible_score_ends_the_search_within_noise():
    with pytest.raises(GoalReached, match="best possible score, a return of 500, is reached"):
        check_optimum(CARTPOLE, best(*[500.0] * 10))
    with pytest.raises(GoalReached):
        check_optimum(CARTPOLE, best(*[500.0] * 19, 490.0))


def test_it_is_not_reached_within_noise_by_less():
    below = {
        "few episodes": best(*[500.0] * 9),
        "noisy ones": best(*[500.0, 300.0] * 10),
        "below it": best(*[490.0] * 20),
        "failed": Candidate(Key(1, 1), "text", rollout((500.0,) * 10), error="it raised"),
        "never played": Candidate(Key(1, 1), None),
    }
    for candidate in below.values():
        check_optimum(CARTPOLE, candidate)
    check_optimum(replace(CARTPOLE, references={"expert": 500.0}), best(*[500.0] * 10))


def test_success_must_be_reached_too():
    hits = [True] * 20
    with pytest.raises(GoalReached):
        check_optimum(WITH_SUCCESS, best(*[500.0] * 20, successes=hits))
    check_optimum(WITH_SUCCESS, best(*[500.0] * 20, successes=[False] * 6 + hits[6:]))
