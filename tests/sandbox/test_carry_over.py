"""What one episode leaves, the next does not find: both act as each does alone."""

import numpy as np
import pytest
from restricted import programs

from sandbox import Box, Host, Interface, Limits, ProgramError

ATTEMPTS = {**programs("carry_over"), **programs("carry_over_more")}
NAMES = [
    *programs("carry_over"),
    *(pytest.param(name, marks=pytest.mark.slow) for name in programs("carry_over_more")),
]

#: Looks for what an episode before it has left, then leaves it. What is found becomes the action,
#: so that any difference shows.
PROGRAM = """
import decimal, enum, functools, itertools, json, operator, statistics
from abc import ABC, abstractmethod
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial, partialmethod, total_ordering, wraps
from typing import List, NamedTuple
{attempt}

class Policy:
    def act(self, obs):
        found = ""
        for step in (look, mark, look):
            try:
                found += repr(step(obs))
            except Exception as error:
                found += type(error).__name__
        return float(sum((i + 1) * ord(c) for i, c in enumerate(found)))
"""
OBSERVATION = """
class Observation:
    names = ["x", "y"]
    table = {"x": 0}
    weights = np.ones(2)
    def __init__(self, flat):
        self.x = flat[0]
    def first(self):
        return self.x
"""
INTERFACE = Interface(2, OBSERVATION, Box((1,)))
ROW = np.ones((1, 2))


@pytest.fixture(scope="module")
def host():
    with Host() as running:
        yield running


def played(host, source, *turns):
    """Actions of the slots that act in turn, by slot; a reset starts another episode in slot 0."""
    actions = {}
    limits = Limits(init_seconds=60)
    with host.policy(source, INTERFACE, limits) as policy:
        policy.reset([0, 1], [5, 5])
        for slot in turns:
            if slot == "reset":
                policy.reset([0], [5])
                actions["first"] = actions.pop(0)
            else:
                actions.setdefault(slot, []).append(policy.act([slot], ROW).item())
    return actions


@pytest.mark.parametrize("name", NAMES)
def test_an_episode_acts_as_it_does_alone(host, name):
    source = PROGRAM.format(attempt=ATTEMPTS[name])
    try:
        alone = played(host, source, 0, 0)[0]
    except ProgramError as error:
        assert error.kind == "compile"
        return

    together = played(host, source, 0, 1, 0, 1, "reset", 0, 0)

    assert together == {"first": alone, 1: alone, 0: alone}


def test_a_setting_of_the_top_level_holds_in_every_episode(host):
    source = """
import numpy as np
np.seterr(divide="raise")
class Policy:
    def act(self, obs):
        try:
            return np.array([1.0]) / np.zeros(1)
        except FloatingPointError:
            np.seterr(divide="ignore")
            return [5.0]
        finally:
            np.seterr(divide="raise")
"""
    assert played(host, source, 0, 1, "reset", 0) == {"first": [5.0], 0: [5.0], 1: [5.0]}
