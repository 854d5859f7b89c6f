import pytest
from rollouts import rollout

import sandbox
from promptpo.prompts.promptpo import (
    REFLECTION,
    episode_notes,
    feedback_messages,
    policy_messages,
    reflection_messages,
    reflection_text,
    render_all,
    repair_messages,
)
from promptpo.run.options import build
from promptpo.spec import load_spec, prompt_parts, shipped_specs
from promptpo.types import Candidate, Key, Note, Round

CARTPOLE = load_spec("cartpole")
CONFIG = build()


def text(messages):
    return "\n".join(m.content for m in messages)


def one_round():
    run = rollout((9.0,), lengths=(9,))
    winner = Candidate(Key(1, 1), "class Policy:\n    speed = 77\n", run)
    return Round(1, (winner,), winner, episode_notes(["it fell to the left"]))


@pytest.mark.parametrize("name", shipped_specs())
def test_a_specs_parts_stand_in_the_prompt_as_they_are(name):
    spec = load_spec(name)
    parts = prompt_parts(spec)
    for asked in (policy_messages(spec, CONFIG), feedback_messages(spec, CONFIG)):
        for part in (parts.observation, parts.action, parts.reward, parts.description):
            assert part in text(asked)


def test_all_that_can_be_imported_is_named():
    asked = text(policy_messages(CARTPOLE, CONFIG))
    for module in sandbox.ALLOWED_IMPORTS:
        assert f"`{module}`" in asked
    assert "`scipy.optimize`" in asked


@pytest.mark.parametrize("name", shipped_specs())
def test_nothing_is_left_to_fill_in(name):
    for _, messages in render_all(load_spec(name), CONFIG):
        assert "$" not in text(messages)


@pytest.mark.parametrize(
    ("name", "score", "episodes"),
    [
        ("cartpole", "mean return <number>.", "returns <numbers>; steps <numbers>."),
        (
            "metaworld_reach",
            "success <number>/<number>, mean return <number>.",
            "returns <numbers>; successes <yes or no each>; steps <numbers>.",
        ),
    ],
)
def test_what_only_a_run_can_fill_in_stands_in_angle_brackets(name, score, episodes):
    stages = dict(render_all(load_spec(name), CONFIG))
    later = text(stages["policy, round 2 and later"])
    told = later.partition("## What has been tried")[2].partition("## Reflection")[0]
    assert f"Winner: candidate 1, {score}\nBy episode: {episodes}\n" in told
    assert "nan" not in told
    assert "<what Feedback made of this episode>" in told


def test_every_stage_is_shown():
    stages = [stage for stage, _ in render_all(CARTPOLE, CONFIG)]
    assert len(stages) == 5
    assert {s.split()[0].rstrip(",") for s in stages} == {
        "feedback", "policy", "reflection", "repair",
    }  # fmt: skip


def test_later_rounds_see_history_and_reflection():
    asked = text(
        policy_messages(CARTPOLE, CONFIG, [one_round()], [Note(REFLECTION, "Push earlier.")])
    )
    assert "speed = 77" in asked
    assert "it fell to the left" in asked
    assert "Push earlier." in asked


def test_the_first_round_has_no_history():
    assert "tried" not in text(policy_messages(CARTPOLE, CONFIG))


def test_a_reflection_is_asked_about_the_last_round():
    assert "winner of round 1" in text(reflection_messages(CARTPOLE, CONFIG, [one_round()]))


def test_a_repair_continues_the_conversation():
    asked = policy_messages(CARTPOLE, CONFIG)
    repair = repair_messages(asked, "my code", "policy", "ZeroDivisionError", "printed this")
    assert repair[: len(asked)] == asked
    assert repair[-2].content == "my code"
    assert "ZeroDivisionError" in repair[-1].content
    assert "printed this" in repair[-1].content


@pytest.mark.parametrize("lifetime", ["episode", "evaluation"])
def test_the_prompt_says_how_long_a_policy_lives(lifetime):
    asked = text(policy_messages(CARTPOLE, build({"policy_lifetime": lifetime})))
    assert ("through all episodes" in asked) == (lifetime == "evaluation")


def test_the_time_limits_are_told():
    asked = text(policy_messages(CARTPOLE, build({"act_timeout": 0.25, "episode_timeout": 7.0})))
    assert "may take 0.25 s" in asked
    assert "episode 7 s" in asked


def test_a_repair_quotes_megabytes_in_part_and_says_so():
    megabytes = "x" * 3_000_000
    asked = policy_messages(CARTPOLE, CONFIG)
    messages = repair_messages(asked, megabytes, "policy", megabytes, megabytes)
    assert len(text(messages[2:])) < 60_000
    assert text(messages).count("of 3,000,000 characters left out") == 3


def test_a_reflection_is_quoted_within_bounds_and_without_control_characters():
    assert reflection_text(" It fell.\n") == "It fell."
    assert len(reflection_text("x" * 3_000_000)) < 11_000
    assert "\x1b" not in reflection_text("a\x1b[31mb")
