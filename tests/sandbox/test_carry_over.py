"""What one episode leaves, another does not find: each acts as it does when it is played first.

Every episode here has a process of its own, as all have that count. The attempts run in the
language, and past it: as ordinary Python, where nothing keeps them from writing anywhere.
"""

import sys

import numpy as np
import pytest
from raw_program import raw
from restricted import programs

import sandbox
from sandbox import Box, Interface, Limits, Program, ProgramError

MORE = programs("carry_over_more")
ATTEMPTS = {**programs("carry_over"), **MORE}
IMPORTS = """
import decimal, enum, functools, itertools, json, operator, statistics
from abc import ABC, abstractmethod
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache, partial, partialmethod, total_ordering, wraps
from typing import List, NamedTuple
"""
#: Looks for what an episode before it has left, then leaves it. What is found becomes the action,
#: so that any difference shows.
POLICY = """
class Policy:
    def act(self, obs):
        found = ""
        for step in (look, mark, look):
            try:
                found += repr(step({argument}))
            except Exception as error:
                found += type(error).__name__
        return float(sum((i + 1) * ord(c) for i, c in enumerate(found)))
"""
WRITER = """
import numpy as np
class Policy:
    def __init__(self, m):
        self.m = m
    def act(self, obs):
        m, A, v = self.m, self.m["A"], self.m["v"]
        seen = [float(x.sum()) for x in (A, v)]
        try:
{body}        except Exception:
            seen.append(1.0)
        return sum(seen) + m.get("n", 0)
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
LIMITS = Limits(act_seconds=2, init_seconds=60)
PACKED = sandbox.pack({"A": np.eye(3) * 2, "v": np.array([3.0, 1.0, 2.0]), "n": 4})
RAW = pytest.mark.skipif(
    sys.platform != "linux" or sandbox.detect().level != "strict", reason="needs strict isolation"
)


def in_the_language(text, **fields):
    return Program(text, INTERFACE, LIMITS, **fields)


def past_the_language(text, **fields):
    return raw(text, None, INTERFACE, LIMITS, **fields)


def writing(body):
    return WRITER.format(body="".join(f"            {line}\n" for line in body.splitlines()))


#: Attempts that see a difference which no episode has made: addresses, the real clock.
LEFT = {in_the_language: ("| left",), past_the_language: ("| left", "| left to machine code")}


def cases():
    acting = POLICY.format(argument="obs")
    made = [("carry_over", t, IMPORTS + s + acting, b"") for t, s in ATTEMPTS.items()]
    made += [("writes", t, writing(s), PACKED) for t, s in programs("writes").items()]
    for make in (in_the_language, past_the_language):
        plain = [RAW] if make is past_the_language else []
        for corpus, title, text, given in made:
            if title.endswith(LEFT[make]):
                continue
            name = f"{corpus}, {make.__name__}: {title}"
            slow = [pytest.mark.slow] if title in MORE else []
            yield pytest.param(make, text, given, id=name, marks=[*plain, *slow])
    for title, text in programs("carry_over_raw").items():
        text += POLICY.format(argument="")  # noqa: PLW2901 - the same program, complete
        yield pytest.param(past_the_language, text, PACKED, id=f"raw: {title}", marks=RAW)


def episode(policy, steps=2):
    """What an episode does, up to its failure."""
    done = []
    try:
        policy.begin(5)
        for _ in range(steps):
            done.append(policy.act(np.ones(2)).item())
    except ProgramError as error:
        done.append(error.kind)
    return done


@pytest.mark.parametrize(("make", "text", "given"), list(cases()))
def test_an_episode_acts_as_it_does_alone(host, make, text, given):
    program = make(text, prepared=given)
    try:
        first = host.open(program)
    except ProgramError as error:
        assert error.kind == "compile"
        return
    with first, host.open(program) as beside:
        code = program.code
        alone = episode(first)

        assert episode(beside) == alone
        first.close()
        with host.open(program) as later:
            assert episode(later) == alone
    assert program.code == code


def test_differences_show_where_episodes_share_a_process_and_code_tells_nothing_of_them(host):
    text = "left = []\ndef mark(obs): np.left = 1\ndef look(obs): return hasattr(np, 'left')\n"
    with host.open(past_the_language(text + POLICY.format(argument="obs"))) as policy:
        assert episode(policy) != episode(policy)
    text = f"{IMPORTS}\nclass Policy:\n    def act(self, obs):\n        return 0.5\n"
    before = in_the_language(text)
    with host.open(before) as policy:
        episode(policy)
    after = in_the_language(text)
    host.open(after).close()

    assert before.code == after.code
