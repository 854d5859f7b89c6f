"""ProPS and ProPS+ against services that a test has written."""

import re

import pytest
from fake_services import FakeServices

from promptpo.errors import LimitReached, UsageError
from promptpo.policies import Actions
from promptpo.types import Key

LIMIT = LimitReached("the limit of 7 model calls is reached")


def weights(source):
    """The numbers of a linear policy."""
    found = re.search(r"WEIGHTS = np.array\(\[\n(.*?)\n\]\)", source, re.DOTALL)[1]
    return [float(x) for x in re.findall(r"-?\d[\d.e+-]*", found)]


def first_weight(source, seed):
    """Makes a return of a policy."""
    return weights(source)[0]


def reply(first, rest=0.0):
    return "I go on.\n" + ", ".join(f"params[{i}]: {first if i == 0 else rest}" for i in range(10))


def services(*firsts, method="props", outcome=first_weight, **settings):
    """Services that propose policies with these first weights, one an iteration."""
    replies = {Key(n, 1, role="search"): reply(x) for n, x in enumerate(firsts, 1)}
    small = {"rounds": len(firsts), "episodes": 2, "warm_up": 2}
    return FakeServices(method, replies, outcome=outcome, **{**small, **settings})


def test_each_iteration_is_told_all_before_it_and_has_fresh_episodes():
    fake = services(1.5, 2.5)
    fake.search()
    first, second = (fake.prompt(n, 1, role="search") for n in (1, 2))
    assert first.count("params = [") == 2
    assert second.count("params = [") == 3
    assert "params = [1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: mean 1.5 of 2" in second
    assert "proposal 2." in second

    fake = services(1.0, 2.0)
    fake.search()
    assert [seeds for _, seeds, _ in fake.played[2:]] == [(102, 103), (104, 105)]


def test_numbers_alone_say_nothing_of_the_task_and_props_plus_says_it():
    alone, plus = services(1.0), services(1.0, method="props+")
    alone.search()
    plus.search()
    told = alone.prompt(1, 1, role="search").lower()
    assert not any(word in told for word in ("cart", "pole", "polic", "episode", "observ"))
    assert "x[0] cart_position" in plus.prompt(1, 1, role="search")
    assert "largest mean that can be had is 500" in told

    fake = services(1.0, spec="mujoco_swimmer")
    fake.search()
    assert "that can be had" not in fake.prompt(1, 1, role="search")


def test_warm_up_is_of_random_policies_with_an_episode_each():
    fake = services(1.0, warm_up=3)
    fake.search()
    samples = [c for c in fake.candidates() if c.key.round == 0]
    assert [c.kind for c in samples] == ["sample"] * 3
    assert [c.rollout.seeds for c in samples] == [(100,), (101,), (102,)]
    numbers = [x for c in samples for x in weights(c.source)]
    assert all(abs(x) <= 6 and round(x, 1) == x for x in numbers)

    def drawn(seed):
        fake = services(1.0, seed=seed)
        fake.search()
        return [c.source for c in fake.candidates() if c.key.round == 0]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)

    fake = services(1.0, warm_up=20, max_env_steps=1500)
    fake.search()
    assert len([c for c in fake.candidates() if c.key.round == 0]) == 3


def test_the_best_of_all_are_the_finalists():
    search = services(1.0, 3.0, 2.0, finalists=2).search()
    assert [c.name for c in search.finalists] == ["r02_c01", "r03_c01"]
    assert (search.reason, search.limited) == ("all rounds are done", False)


def test_what_is_clipped_is_told_with_the_parameters():
    fake = services(99)
    [note] = fake.search().rounds[0].winner.notes
    assert note.title == "Parameters"
    assert note.text.startswith("params = [6.0, 0.0,")
    assert note.text.endswith("1 of 10 parameters clipped to -6 .. 6")
    assert any("clipped" in str(data.get("text")) for _, data in fake.reported)


def test_a_reply_without_parameters_is_asked_for_again_and_is_a_failed_proposal_then():
    fake = services("oops")
    fake.replies[Key(1, 1, 1, "search")] = reply(2.0)
    winner = fake.search().rounds[0].winner
    assert (winner.key, winner.score.mean_return) == (Key(1, 1, 1), 2.0)
    again = fake.prompts[Key(1, 1, 1, "search")]
    assert [m.role for m in again] == ["system", "user", "assistant", "user"]
    assert "without params[0]" in again[-1].content

    fake = services("oops", 2.0, max_repairs=1)
    fake.replies[Key(1, 1, 1, "search")] = "I would rather not."
    search = fake.search()
    failed, good = (r.winner for r in search.rounds)
    assert (failed.source, failed.error[:19]) == (None, "no parameters found")
    assert good.score.mean_return == 2.0
    assert fake.prompt(2, 1, role="search").count("params = [") == 2
    assert search.finalists == (good,)


def test_a_policy_that_fails_does_not_enter_the_history():
    fake = services(1.0, 2.0, outcome=lambda source, seed: "why" if seed > 101 else 1.0)
    search = fake.search()
    assert search.rounds[0].winner.error == "why"
    assert fake.prompt(2, 1, role="search").count("params = [") == 2
    assert search.finalists == ()


def test_several_proposals_answer_one_prompt_and_limits_are_their_errors():
    fake = services(1.0, candidates=2)
    fake.replies[Key(1, 2, role="search")] = reply(4.0)
    assert fake.search().rounds[0].winner.name == "r01_c02"
    assert fake.prompt(1, 1, role="search") == fake.prompt(1, 2, role="search")

    fake = services(1.0, 2.0)
    fake.ends[Key(1, 1, role="search")] = LIMIT
    fake.ends["r02_c01_0"] = LIMIT
    errors = [r.winner.error for r in fake.search().rounds]
    assert errors == [f"not proposed: {LIMIT}", f"not played: {LIMIT}"]


def test_too_many_parameters_are_refused():
    many = Actions((17,), (-0.4,) * 17, (0.4,) * 17)
    with pytest.raises(UsageError, match="--method props asks for 1,000 at most"):
        services(1.0, spec="mujoco_humanoid", actions=many).search()
