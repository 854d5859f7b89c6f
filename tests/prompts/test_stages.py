import pytest
from rollouts import rollout

import sandbox
from promptpo.prompts.history import LOSER, Memory
from promptpo.prompts.promptpo import (
    episode_notes,
    feedback_messages,
    policy_messages,
    reflection_messages,
    reflection_text,
    render_all,
    repair_messages,
)
from promptpo.run.settings import build
from promptpo.spec import load_spec
from promptpo.types import Candidate, Key, Note, Round

CARTPOLE = load_spec("cartpole")
CONFIG = build()


def text(messages):
    return "\n".join(m.content for m in messages)


def one_round():
    """A round whose winner has something to tell, and a second line."""
    run = rollout((9.0,), lengths=(9,))
    notes = (Note("Worst episode", "it fell to the left"),)
    winner = Candidate(Key(1, 1), "class Policy:\n    speed = 77\n", run, notes=notes)
    other = Candidate(Key(1, 2), "class Policy:\n    hop = 55\n", rollout((3.0,)))
    return Round(1, (winner, other), winner, episode_notes(["it fell to the left"]))


def remembered(**details):
    round_ = one_round()
    return Memory((round_,), second=round_.candidates[1], **details)


def test_all_that_can_be_imported_and_the_time_limits_are_told():
    asked = text(policy_messages(CARTPOLE, CONFIG))
    for module in sandbox.ALLOWED_IMPORTS:
        assert f"`{module}`" in asked
    assert "`scipy.optimize`" in asked

    asked = text(policy_messages(CARTPOLE, build({"act_timeout": 0.25, "episode_timeout": 7.0})))
    assert "may take 0.25 s" in asked
    assert "episode 7 s" in asked

    assert "tried" not in text(policy_messages(CARTPOLE, CONFIG))


PAPER = build({"preset": "paper"})


@pytest.mark.parametrize(
    ("config", "second"), [(CONFIG, True), (PAPER, False), (build({"second_line": False}), False)]
)
def test_every_stage_is_shown(config, second):
    stages = [stage for stage, _ in render_all(CARTPOLE, config)]
    assert len(stages) == 5 + second
    assert {s.split()[0].rstrip(",") for s in stages} == {
        "feedback", "policy", "reflection", "repair",
    }  # fmt: skip
    assert ("policy, from the second line of attack" in stages) == second


@pytest.mark.parametrize("config", [CONFIG, PAPER])
def test_later_rounds_see_history_and_reflection(config):
    asked = text(policy_messages(CARTPOLE, config, remembered(reflection="Push earlier.")))
    assert "speed = 77" in asked
    assert "it fell to the left" in asked
    assert "Push earlier." in asked


@pytest.mark.parametrize("second", [False, True])
def test_a_policys_author_knows_how_many_rounds_there_are(second):
    asked = text(policy_messages(CARTPOLE, CONFIG, remembered(), second=second))
    assert f"This is round 2 of at most {CONFIG.rounds}." in asked


def test_rounds_are_not_counted_in_the_published_method_and_a_reflection_names_its_evidence():
    assert "of at most 10" not in text(policy_messages(CARTPOLE, PAPER, remembered()))

    asked = text(reflection_messages(CARTPOLE, CONFIG, remembered()))
    assert "Name the evidence" in asked
    assert "what one would see if it were wrong" in asked

    asked = text(policy_messages(CARTPOLE, CONFIG, remembered(), second=True))
    assert "r01_c02, instead" in asked
    assert "hop = 55" in asked.partition("## Your turn")[2]


@pytest.mark.parametrize(("config", "told"), [(CONFIG, True), (PAPER, False)])
def test_who_writes_feedback_knows_how_little_of_losers_is_seen(config, told):
    assert (f"the first {LOSER} or" in text(feedback_messages(CARTPOLE, config))) == told


@pytest.mark.parametrize(
    ("config", "words"),
    [(CONFIG, "what did\nround 1 teach?"), (PAPER, "Look at the winner of round 1.")],
)
def test_a_reflection_is_asked_about_the_last_round(config, words):
    assert words in text(reflection_messages(CARTPOLE, config, remembered()))


CLASS = "class Feedback: ..."


def rounds_with(*returns):
    found = []
    for number, value in enumerate(returns, 1):
        candidate = Candidate(Key(number, 1), f"policy {number}", rollout((value,)))
        found.append(Round(number, (candidate,), candidate))
    return tuple(found)


@pytest.mark.parametrize(
    ("returns", "asked"),
    [((1.0,), True), ((1.0, 2.0), False), ((3.0, 1.0), False), ((3.0, 1.0, 2.0), True),
     ((3.0, 1.0, 2.0, 1.0), False)],
)  # fmt: skip
def test_another_feedback_class_is_asked_for_at_first_and_where_two_rounds_brought_nothing(
    returns, asked
):
    memory = Memory(rounds_with(*returns), feedback=CLASS)
    assert (CLASS in text(reflection_messages(CARTPOLE, CONFIG, memory))) == asked


@pytest.mark.parametrize("config", [PAPER, build({"revise_feedback": False})])
def test_none_is_asked_for_where_it_would_not_be_taken(config):
    asked = text(reflection_messages(CARTPOLE, config, remembered(feedback=CLASS)))
    assert CLASS not in asked


def test_a_reflection_is_quoted_within_bounds_without_code_or_control_characters():
    assert reflection_text("Lean.\n```python\nclass Feedback: ...\n```\nThen push.") == (
        "Lean.\nThen push."
    )

    assert reflection_text(" It fell.\n") == "It fell."
    assert len(reflection_text("x" * 3_000_000)) < 11_000
    assert "\x1b" not in reflection_text("a\x1b[31mb")


def test_a_repair_continues_the_conversation_within_bounds():
    asked = policy_messages(CARTPOLE, CONFIG)
    repair = repair_messages(asked, "my code", "policy", "ZeroDivisionError", "printed this")
    assert repair[: len(asked)] == asked
    assert repair[-2].content == "my code"
    assert "ZeroDivisionError" in repair[-1].content
    assert "printed this" in repair[-1].content

    megabytes = "x" * 3_000_000
    asked = policy_messages(CARTPOLE, CONFIG)
    messages = repair_messages(asked, megabytes, "policy", megabytes, megabytes)
    assert len(text(messages[2:])) < 60_000
    assert text(messages).count("of 3,000,000 characters left out") == 3


@pytest.mark.parametrize("lifetime", ["episode", "evaluation"])
def test_the_prompt_says_how_long_a_policy_lives(lifetime):
    asked = text(policy_messages(CARTPOLE, build({"policy_lifetime": lifetime})))
    lives_on = lifetime == "evaluation"
    assert ("through the 10 episodes of an evaluation" in asked) == lives_on
    assert ("`reset(self)`" in asked) == lives_on
    assert ("The score counts all 10 episodes alike" in asked) == lives_on
    assert ("A new `Policy` object is made for every episode." in asked) != lives_on
