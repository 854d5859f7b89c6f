"""The seam: what holds of the search of every method, against services that a test has written."""

import pytest
import test_best_of_n
import test_inspo
import test_props
import test_r2po
import test_random_search
from fake_services import plays
from fake_services import services as promptpo_services

from promptpo.errors import GoalReached, LimitReached, ModelError
from promptpo.types import Candidate, Key, MethodTable, Round

LIMIT = LimitReached("the limit of 7 model calls is reached")
CODE = ([plays(5), plays(2)], [plays(3), plays(4)], [plays(7), plays(6)])

#: Services of each method for a search of three rounds of two candidates.
SEARCHES = {
    "promptpo": lambda **more: promptpo_services(*CODE, **more),
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
