"""Runs whose policies are tuned: CartPole, and a policy that keeps the pole up for a while."""

from pathlib import Path

import pytest
from scripted import BAD, GOOD, cut, data_of, outcome, prompts_of, replies, run, run_small

from promptpo import optimize

LEANING = (Path(__file__).parents[1] / "data" / "leaning.txt").read_text()
REFUSED = LEANING.replace("tunable(0.0, -0.5, 1.0)", "tunable(2.0, -0.5, 1.0)")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """Two rounds, the first one's policy tuned; result and events."""
    folder = tmp_path_factory.mktemp("tuned")
    script = replies([LEANING, BAD], [GOOD, BAD])
    return run(folder, script, tune=True, tune_steps=40_000, early_stop=False, patience=0)


@pytest.mark.slow
def test_what_tuning_found_is_a_candidate_with_plain_numbers(tuned):
    result, events = tuned
    written, _, found = result.rounds[0].candidates
    assert (found.kind, found.parents) == ("tuned", (written.name,))
    assert found.score > written.score
    assert "tunable" not in written.source + found.source
    assert "AHEAD = 0.0  # s, by which" in written.source
    assert "; was 0" in found.source
    (account,) = [e for e in data_of(events, "tuned") if e["key"]["round"] == 1]
    assert account["kept"]
    assert [c["name"] for c in account["constants"]] == ["Policy.AHEAD", "__init__(centre)"]
    assert account["difference"] > 100
    assert account["before"]["mean_return"] < account["after"]["mean_return"]


@pytest.mark.slow
def test_steps_of_tuning_are_a_stream_of_their_own_within_the_budget(tuned):
    result, events = tuned
    steps = result.usage.steps
    played = sum(r["steps"] for e in data_of(events, "tuning") for r in e["runs"])
    assert steps["tuning"] == played <= 40_000
    seeds = {s for e in data_of(events, "tuning") for s in e["seeds"]}
    others = {s for e in data_of(events, "rollout") for s in e["seeds"]}
    assert not seeds & others


@pytest.mark.slow
def test_the_next_prompt_tells_what_tuning_found_and_the_first_how_to_declare(tuned):
    _, events = tuned
    prompts = prompts_of(events)
    assert "tunable(1.5, 0.1, 10, log=True)" in prompts["r01_c01_policy"]
    assert "What tuning found" not in prompts["r01_c01_policy"]
    told = prompts["r02_c01_policy"]
    assert "### What tuning found in the last round" in told
    assert "Policy.AHEAD 0 to " in told
    assert "r01_c03 has them" in told
    assert "What tuning found" in prompts["r02_reflection"]


@pytest.mark.slow
def test_a_round_whose_steps_are_too_few_says_so(tuned):
    """Episodes are ten times as long once the pole stays up."""
    _, events = tuned
    assert any("round 2 tunes nothing" in e["text"] for e in data_of(events, "notice"))


def test_without_tune_nothing_is_tuned_and_nothing_told(tmp_path):
    result, events = run(tmp_path, replies([GOOD]))
    assert not data_of(events, "tuning")
    assert not result.usage.steps.get("tuning")
    assert "tunable" not in data_of(events, "prompt")[1]["messages"][-1]["content"]


def test_a_wrong_declaration_is_sent_back_with_its_line(tmp_path):
    script = replies([REFUSED])
    script.say(LEANING, "repair", 1, 1, 1)
    result, events = run(tmp_path, script, tune=True, tune_steps=0, max_repairs=1)
    (repair,) = [e for e in data_of(events, "prompt") if e["key"]["role"] == "repair"]
    said = repair["messages"][-1]["content"]
    assert "line 4: tunable(value, low, high): 2 is not from -0.5 to 1" in said
    assert result.best.source == LEANING.replace("tunable(0.0, -0.5, 1.0)", "0.0").replace(
        "tunable(0.0, -0.2, 0.2)", "0.0"
    )


def test_too_few_steps_are_said_and_nothing_is_tuned(tmp_path):
    result, events = run(tmp_path, replies([LEANING]), tune=True, tune_steps=500)
    assert any("500 steps of tuning are too few" in e["text"] for e in data_of(events, "notice"))
    assert len(result.rounds[0].candidates) == 1


@pytest.mark.slow
def test_a_limit_on_steps_holds_for_tuning_too(tmp_path):
    settings = {"tune": True, "tune_steps": 10**6, "max_env_steps": 12_000, "method": "tune"}
    model = f"file:{_file(tmp_path)}"
    result, _ = run_small(tmp_path, rounds=1, candidates=1, model=model, **settings)
    steps = result.usage.steps
    assert steps["tuning"] > 0
    assert steps["search"] + steps["tuning"] <= 12_000
    assert result.best is not None


@pytest.mark.slow
def test_a_run_that_tunes_a_file_goes_on_without_the_file(tmp_path):
    file = _file(tmp_path)
    whole, _ = run_small(
        tmp_path, method="tune", model=f"file:{file}", rounds=1, candidates=1, tune=True,
        tune_steps=15_000, policy_seed=3,
    )  # fmt: skip
    file.unlink()
    folder = cut(whole.folder, tmp_path / "cut", "tuning", 2)
    assert optimize(resume=folder).usage.steps == whole.usage.steps
    assert outcome(folder) == outcome(whole.folder)


def _file(folder):
    path = folder / "leaning.py"
    path.write_text(LEANING)
    return path
