"""Best of N against services that a test has written."""

import pytest
from fake_services import FakeServices, fails, fenced, mean_returns, plays

from promptpo.errors import GoalReached, LimitReached, ModelError
from promptpo.methods.best_of_n import BestOfN
from promptpo.prompts.task import count_tokens
from promptpo.run.settings import build
from promptpo.spec import load_spec
from promptpo.types import Key, Round

LIMIT = LimitReached("the limit of 7 model calls is reached")


def services(*rounds, **settings):
    """Services for as many batches and samples as are written."""
    replies = {
        Key(number, index, role="policy"): fenced(source)
        for number, sources in enumerate(rounds, 1)
        for index, source in enumerate(sources, 1)
    }
    small = {"rounds": len(rounds), "candidates": max(map(len, rounds))}
    return FakeServices("best-of-n", replies, **{**small, **settings})


def test_every_call_is_a_sample_of_the_first_prompt():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.search()
    assert [str(key) for key in fake.asked] == [
        "r01_c01_policy", "r01_c02_policy", "r02_c01_policy", "r02_c02_policy",
    ]  # fmt: skip
    assert len(set(fake.prompts.values())) == 1
    assert "tried" not in fake.prompt(2, 2, role="policy")


def test_all_samples_play_the_same_episodes_so_that_they_compare():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.search()
    assert {seeds for _, seeds, _ in fake.played} == {(100, 101)}


def test_the_best_of_all_batches_are_the_finalists_losers_of_their_batch_too():
    fake = services([plays(8), plays(9)], [plays(1), plays(5)], finalists=3)
    search = fake.search()
    assert mean_returns(search.finalists) == {"r01_c02": 9.0, "r01_c01": 8.0, "r02_c02": 5.0}
    assert (search.reason, search.limited) == ("all samples are drawn", False)


def test_the_best_stands_first_among_the_finalists():
    fake = services([plays(8), plays(9)], [plays(10), plays(5)], finalists=2)
    assert [c.name for c in fake.search().finalists] == ["r02_c01", "r01_c02"]


def test_equal_policies_are_one_finalist_the_earliest():
    fake = services([plays(1), plays(9)], [plays(9), plays(9)])
    search = fake.search()
    assert [c.name for c in search.finalists] == ["r01_c02", "r01_c01"]
    assert len(fake.played) == 2


def test_a_policy_that_fails_is_neither_repaired_nor_a_finalist():
    fake = services([fails("why"), plays(1)])
    search = fake.search()
    assert search.rounds[0].candidates[0].error == "why"
    assert [c.name for c in search.finalists] == ["r01_c02"]
    assert len(fake.asked) == 2


def test_a_reply_without_a_policy_is_a_failed_sample():
    fake = services([plays(1), plays(2)])
    fake.replies[Key(1, 1, role="policy")] = "I would rather not."
    candidate = fake.search().rounds[0].candidates[0]
    assert (candidate.source, candidate.rollout) == (None, None)
    assert "no code" in candidate.error


def test_where_all_fail_nobody_is_a_finalist():
    search = services([fails("a"), fails("b")]).search()
    assert search.finalists == ()
    assert search.rounds[0].winner.score.failed


def test_batches_have_their_best_and_each_sample_is_recorded():
    fake = services([plays(1), plays(2)], [plays(4), plays(3)])
    search = fake.search()
    assert [r.winner.name for r in search.rounds] == ["r01_c02", "r02_c01"]
    facts = [f"round {f.number}" if isinstance(f, Round) else f.name for f in fake.recorded]
    assert facts == ["r01_c01", "r01_c02", "round 1", "r02_c01", "r02_c02", "round 2"]


def test_whoever_watches_is_told_what_a_sample_is_at():
    fake = services([fails("why"), plays(1)])
    fake.search()
    states = [(data["name"], data["state"]) for _, data in fake.reported]
    assert states[:2] == [("r01_c01", "asked"), ("r01_c02", "asked")]
    assert set(states[2:]) == {("r01_c01", "failed"), ("r01_c02", "scored")}


def test_the_same_replies_resume_to_the_same_search_and_nothing_is_done_again():
    fake = services([plays(9), fails("a")], [plays(7), plays(6)])
    first = fake.search()
    asked, played = list(fake.asked), list(fake.played)
    assert fake.search() == first
    assert (fake.asked, fake.played) == (asked, played)


@pytest.mark.parametrize(
    ("end", "limited"), [(GoalReached("the target is reached"), False), (LIMIT, True)]
)
def test_it_ends_where_no_batch_is_opened_any_more(end, limited):
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.ends[2] = end
    search = fake.search()
    assert (len(search.rounds), search.reason, search.limited) == (1, str(end), limited)
    assert [c.name for c in search.finalists] == ["r01_c02", "r01_c01"]


def test_a_limit_before_a_call_is_the_error_of_that_sample():
    fake = services([plays(1), plays(2)])
    fake.ends[Key(1, 2, role="policy")] = LIMIT
    candidate = fake.search().rounds[0].candidates[1]
    assert (candidate.source, candidate.error) == (None, f"not written: {LIMIT}")


def test_what_there_is_no_room_to_play_keeps_its_source():
    fake = services([plays(1), plays(2)])
    fake.ends["r01_c02_0"] = LimitReached("no room")
    candidate = fake.search().rounds[0].candidates[1]
    assert candidate.error == "not played: no room"
    assert "plays 2" in candidate.source


def test_a_missing_reply_is_the_caller_s_to_know_and_the_others_are_recorded():
    fake = services([plays(1), plays(2)])
    del fake.replies[Key(1, 1, role="policy")]
    with pytest.raises(ModelError, match="no reply for r01_c01_policy"):
        fake.search()
    assert [c.name for c in fake.candidates()] == ["r01_c02"]


def test_the_limits_say_how_many_samples_a_batch_has():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.allowed[1] = 1
    assert [len(r.candidates) for r in fake.search().rounds] == [1, 2]


def test_the_forecast_is_a_call_and_an_evaluation_a_sample():
    spec, config = load_spec("cartpole"), build({"method": "best-of-n", "rounds": 3, "episodes": 2})
    demand = BestOfN.forecast(spec, config)
    assert (demand.calls, demand.max_calls, demand.finalists) == (12, 12, 5)
    assert demand.search_steps == 12 * 2 * 500
    [(title, messages)] = BestOfN.all_prompts(spec, config)
    assert title == "policy"
    assert demand.prompt_tokens == 12 * sum(count_tokens(m.content) for m in messages)


def test_no_more_finalists_are_forecast_than_there_are_samples():
    config = build({"method": "best-of-n", "rounds": 1, "candidates": 3})
    assert BestOfN.forecast(load_spec("cartpole"), config).finalists == 3


def test_its_prompt_is_the_first_of_promptpo():
    spec = load_spec("cartpole")
    [(_, sample)] = BestOfN.all_prompts(spec, build({"method": "best-of-n"}))
    fake = services([plays(1)])
    fake.search()
    assert fake.prompts[Key(1, 1, role="policy")] == sample
