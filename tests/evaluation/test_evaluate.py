"""Policies scored from a program: what can be named, what comes back."""

import dataclasses
import json

import pytest
from scripted import BAD, GOOD, replies, run

import promptpo
from promptpo.errors import RunError, SpecError, UsageError

SMALL = {"episodes": 6, "workers": 1}


class Policy:
    """Push to the side that the pole leans to."""

    def act(self, obs):
        return int(obs.pole_angle > 0)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A run of CartPole whose best policy never falls, with 3 held-out episodes."""
    return run(tmp_path_factory.mktemp("run"), replies([BAD, GOOD]))[0]


def test_a_run_is_scored_again_as_it_was_set(result):
    found = promptpo.evaluate(result, workers=1)
    assert found.rollout.seeds == result.test.seeds
    assert found.rollout.returns == result.test.returns
    assert found.run == result.folder
    assert promptpo.evaluate(result.folder, workers=1).rollout == found.rollout


@pytest.mark.slow
def test_a_candidate_a_text_a_class_and_a_file_are_policies(result, tmp_path):
    file = tmp_path / "policy.py"
    file.write_text(GOOD)
    for policy in (result.best, GOOD, file):
        score = promptpo.evaluate(policy, promptpo.load_spec("cartpole"), seed=3, **SMALL)
        assert (score.spec, score.seed, score.mean_return) == ("cartpole", 3, 500)
    assert 20 < promptpo.evaluate(Policy, "cartpole", **SMALL).mean_return < 80


def test_what_every_task_has_plays_the_same_episodes():
    zero = promptpo.evaluate("zero", "cartpole", **SMALL)
    bad = promptpo.evaluate(BAD, "cartpole", **SMALL)
    assert zero.rollout.seeds == bad.rollout.seeds
    assert zero.rollout.returns == bad.rollout.returns  # both always push to the left
    assert zero.source == ""
    assert repr(bad).startswith("<Evaluation of policy on cartpole: mean return 9")
    assert str(bad).splitlines()[0] == "policy       policy"
    assert "<td" in bad._repr_html_()
    low, high = bad.mean_return_interval.low, bad.mean_return_interval.high
    assert low <= bad.mean_return <= high
    assert (bad.success_rate, bad.success_rate_interval) == (None, None)
    first, second = (promptpo.evaluate("random", "cartpole", **SMALL) for _ in range(2))
    assert first.rollout == second.rollout
    assert len(set(first.rollout.returns)) > 1
    expert = promptpo.evaluate("expert", "metaworld_reach", episodes=2, workers=1)
    assert (expert.success_rate, expert.rollout.lengths) == (1.0, (500, 500))


def test_a_policy_that_fails_is_a_result():
    found = promptpo.evaluate(
        "class Policy:\n    def act(self, o):\n        return o.x", "cartpole"
    )
    assert found.score.failed
    assert found.error.startswith("policy:3: the policy failed: AttributeError: ")
    assert repr(found).startswith("<Evaluation of policy on cartpole: failed: policy:3: ")
    assert found.as_dict()["mean_return"] is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_what_cannot_be_scored_is_one_line(result):
    without_code = dataclasses.replace(result.best, source=None)
    for arguments, error, words in [
        (("nowhere.py", "cartpole"), RunError, "nowhere.py: no such path"),
        ((BAD,), UsageError, "policy: give the task that it is for"),
        ((BAD, "nowhere"), SpecError, "nowhere: no such spec"),
        ((type("Pilot", (), {}), "cartpole"), UsageError, "a policy's class is called Policy"),
        ((type("Policy", (), {}), "cartpole"), UsageError, "its source cannot be read"),
        (("expert", "cartpole"), UsageError, "cartpole has no expert; random and zero"),
        ((without_code, "cartpole"), UsageError, "r01_c02: it has no source"),
    ]:
        with pytest.raises(error, match=words):
            promptpo.evaluate(*arguments)


def test_policies_are_compared_by_the_episodes_that_they_met():
    good, bad = (promptpo.evaluate(p, "cartpole", **SMALL) for p in (GOOD, "zero"))
    found = promptpo.compare(good, bad)
    (contrast,) = found.contrasts
    assert (contrast.a, contrast.b, contrast.paired, contrast.counts) == (
        "policy", "zero", True, (6, 6),
    )  # fmt: skip
    assert contrast.difference == pytest.approx(good.mean_return - bad.mean_return)
    assert contrast.p == pytest.approx(0.03125)
    assert repr(found) == "<PolicyComparison of 2 evaluations on cartpole>"
    assert "A - B  return" in str(found)
    assert "<table>" in found._repr_html_()
    json.dumps(found.as_dict(), allow_nan=False)


def test_other_seeds_are_not_paired_and_tasks_runs_and_policies_are_not_mixed(result):
    a, b = (promptpo.evaluate("random", "cartpole", seed=seed, **SMALL) for seed in (0, 1))
    (contrast,) = promptpo.compare(a, b).contrasts
    assert not contrast.paired
    assert (contrast.a, contrast.b) == ("random", "random (2)")
    other = promptpo.evaluate("zero", "mountain_car", episodes=2, workers=1)
    with pytest.raises(UsageError, match="policies of cartpole and of mountain_car"):
        promptpo.compare(a, other)
    with pytest.raises(UsageError, match="runs are compared with runs"):
        promptpo.compare(result, a)
