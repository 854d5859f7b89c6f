"""What an environment may return as observation, reward and flags, and how the rest is told."""

import math

import gymnasium
import numpy as np
import pytest

from promptpo.spec import EnvSpec, SpecError, Task, field


class Observation:
    """The room."""

    heat: float = field(doc="of the room")
    doors: np.ndarray = field(shape=(2, 2), doc="how far open")


class Room:
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (5,), np.float64)
    first = np.zeros(5)

    def __init__(self, answer=None, first=None):
        self.answer = (np.zeros(5), 1.0, False, False, {}) if answer is None else answer
        self.first = np.zeros(5) if first is None else first

    def reset(self, *, seed=None, options=None):
        return self.first, {}

    def step(self, action):
        return self.answer


def task_of(env, **parts):
    spec = EnvSpec(
        make=lambda: env,
        observation=Observation,
        action="0 or 1",
        reward=lambda observation, action, next_observation: 0.0,
        horizon=9,
        name="room",
        **parts,
    )
    return Task(spec, env)


def stepped(observation=None, reward=1.0, terminated=False, truncated=False, info=None, **parts):
    observation = np.zeros(5) if observation is None else observation
    info = {} if info is None else info
    task = task_of(Room((observation, reward, terminated, truncated, info)), **parts)
    task.reset(0)
    return task.step(np.zeros(1))


ACCEPTED = [
    ("reward", np.float32(2.0), 2.0),
    ("reward", 2, 2.0),
    ("reward", True, 1.0),
    ("reward", np.array([2.0]), 2.0),
    ("reward", np.array(2), 2.0),
    ("terminated", np.True_, True),
    ("terminated", 1, True),
    ("truncated", np.array([False]), False),
    ("truncated", 0.0, False),
]


@pytest.mark.parametrize(("part", "value", "expected"), ACCEPTED)
def test_numbers_and_flags_of_any_type_are_taken(part, value, expected):
    _, reward, terminated, truncated, _ = stepped(**{part: value})
    found = {"reward": reward, "terminated": terminated, "truncated": truncated}[part]
    assert (found, type(found)) == (expected, type(expected))


REFUSED = [
    ("reward", math.nan, "step returns nan as the reward; make it a finite number"),
    ("reward", np.float32(-np.inf), "step returns -inf as the reward"),
    ("reward", "1.0", "step returns str as the reward, not a number; make it a float"),
    ("reward", b"1", "step returns bytes as the reward"),
    ("reward", 1j, "step returns complex as the reward"),
    ("reward", np.complex128(1), "step returns complex128 as the reward"),
    ("reward", np.zeros(2), "step returns ndarray of shape (2,) as the reward"),
    ("reward", 10**400, "step returns int as the reward"),
    ("reward", object(), "step returns object as the reward"),
    ("terminated", "no", "step returns str 'no' as terminated, not True or False"),
    ("terminated", None, "step returns NoneType None as terminated"),
    ("truncated", math.nan, "step returns float nan as truncated"),
    ("truncated", np.zeros(2), "as truncated, not True or False; make it bool(truncated)"),
    ("info", [1], "step returns list as info, not a dict; return {}"),
    ("observation", "text", "step returns text as the observation, not numbers"),
    ("observation", [None] * 5, "step returns objects as the observation"),
    ("observation", np.zeros(5, complex), "step returns complex numbers as the observation"),
    ("observation", np.zeros(4), "the environment gives 4 numbers, but the fields of Observation"),
    ("observation", [[1.0], [1.0, 2.0]], "step returns an observation that is no array"),
]


@pytest.mark.parametrize(("part", "value", "words"), REFUSED)
def test_what_is_no_number_or_flag_is_told(part, value, words):
    with pytest.raises(SpecError) as caught:
        stepped(**{part: value})
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_observation_that_is_not_finite_is_told_with_field_and_index(value):
    seen = np.zeros(5)
    seen[3] = value
    task = task_of(Room(first=seen))
    with pytest.raises(SpecError, match=rf"field 'doors'\[1, 0\] is {value:g} after reset"):
        task.reset(0)


def observing(heat, doors):
    return lambda raw, env: {"heat": heat, "doors": doors}


@pytest.mark.parametrize(
    ("heat", "doors", "words"),
    [
        (1j, np.zeros((2, 2)), "observe returns complex numbers as field 'heat'"),
        ("3", np.zeros((2, 2)), "observe returns text as field 'heat', not numbers"),
        (None, np.zeros((2, 2)), "observe returns None as field 'heat', not numbers"),
        (0.0, 1.0, "observe returns an array of shape () as field 'doors', which has shape (2, 2)"),
        (0.0, np.zeros(5), "an array of shape (5,) as field 'doors'"),
        (np.zeros(2), np.zeros(4), "an array of shape (2,) as field 'heat', which has one number"),
    ],
)
def test_what_observe_returns_is_told_with_its_field(heat, doors, words):
    with pytest.raises(SpecError) as caught:
        stepped(observe=observing(heat, doors))
    assert words in str(caught.value)


@pytest.mark.parametrize("value", ["yes", None, math.nan, 3])
def test_success_is_true_or_false(value):
    with pytest.raises(SpecError, match=r"success returns .* as success, not True or False"):
        stepped(success=lambda info, reward, terminated: value)
