"""No observation that is not finite goes by: whichever step, slot and number it is in."""

import math

import gymnasium
import numpy as np
import pytest

from promptpo.rollout.division import joined
from promptpo.rollout.jobs import Phase
from promptpo.rollout.lockstep import Lockstep
from promptpo.spec import EnvSpec, Task, field

LENGTH = 30


class Observation:
    """The room."""

    heat: float = field(doc="of the room")
    doors: np.ndarray = field(shape=(2, 2), doc="how far open")


class Room:
    """Its observation holds ``value`` after one step, and at no other time."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (5,), np.float64)

    def __init__(self, length=LENGTH, at=None, value=math.nan, reward=1.0):
        self.length, self.at, self.value, self.reward = length, at, value, reward

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return np.zeros(5), {}

    def step(self, action):
        self.count += 1
        seen = np.zeros(5)
        if self.count == self.at:
            seen[2] = self.value
        return seen, self.reward, self.count == self.length, False, {}


class Idle:
    """A policy that cannot do with NaN if ``strict``."""

    may_trace = False

    def __init__(self, strict=False):
        self.strict = strict

    def reset(self, slots, seeds, fresh=True):
        pass

    def act(self, slots, rows):
        if self.strict and np.isnan(rows).any():
            raise RuntimeError("cannot convert float NaN to integer")
        return np.zeros((len(slots), 1))


def played(*envs, strict=False):
    tasks = [
        Task(
            EnvSpec(
                make=Room,
                observation=Observation,
                action="0 or 1",
                reward=lambda observation, action, next_observation: 0.0,
                horizon=1000,
                name="room",
            ),
            env,
        )
        for env in envs
    ]
    return joined([Lockstep(tasks, range(len(envs))).play(Idle(strict))])


@pytest.mark.parametrize("at", [1, 7, 8, 9, 23, LENGTH])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_one_number_of_one_step_is_found(at, value):
    run = played(Room(), Room(at=at, value=value), Room(length=12))
    assert run.error_kind == "environment"
    words = f"the observation's field 'doors'[0, 1] is {value:g} after step {at}"
    assert words in run.error
    assert "episode slot 1" in run.error
    assert [result.error is None for result in run.results] == [at == LENGTH, False, at > 12]
    assert run.failed_at == (at, Phase.ENV_STEP, 1)


def test_a_policy_that_fails_over_it_is_not_to_blame():
    run = played(Room(at=3), strict=True)
    assert run.error_kind == "environment"
    assert "after step 3" in run.error


def test_numbers_as_large_as_they_can_be_are_no_fault():
    run = played(*(Room(at=2, value=1e308, reward=-0.0) for _ in range(5)))
    assert run.error is None
    assert [result.length for result in run.results] == [LENGTH] * 5


def test_rewards_that_add_up_to_an_infinity_are_no_return():
    run = played(Room(reward=1e308))
    assert "the rewards of an episode add up to inf" in run.error
