"""R2PO against services that a test has written."""

import numpy as np
import pytest
from fake_services import FakeServices
from rollouts import rollout
from test_props import first_weight, reply

from promptpo.errors import LimitReached
from promptpo.methods.r2po import R2PO, chosen
from promptpo.prompts.r2po import default_threshold, episode_text, statistics_words
from promptpo.spec import load_spec
from promptpo.types import Key, Trajectory


def services(*pairs, role="critic", outcome=first_weight, **settings):
    """Services for an iteration a pair: the first weights of the proposal and of what follows."""
    replies = {}
    for number, (first, second) in enumerate(pairs, 1):
        replies[Key(number, 1, role="search")] = reply(first)
        replies[Key(number, 2, role=role)] = reply(second)
    small = {"rounds": len(pairs), "episodes": 3, "warm_up": 1}
    return FakeServices("r2po", replies, outcome=outcome, **{**small, **settings})


def history_of(fake, *key, role):
    """The means in the history of a prompt, that of warm-up left out."""
    lines = [x for x in fake.prompt(*key, role=role).splitlines() if x.startswith("params = [")]
    return [float(x.split("mean ")[1].split(" of")[0]) for x in lines if "mean" in x][1:]


def test_the_better_of_proposal_and_revision_enters_the_history():
    fake = services((1.0, 2.0), (4.0, 3.0), (0.5, 0.5))
    search = fake.search()
    assert [r.winner.name for r in search.rounds] == ["r01_c02", "r02_c01", "r03_c02"]
    assert history_of(fake, 3, 1, role="search") == [2.0, 4.0]
    assert [c.kind for c in search.rounds[0].candidates] == ["proposal", "revision"]
    assert search.rounds[0].candidates[1].parents == ("r01_c01",)


def test_both_play_fresh_episodes_or_on_request_the_same():
    fake = services((1.0, 2.0), (4.0, 3.0))
    fake.search()
    assert [seeds[0] for _, seeds, _ in fake.played] == [100, 101, 104, 107, 110]

    fake = services((1.0, 2.0), same_episodes=True)
    fake.search()
    assert fake.played[1][1] == fake.played[2][1]
    assert "plays the same episodes" in fake.prompt(1, 2, role="critic")


def test_the_critic_sees_task_statistics_and_an_episode_and_the_search_numbers_alone():
    fake = services((1.0, 2.0), outcome=lambda source, seed: float(seed))
    fake.search()
    told = fake.prompt(1, 2, role="critic")
    for words in (
        "# Task: CartPole",
        "params[0] to params[3]",
        "params = [1.0, 0.0,",
        "return: mean 102, lowest 101, highest 103",
        "## The median episode",
        "If the mean return is 476.14 or more",
        "the better of the two is kept",
    ):
        assert words in told

    fake = services((1.0, 2.0))
    fake.search()
    assert "pole" not in fake.prompt(1, 1, role="search").lower()


@pytest.mark.parametrize(
    ("shown", "titles"),
    [
        ("none", []),
        ("one", ["A representative episode"]),
        ("median", ["The median episode"]),
        ("three", ["The worst episode", "The median episode", "The best episode"]),
    ],
)
def test_the_critic_sees_the_episodes_that_are_asked_for(shown, titles):
    fake = services((1.0, 2.0), shown=shown)
    fake.search()
    told = fake.prompt(1, 2, role="critic")
    headings = [x[3:].split(" (")[0] for x in told.splitlines() if x.startswith("## ")]
    assert [x for x in headings if x.endswith("episode")] == titles
    example = dict(R2PO.all_prompts(fake.spec, fake.config))["critic"][-1].content
    assert [f"## {title}" in example for title in titles] == [True] * len(titles)


def test_the_median_episode_is_the_nearest_to_the_median_the_first_of_several():
    run = rollout([5.0, 1.0, 9.0, 4.0], seeds=[7, 8, 9, 10])
    assert chosen(run, "median") == {"The median episode": 7}
    assert chosen(run, "one") == {"A representative episode": 7}
    assert list(chosen(run, "three").values()) == [8, 7, 9]
    assert chosen(run, "none") == {}


def test_always_taking_the_revision_takes_worse_ones_but_none_that_fails():
    fake = services((4.0, 3.0), (4.0, "oops"), always_revise=True, max_repairs=0)
    assert [r.winner.name for r in fake.search().rounds] == ["r01_c02", "r02_c01"]
    assert "kept, whatever it comes to" in fake.prompt(1, 2, role="critic")


def test_the_critic_alone_goes_on_from_the_latest_policy_or_a_first_search():
    fake = services(critic_only=True, rounds=2, warm_up=0)
    fake.replies = {Key(n, 1, role="critic"): reply(n) for n in (1, 2)}
    search = fake.search()
    assert [len(r.candidates) for r in search.rounds] == [1, 1]
    assert search.rounds[0].winner.parents == ("r00_c01",)
    assert search.rounds[1].winner.parents == ("r01_c01",)
    assert "params = [1.0, 0.0," in fake.prompt(2, 1, role="critic")

    fails = lambda source, seed: "why" if seed == 100 else first_weight(source, seed)  # noqa: E731
    fake = services((3.0, 4.0), (0.0, 0.0), critic_only=True, outcome=fails)
    fake.replies[Key(2, 1, role="critic")] = reply(5.0)
    first, second = fake.search().rounds
    assert [c.kind for c in (*first.candidates, *second.candidates)] == ["proposal", "revision"]
    assert second.winner.parents == ("r01_c01",)


def test_a_second_search_sees_what_the_first_saw_or_its_result_too():
    fake = services((4.0, 3.0), role="search", second_search="pure")
    assert fake.search().rounds[0].winner.name == "r01_c01"
    assert fake.prompt(1, 1, role="search") == fake.prompt(1, 2, role="search")

    fake = services((4.0, 5.0), role="search", second_search="informed")
    assert fake.search().rounds[0].winner.name == "r01_c02"
    told = fake.prompt(1, 2, role="search")
    assert "0.0]: mean 4 of 3" in told
    assert "pole" not in told.lower()


def test_a_proposal_or_revision_that_fails_ends_nothing():
    fake = services(("oops", 1.0), (2.0, 3.0), max_repairs=0)
    search = fake.search()
    assert [len(r.candidates) for r in search.rounds] == [1, 2]
    assert history_of(fake, 2, 1, role="search") == []
    assert [c.name for c in search.finalists] == ["r02_c02", "r02_c01"]

    fake = services((2.0, "oops"), max_repairs=0)
    search = fake.search()
    assert search.rounds[0].winner.name == "r01_c01"
    assert "no parameters" not in search.rounds[0].candidates[0].name

    fake = services((2.0, 3.0))
    fake.ends[Key(1, 2, role="critic")] = LimitReached("no call is left")
    search = fake.search()
    assert search.rounds[0].candidates[1].error == "not proposed: no call is left"
    assert search.rounds[0].winner.name == "r01_c01"


def test_success_is_the_task_s_or_near_the_best_possible_return_as_the_threshold_is():
    cart = rollout([500.0, 499.6, 499.0], lengths=[500, 500, 499])
    assert "successes: 2 of 3, failures: 1" in statistics_words(load_spec("cartpole"), cart)
    lake = rollout([1.0, 0.0], lengths=[9, 3], successes=[True, False])
    assert "successes: 1 of 2, failures: 1" in statistics_words(load_spec("frozen_lake"), lake)
    assert "success" not in statistics_words(load_spec("mujoco_swimmer"), cart)

    assert default_threshold(load_spec("cartpole")) == pytest.approx(500 - 0.05 * (500 - 22.8))
    assert default_threshold(load_spec("mujoco_swimmer")) is None


def test_an_episode_is_told_with_what_never_changes_once_and_without_a_long_middle():
    seen = np.array([[0.1, 2, 3, 4], [0.25, 2, 3, 4], [0.33333, 2, 3, 4]])
    episode = Trajectory(seen, np.ones((2, 1)), np.array([1.0, -0.0]), 1, True, False, None)
    assert episode_text(load_spec("cartpole"), episode, 10).splitlines() == [
        "The same in every step: cart_velocity 2, pole_angle 3, pole_velocity 4.",
        "step | cart_position | action | reward",
        "0 | 0.1 | 1 | 1",
        "1 | 0.25 | 1 | 0",
        "2 | 0.333 | the end: terminated",
    ]

    seen = np.arange(404.0).reshape(101, 4)
    episode = Trajectory(seen, np.ones((100, 1)), np.ones(100), 1, False, True, True)
    lines = episode_text(load_spec("cartpole"), episode, 4).splitlines()
    assert [x.split(" |")[0] for x in lines[1:-1]] == [
        "0",
        "1",
        "... (96 steps are left out)",
        "98",
        "99",
    ]
    assert lines[-1].endswith("the end: the step limit, a success")
