"""Stable-Baselines3 itself evaluates an exported policy, and gets what the run measured."""

import numpy as np
import pytest
from exported_runs import REFUSED, finished_run, lines_of, measured_lines
from gymnasium import spaces

from promptpo.export import sb3_policy, spec_of, write_folder
from promptpo.export.sb3_wrapper import SB3Policy
from promptpo.report.gather import gather

pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 brings PyTorch: no extra has it")

from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv


@pytest.fixture(scope="module", params=["cartpole", "mujoco_halfcheetah"])
def run(request, tmp_path_factory):
    return finished_run(tmp_path_factory.mktemp("runs"), request.param)


def policy_and_env(result, count):
    """A DummyVecEnv of the run's task, and the run's policy for it."""
    record = gather(result.folder)
    spec = spec_of(record)
    env = DummyVecEnv([lambda: Monitor(spec.make())] * count)
    return sb3_policy(record.folder / "best" / "policy.py", spec, env), env


def test_a_vector_of_environments_returns_what_the_run_measured(run):
    seeds = run.test.seeds  # one after another, as VecEnv.seed gives them out
    assert list(seeds) == list(range(seeds[0], seeds[0] + 3))
    policy, env = policy_and_env(run, 3)
    env.seed(seeds[0])
    returns, _ = evaluate_policy(policy, env, n_eval_episodes=3, return_episode_rewards=True)
    assert sorted(returns) == pytest.approx(sorted(run.test.returns), abs=1e-6)


def test_a_single_environment_returns_what_the_run_measured(run):
    env = Monitor(spec_of(gather(run.folder)).make())
    policy = sb3_policy(run.folder / "best" / "policy.py", spec_of(gather(run.folder)), env)
    for seed, measured in zip(run.test.seeds, run.test.returns, strict=True):
        policy.reset()
        observation, total, done = env.reset(seed=seed)[0], 0.0, False
        while not done:
            action, _ = policy.predict(observation)
            assert env.action_space.contains(action)
            observation, reward, terminated, truncated, _ = env.step(action)
            total += reward
            done = terminated or truncated
        assert total == pytest.approx(measured)


@pytest.mark.parametrize("spec", ["mujoco_halfcheetah", "metaworld_reach"])
def test_the_exported_example_runs_without_promptpo(spec, tmp_path):
    result = finished_run(tmp_path / "runs", spec, test_episodes=2)
    write_folder(gather(result.folder), tmp_path / "to", sb3=True)
    assert lines_of(tmp_path / "to" / "run_sb3.py", *REFUSED) == measured_lines(result)


def test_the_example_of_a_task_that_lives_in_its_spec(tmp_path):
    result = finished_run(tmp_path / "runs", "noise_world_board_1", test_episodes=2)
    write_folder(gather(result.folder), tmp_path / "to", sb3=True)
    assert lines_of(tmp_path / "to" / "run_sb3.py") == measured_lines(result)


class Counter:
    """Tells how many steps it has acted, and how many episodes it has begun."""

    def __init__(self):
        self.steps, self.resets = 0, 0

    def reset(self):
        self.resets += 1

    def act(self, seen):
        self.steps += 1
        return np.array([self.steps, self.resets])


class Env:
    observation_space = spaces.Box(-1, 1, (2,))
    action_space = spaces.Box(0, 9, (2,))


def counting(lifetime="episode", env=Env):
    return SB3Policy(env, Counter, lambda flat: flat, lambda raw, env: raw, lifetime)


ONE, TWO = np.zeros(2), np.zeros((2, 2))


def test_only_environments_whose_episode_starts_get_a_new_policy():
    policy = counting()
    _, state = policy.predict(TWO, None, np.array([True, True]))
    actions, state = policy.predict(TWO, state, np.array([False, True]))
    assert actions[:, 0].tolist() == [2, 1]
    actions, _ = policy.predict(TWO, state, np.array([False, False]))
    assert actions[:, 0].tolist() == [3, 2]


def test_without_a_state_the_policies_go_on_and_reset_begins_anew():
    policy = counting()
    assert [policy.predict(ONE)[0][0] for _ in range(3)] == [1, 2, 3]
    policy.reset()
    assert policy.predict(ONE)[0][0] == 1


def test_a_state_of_its_own_keeps_two_episodes_apart():
    policy = counting()
    _, first = policy.predict(ONE, None, [True])
    _, second = policy.predict(ONE, None, [True])
    _, first = policy.predict(ONE, first)
    assert policy.predict(ONE, second)[0][0] == 2
    assert policy.predict(ONE, first)[0][0] == 3


def test_a_policy_that_learns_across_episodes_is_reset_not_remade():
    policy = counting("evaluation")
    _, state = policy.predict(TWO, None, np.array([True, True]))
    actions, _ = policy.predict(TWO, state, np.array([False, True]))
    assert actions.tolist() == [[2, 0], [2, 1]]
    policy.reset()
    assert policy.predict(TWO)[0].tolist() == [[3, 1], [3, 2]]


def test_another_number_of_environments_begins_anew():
    policy = counting()
    policy.predict(ONE)
    assert policy.predict(TWO)[0][:, 0].tolist() == [1, 1]


def test_continuous_actions_are_clipped_and_have_the_space_s_type():
    policy = counting()
    actions = [policy.predict(ONE)[0] for _ in range(12)]
    assert actions[-1][0] == 9
    assert actions[-1].dtype == np.float32


class DictEnv(Env):
    observation_space = spaces.Dict({"at": Env.observation_space, "goal": Env.observation_space})


def test_observations_of_several_parts_come_single_and_in_batches():
    seen = []
    policy = SB3Policy(DictEnv, Counter, seen.append, lambda raw, env: raw)
    assert policy.predict({"at": ONE, "goal": ONE + 1})[0].shape == (2,)
    batch = {"at": TWO, "goal": np.array([[1, 1], [2, 2]])}
    assert policy.predict(batch, None, [True, True])[0].shape == (2, 2)
    assert [s["goal"].tolist() for s in seen] == [[1, 1], [1, 1], [2, 2]]


class NumberEnv:
    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(3)


class Same:
    def act(self, seen):
        return seen


def test_numbers_are_observations_and_actions_too():
    policy = SB3Policy(NumberEnv, Same, float, lambda raw, env: raw)
    action, _ = policy.predict(2)
    assert NumberEnv.action_space.contains(action)
    assert {0: "a", 2: "b"}[action] == "b"  # tabular environments look actions up
    assert policy.predict(np.array([0, 2]))[0].tolist() == [0, 2]
