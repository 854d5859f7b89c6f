"""Policies through the public interface."""

import numpy as np
import pytest
from acting import ONE, TWO, acts, policy

import sandbox
from sandbox import (
    BadAction,
    Box,
    CompileError,
    Discrete,
    Episode,
    Interface,
    Limits,
    MultiDiscrete,
    PolicyError,
    ProcessDied,
    TimeLimit,
)

FIELDS = """
class Observation:
    def __init__(self, flat):
        self.hand = flat[0:2]
        self.goal = flat[2:4].copy()
        self.opened = float(flat[4])
"""


def test_an_observation_has_the_fields_of_its_class_which_is_known_by_name(host):
    body = "return [*(obs.hand + obs.goal * obs.opened), isinstance(obs, Observation)]"
    found = acts(host, policy(body), Interface(5, FIELDS, Box((3,))), [np.arange(5.0)])
    assert found == [[0 + 2 * 4, 1 + 3 * 4, 1]]


def test_observations_are_owned_copies(host):
    seen = np.ones(2)
    source = policy("found = [obs.base is None, obs.size]\nobs[:] = 7\nreturn found")
    assert acts(host, source, TWO, [seen]) == [[1.0, 2.0]]
    assert seen.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        (Box((1,)), "0.5", [0.5]),
        (Box((1,)), "np.float32(0.5)", [0.5]),
        (Box((2, 2)), "[[1, 2], [3, 4]]", [1, 2, 3, 4]),
        (Box((2,)), "(True, np.int8(3))", [1, 3]),
        (Box((2,)), "np.matrix([[1, 3]]).A1.view(np.ndarray)", [1, 3]),
        (Discrete(3), "np.int64(2)", [2]),
        (Discrete(3), "True", [1]),
        (Discrete(3), "2.0", [2]),
        (Discrete(3), "np.array([1])", [1]),
        (Discrete(3, start=-1), "-1", [-1]),
        (MultiDiscrete((2, 3)), "[1, 2]", [1, 2]),
        (MultiDiscrete((2, 3), (5, 5)), "np.array([6.0, 7.0])", [6, 7]),
    ],
)
def test_actions_are_converted(host, action, body, expected):
    assert acts(host, policy(f"return {body}"), Interface(2, None, action)) == [expected]


#: Numbers and arrays of classes that lie about what they are.
LIARS = """
class Long(int):
    def __repr__(self): return "1"
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 1
    def __add__(self, other): return self
    def __trunc__(self): return Long(7)
    __floor__ = __ceil__ = __round__ = __trunc__
class Real(float):
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = Long.__eq__
    def __repr__(self): return "2"
    __hash__ = Long.__hash__
class Array(np.ndarray):
    shape = property(lambda self: (1,))
    dtype = property(lambda self: "float64")
    def __eq__(self, other): return True
"""


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        (Discrete(3), "3", "one integer from 0 to 2, not 3"),
        (Discrete(3), "-1", "one integer from 0 to 2, not -1"),
        (Discrete(3), "0.5", "not 0.5"),
        (Discrete(3), "[1, 2]", "a list of length 2"),
        (Discrete(3), "10 ** 30", "one integer from 0 to 2"),
        (MultiDiscrete((2, 3)), "[0, 3]", "within 0..1, 0..2"),
        (MultiDiscrete((2, 3)), "1", "2 integers"),
        (Box((2,)), "1.0", "an array of shape (2,)"),
        (Box((2,)), "None", "every path of act() end in `return`"),
        (Box((2,)), "[0, float('nan')]", "must be finite"),
        (Box((1,)), "[[1.0]]", "shape (1,)"),
        (Box((1,)), "10 ** 400", "1 finite number"),
        (Box((1,)), "10 ** 9999", "not an integer of more than 30 digits"),
        (Discrete(3), "-10 ** 9999", "not an integer of more than 30 digits"),
        (MultiDiscrete((2, 3)), "10 ** 9999", "not an integer of more than 30 digits"),
        (Discrete(3), "'x' * 10 ** 6", "one integer from 0 to 2, not 'xxx"),
        (Box((2,)), "np.matrix([1, 3])", "an array of shape (1, 2)"),
        (Box((1,)), "np.array([object()])", "dtype object"),
        (Discrete(3), "Long(3)", "one integer from 0 to 2"),
        (Discrete(3), "Real(0.5)", "one integer from 0 to 2"),
        (Discrete(3), "Real('nan')", "one integer from 0 to 2"),
        (Discrete(3), "[Long(-1)]", "one integer from 0 to 2"),
        (Box((2,)), "np.zeros((4, 5), bool).view(Array)", "shape (4, 5) and dtype bool"),
    ],
)
def test_bad_actions_say_what_is_expected(host, action, body, words):
    with pytest.raises(BadAction) as caught:
        acts(host, LIARS + policy(f"return {body}"), Interface(2, None, action))

    assert words in caught.value.message
    assert caught.value.step == 0


@pytest.mark.parametrize("space", [Box((1,)), Discrete(3), MultiDiscrete((3,))], ids=str)
def test_numbers_of_a_class_of_its_own_are_the_numbers_that_they_hold(host, space):
    plain = () if isinstance(space, MultiDiscrete) else ("Long(2)", "Real(2)")
    for returned in (*plain, "[Long(2)]", "np.array([Real(2)])"):
        source = LIARS + policy(f"return {returned}")
        assert acts(host, source, Interface(2, None, space)) == [[2.0]], returned


#: Draws in every way; counts its acts, those of its object, and its calls of ``reset``.
STATE = """
import random
print("made")
COUNT = [0]
class Policy:
    def __init__(self):
        self.n = self.resets = 0
        self.offset = np.random.normal()
    def reset(self):
        self.resets += 1
    def act(self, obs):
        self.n += 1
        COUNT[0] += 1
        drawn = np.random.rand() + random.random() + np.random.default_rng().random()
        return [self.n + 100 * self.resets, COUNT[0], self.offset, drawn]
"""
FOUR = Interface(2, None, Box((4,)))


def test_a_fresh_episode_is_as_if_its_process_had_played_none_before(host):
    with host.policy(STATE, FOUR) as running:
        for seed in (7, 9, 8):
            running.begin(seed)
            assert running.output == "made\n"
            found = [running.act(np.zeros(2)).tolist() for _ in range(2)]
            assert [row[:2] for row in found] == [[1, 1], [2, 2]]
        assert (running.lives, running.acts) == (3, 2)
    assert found == acts(host, STATE, FOUR, np.zeros((2, 2)), seed=8)
    several = [acts(host, STATE, FOUR, seed=seed) for seed in (1, 1 + 2**32, 2**64 - 1)]
    assert len({*map(str, several)}) == 3


def test_a_kept_object_is_told_by_reset_and_draws_from_the_new_seed(host):
    with host.policy(STATE, FOUR) as running:
        running.begin(1)
        running.act(np.zeros(2))
        drawn = []
        for number, seed in enumerate((2, 3, 2), start=1):
            running.begin(seed, fresh=False)
            first, count, _, random = running.act(np.zeros(2))
            assert (first, count) == (100 * number + number + 1, number + 1)
            drawn.append(random)
        assert (running.lives, running.acts) == (1, 1)
    assert drawn[0] == drawn[2] != drawn[1]


def test_the_order_of_sets_is_the_same_in_every_process():
    source = policy("return [hash('a') % 10007, list({'x', 'y', 'z', 'abc'}).index('x')]")
    found = []
    for _ in range(2):
        with sandbox.Host() as one:
            found.append(acts(one, source, TWO))
    assert found[0] == found[1]


def test_observations_of_any_length_arrive_whole(host):
    for length in (0, 3, 510, 511, 512, 8190, 100_000):  # from some on they come in parts
        table = np.random.default_rng(0).normal(size=(3, length))
        wide = Interface(length, None, Box((1,)))
        source = policy("return len(obs) + obs.sum()")
        assert acts(host, source, wide, table) == [[length + row.sum()] for row in table]


def test_errors_name_the_step_the_line_and_nothing_of_the_host(host):
    source = """
class Policy:
    def __init__(self):
        self._n = 0
    def _fail(self):
        return 1 / (2 - self._n)
    def act(self, obs):
        self._n += int(obs[0])
        print("n is", self._n)
        self._fail()
        return obs
"""
    with host.policy(source, TWO) as running:
        running.begin(0)
        with pytest.raises(PolicyError) as caught:
            for _ in range(3):
                running.act(np.array([1.0, 0.0]))
        with pytest.raises(ProcessDied):
            running.act(np.zeros(2))

    error = caught.value
    assert (error.kind, error.step, error.line) == ("exception", 1, 6)
    assert "line 10, in act\n    self._fail()" in error.message
    assert "line 6, in _fail\n    return 1 / (2 - self._n)" in error.message
    assert error.message.endswith("ZeroDivisionError: division by zero")
    assert ".py" not in error.message
    assert error.output.splitlines() == ["n is 1", "n is 2"]


def test_a_step_is_counted_from_the_beginning_of_its_episode(host):
    with host.policy(policy("print('hot')\nreturn 1 / obs"), TWO) as running:
        running.begin(0)
        running.act(np.ones(2))
        running.begin(0, fresh=False)
        running.act(np.ones(2))
        running.act(np.ones(2))
        with pytest.raises(BadAction, match=r"^act\(\) returned \[") as caught:
            running.act(np.zeros(2))
        assert running.acts == caught.value.step == 2
    assert caught.value.output == "hot\n" * 4


def test_a_slow_call_names_the_line_it_was_at(host):
    source = policy("while obs[0]:\n    n = 1\nreturn obs")
    with pytest.raises(TimeLimit, match="in act") as caught:
        acts(host, source, TWO, [np.zeros(2), np.ones(2)], limits=Limits(act_seconds=0.2))
    assert caught.value.line in (3, 4)
    assert caught.value.step == 1


def test_what_does_not_compile_is_refused_when_the_policy_is_made(host):
    with pytest.raises(CompileError, match="no files") as caught:
        host.policy("import os\n" + policy("return 0"), TWO)
    assert (caught.value.line, caught.value.kind) == (1, "compile")
    with pytest.raises(CompileError, match="longer than 100 characters"):
        host.policy("x = 1\n" * 100, TWO, limits=Limits(source_chars=100))


def test_a_caller_may_name_the_class_and_allow_more_libraries(host):
    source = "import scipy.special\nfrom textwrap import dedent\nclass Controller:\n"
    source += "    def act(self, obs): return scipy.special.gamma(5) + len(dedent('  x'))"
    interface = Interface(2, None, Box((1,)), policy_class="Controller")
    extra = ("scipy.special", "textwrap")
    assert acts(host, source, interface, extra_imports=extra) == [[25.0]]
    with pytest.raises(CompileError):
        host.policy(source, interface)


def test_a_wrong_shape_or_seed_is_the_callers_mistake(host):
    with host.policy(policy("return obs"), TWO) as running:
        for seed in (-1, 2**64):
            with pytest.raises(OverflowError):
                running.begin(seed)
        running.begin(2**64 - 1)
        with pytest.raises(ValueError, match="shape"):
            running.act(np.zeros(3))
        assert running.act(np.zeros(2)).tolist() == [0.0, 0.0]


LATE = {
    "no class": ("x = 1", "must define `class Policy`", None),
    "no method": ("class Policy: pass", "must define a method `act`", None),
    "an exception": ("x = 1\n1 / 0", "ZeroDivisionError", 2),
    "an initializer": (policy("0", "def __init__(self): 1 / 0"), "Zero", 2),
    "exit": ("raise SystemExit", "SystemExit", 1),
}


@pytest.mark.parametrize("name", LATE)
def test_the_module_is_executed_when_the_episode_begins(host, name):
    source, words, line = LATE[name]
    with host.policy(source, TWO) as running, pytest.raises(sandbox.ProgramError) as caught:
        running.begin(0)

    assert isinstance(caught.value, CompileError if line is None else PolicyError)
    assert words in caught.value.message
    assert (caught.value.line, caught.value.step) == (line, None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Box((0,)),
        lambda: Discrete(0),
        lambda: MultiDiscrete(()),
        lambda: MultiDiscrete((2,), (0, 0)),
        lambda: Limits(act_seconds=0),
        lambda: Limits(total_seconds=np.inf),
        lambda: Interface(-1, None, ONE.action),
        lambda: Episode(np.zeros((2, 1)), np.zeros((2, 1)), [0.0], True, False, None),
        lambda: Episode(np.zeros(2), np.zeros((1, 1)), [0.0], True, False, None),
    ],
)
def test_impossible_values_are_refused(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()
