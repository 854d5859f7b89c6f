"""The wrapper keeps to the contract of Stable-Baselines3's predict, without the package."""

import numpy as np
from gymnasium import spaces

from promptpo.export import SB3Policy


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


def test_state_and_starts_of_episodes_say_which_policy_acts():
    policy = counting()
    _, state = policy.predict(TWO, None, np.array([True, True]))
    actions, state = policy.predict(TWO, state, np.array([False, True]))
    assert actions[:, 0].tolist() == [2, 1]  # a new one where an episode starts
    assert policy.predict(TWO, state, np.array([False, False]))[0][:, 0].tolist() == [3, 2]
    policy.reset()
    assert [policy.predict(ONE)[0][0] for _ in range(3)] == [1, 2, 3]  # without: they go on
    assert policy.predict(TWO)[0][:, 0].tolist() == [1, 1]  # another number: anew
    _, first = policy.predict(ONE, None, [True])
    _, second = policy.predict(ONE, None, [True])
    _, first = policy.predict(ONE, first)
    assert (policy.predict(ONE, second)[0][0], policy.predict(ONE, first)[0][0]) == (2, 3)


def test_a_policy_that_learns_across_episodes_is_reset_not_remade():
    policy = counting("evaluation")
    _, state = policy.predict(TWO, None, np.array([True, True]))
    actions, _ = policy.predict(TWO, state, np.array([False, True]))
    assert actions.tolist() == [[2, 0], [2, 1]]
    policy.reset()
    assert policy.predict(TWO)[0].tolist() == [[3, 1], [3, 2]]


class DictEnv(Env):
    observation_space = spaces.Dict({"at": Env.observation_space, "goal": Env.observation_space})


class NumberEnv:
    observation_space = spaces.Discrete(5)
    action_space = spaces.Discrete(3)


class Same:
    def act(self, seen):
        return seen


def test_spaces_tell_one_observation_from_a_batch_and_shape_the_actions():
    policy = counting()
    action = [policy.predict(ONE)[0] for _ in range(12)][-1]
    assert (action[0], action.dtype) == (9, np.float32)  # clipped to the bounds
    seen = []
    policy = SB3Policy(DictEnv, Counter, seen.append, lambda raw, env: raw)
    assert policy.predict({"at": ONE, "goal": ONE + 1})[0].shape == (2,)
    batch = {"at": TWO, "goal": np.array([[1, 1], [2, 2]])}
    assert policy.predict(batch, None, [True, True])[0].shape == (2, 2)
    assert [s["goal"].tolist() for s in seen] == [[1, 1], [1, 1], [2, 2]]
    policy = SB3Policy(NumberEnv, Same, float, lambda raw, env: raw)
    assert {0: "a", 2: "b"}[policy.predict(2)[0]] == "b"  # tabular environments look actions up
    assert policy.predict(np.array([0, 2]))[0].tolist() == [0, 2]
