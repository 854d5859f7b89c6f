"""Stable-Baselines3 itself evaluates an exported policy, and gets what the run measured."""

import pytest
from exported_runs import episode_return, finished_run

from promptpo.export import SB3Policy, spec_of
from promptpo.store.run import load_run

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 brings PyTorch: no extra has it")

from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv


@pytest.fixture(scope="module", params=["cartpole", "mujoco_halfcheetah"])
def run(request, tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs"), request.param)


def policy_and_env(result, count):
    """A DummyVecEnv of the run's task, and the run's policy for it."""
    record = load_run(result.folder)
    spec = spec_of(record)
    env = DummyVecEnv([lambda: Monitor(spec.make())] * count)
    return SB3Policy.load(record.folder / "best" / "policy.py", spec, env), env


def test_a_vector_of_environments_returns_what_the_run_measured(run):
    seeds = run.test.seeds  # one after another, as VecEnv.seed gives them out
    assert list(seeds) == list(range(seeds[0], seeds[0] + 3))
    policy, env = policy_and_env(run, 3)
    env.seed(seeds[0])
    returns, _ = evaluate_policy(policy, env, n_eval_episodes=3, return_episode_rewards=True)
    assert sorted(returns) == pytest.approx(sorted(run.test.returns), abs=1e-6)


def test_episode_after_episode_begins_with_a_new_policy(run):
    policy, env = policy_and_env(run, 1)
    env.seed(7)
    returns, _ = evaluate_policy(policy, env, n_eval_episodes=2, return_episode_rewards=True)
    alone = spec_of(load_run(run.folder)).make()
    expected = [episode_return(policy, alone, seed) for seed in (7, None)]
    assert returns == pytest.approx(expected, abs=1e-5)
