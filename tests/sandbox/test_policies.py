"""Policies as models write them: each runs, with the actions that plain Python gives."""

import random

import numpy as np
import pytest
from restricted import programs, run_plain

from sandbox import Box, Discrete, Interface, Limits, MultiDiscrete, Program, Together
from sandbox.host.policy import episode_seed

POLICIES = programs("policies")
STEPS, EPISODES = 12, 3
SPACES = {"box": lambda n: Box((n[0],)), "discrete": lambda n: Discrete(n[0])}
SPACES["multidiscrete"] = MultiDiscrete


def interface_of(title):
    """The third part of a title is the action space, the second the observation."""
    _, observation, action = (part.strip() for part in title.split("|"))
    kind, *numbers = action.split()
    space = SPACES[kind](tuple(int(n) for n in numbers))
    first, _, size = observation.partition(" ")
    if first in ("vector", "grid"):
        return Interface(int(size), None, space), first
    source, start = ["class Observation:", "    def __init__(self, flat):"], 0
    for field in observation.split():
        name, _, length = field.partition(":")
        source.append(f"        self.{name} = flat[{start}:{start + int(length)}]")
        start += int(length)
    return Interface(start, "\n".join(source), space), "fields"


def observations(kind, size):
    """Float64 ``(episodes, steps, size)``."""
    rng = np.random.default_rng(1)
    shape = (EPISODES, STEPS, size)
    return rng.integers(0, 8, shape).astype(float) if kind == "grid" else rng.normal(size=shape)


def plain_actions(source, interface, table, seed):
    """What one episode gives without any sandbox."""
    numbers = episode_seed(seed, b"")
    np.random.seed([numbers & 0xFFFFFFFF, numbers >> 32])
    random.seed(numbers)
    namespace = {"np": np}
    if interface.observation_source:
        exec(interface.observation_source, namespace)  # noqa: S102 - the tests' own text
    observe = namespace.get("Observation", lambda flat: flat)
    policy = run_plain(source, namespace)["Policy"]()
    size = interface.action.size
    return [np.asarray(policy.act(observe(row.copy())), float).reshape(size) for row in table]


@pytest.mark.parametrize("title", POLICIES)
def test_policy_acts_as_under_plain_python(host, title):
    interface, kind = interface_of(title)
    table = observations(kind, interface.observation_size)
    program = Program(POLICIES[title], interface, Limits(init_seconds=60))
    policies = [host.open(program) for _ in range(EPISODES)]

    for number, policy in enumerate(policies):
        policy.begin(100 + number)
    together = Together(policies)
    got = [together.act(table[:, step])[0] for step in range(STEPS)]

    for number, policy in enumerate(policies):
        policy.close()
        expected = plain_actions(POLICIES[title], interface, table[number], 100 + number)
        np.testing.assert_array_equal([row[number] for row in got], expected)


def test_the_corpus_is_as_large_as_claimed():
    assert len(POLICIES) >= 60
