"""Best of N against services that a test has written."""

from fake_services import FakeServices, fails, fenced, mean_returns, plays

from promptpo.methods.best_of_n import BestOfN
from promptpo.types import Key


def services(*rounds, **settings):
    """Services for as many batches and samples as are written."""
    replies = {
        Key(number, index, role="policy"): fenced(source)
        for number, sources in enumerate(rounds, 1)
        for index, source in enumerate(sources, 1)
    }
    small = {"rounds": len(rounds), "candidates": max(map(len, rounds))}
    return FakeServices("best-of-n", replies, **{**small, **settings})


def test_every_call_is_a_sample_of_the_first_prompt_on_the_same_episodes():
    fake = services([plays(1), plays(2)], [plays(3), plays(4)])
    fake.search()
    assert [str(key) for key in fake.asked] == [
        "r01_c01_policy", "r01_c02_policy", "r02_c01_policy", "r02_c02_policy",
    ]  # fmt: skip
    (prompt,) = set(fake.prompts.values())
    [(title, sample)] = BestOfN.all_prompts(fake.spec, fake.config)
    assert (title, prompt) == ("policy", sample)
    assert "tried" not in fake.prompt(2, 2, role="policy")
    assert {seeds for _, seeds, _ in fake.played} == {(100, 101)}


def test_the_best_of_all_batches_are_the_finalists_each_text_once():
    fake = services([plays(8), plays(9)], [plays(1), plays(5)], finalists=3)
    search = fake.search()
    assert mean_returns(search.finalists) == {"r01_c02": 9.0, "r01_c01": 8.0, "r02_c02": 5.0}
    assert (search.reason, search.limited) == ("all samples are drawn", False)

    fake = services([plays(8), plays(9)], [plays(10), plays(5)], finalists=2)
    assert [c.name for c in fake.search().finalists] == ["r02_c01", "r01_c02"]

    fake = services([plays(1), plays(9)], [plays(9), plays(9)])
    search = fake.search()
    assert [c.name for c in search.finalists] == ["r01_c02", "r01_c01"]
    assert len(fake.played) == 2


def test_what_fails_or_holds_no_policy_is_neither_repaired_nor_a_finalist():
    fake = services([fails("why"), plays(1)])
    search = fake.search()
    assert search.rounds[0].candidates[0].error == "why"
    assert [c.name for c in search.finalists] == ["r01_c02"]
    assert len(fake.asked) == 2
    states = [(data["name"], data["state"]) for _, data in fake.reported]
    assert states[:2] == [("r01_c01", "asked"), ("r01_c02", "asked")]
    assert set(states[2:]) == {("r01_c01", "failed"), ("r01_c02", "scored")}

    fake = services([plays(1), plays(2)])
    fake.replies[Key(1, 1, role="policy")] = "I would rather not."
    candidate = fake.search().rounds[0].candidates[0]
    assert (candidate.source, candidate.rollout) == (None, None)
    assert "no code" in candidate.error

    search = services([fails("a"), fails("b")]).search()
    assert search.finalists == ()
    assert search.rounds[0].winner.score.failed
