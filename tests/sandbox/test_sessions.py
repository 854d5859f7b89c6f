"""Policies and summarizers through the public interface."""

import numpy as np
import pytest

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
VECTOR = Interface(2, None, Box((2,)))


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def run(host, body, interface=VECTOR, observation=None, **options):
    """The action of one step of a policy whose act has this body."""
    source = f"class Policy:\n    def act(self, obs):\n        {body}\n"
    seen = np.arange(float(interface.observation_size)) if observation is None else observation
    with host.policy(source, interface, **options) as policy:
        policy.begin(0)
        return policy.act(seen)


def test_observation_has_the_fields_of_its_class(host):
    interface = Interface(5, FIELDS, Box((2,)))

    action = run(host, "return obs.hand + obs.goal * obs.opened", interface)

    assert action.tolist() == [0 + 2 * 4, 1 + 3 * 4]


def test_observation_class_is_known_by_name(host):
    interface = Interface(5, FIELDS, Box((1,)))

    assert run(host, "return float(isinstance(obs, Observation))", interface).tolist() == [1.0]


def test_observations_are_owned_copies(host):
    assert run(host, "return [float(obs.base is None), obs.size]").tolist() == [1.0, 2.0]


def test_writing_to_an_observation_changes_nothing_outside(host):
    seen = np.ones(2)
    run(host, "obs[:] = 7\n        return obs", observation=seen)

    assert seen.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("action", "body", "expected"),
    [
        (Box((1,)), "return 0.5", [0.5]),
        (Box((1,)), "return np.float32(0.5)", [0.5]),
        (Box((2, 2)), "return [[1, 2], [3, 4]]", [1, 2, 3, 4]),
        (Box((2,)), "return (True, np.int8(3))", [1, 3]),
        (Box((2,)), "return np.matrix([[1, 3]]).A1.view(np.ndarray)", [1, 3]),
        (Discrete(3), "return np.int64(2)", [2]),
        (Discrete(3), "return True", [1]),
        (Discrete(3), "return 2.0", [2]),
        (Discrete(3), "return np.array([1])", [1]),
        (Discrete(3, start=-1), "return -1", [-1]),
        (MultiDiscrete((2, 3)), "return [1, 2]", [1, 2]),
        (MultiDiscrete((2, 3), (5, 5)), "return np.array([6.0, 7.0])", [6, 7]),
    ],
)
def test_actions_are_converted(host, action, body, expected):
    assert run(host, body, Interface(2, None, action)).tolist() == expected


@pytest.mark.parametrize(
    ("action", "body", "words"),
    [
        (Discrete(3), "return 3", "one integer from 0 to 2, not 3"),
        (Discrete(3), "return -1", "one integer from 0 to 2, not -1"),
        (Discrete(3), "return 0.5", "not 0.5"),
        (Discrete(3), "return [1, 2]", "a list of length 2"),
        (Discrete(3), "return 10 ** 30", "one integer from 0 to 2"),
        (MultiDiscrete((2, 3)), "return [0, 3]", "within 0..1, 0..2"),
        (MultiDiscrete((2, 3)), "return 1", "2 integers"),
        (Box((2,)), "return 1.0", "an array of shape (2,)"),
        (Box((2,)), "return None", "every path of act() end in `return`"),
        (Box((2,)), "return [0, float('nan')]", "must be finite"),
        (Box((1,)), "return [[1.0]]", "shape (1,)"),
        (Box((1,)), "return 10 ** 400", "1 finite number"),
        (Box((1,)), "return 10 ** 9999", "not an integer of more than 30 digits"),
        (Discrete(3), "return -10 ** 9999", "not an integer of more than 30 digits"),
        (MultiDiscrete((2, 3)), "return 10 ** 9999", "not an integer of more than 30 digits"),
        (Discrete(3), "return 'x' * 10 ** 6", "one integer from 0 to 2, not 'xxx"),
        (Box((2,)), "return np.matrix([1, 3])", "an array of shape (1, 2)"),
        (Box((1,)), "return np.array([object()])", "dtype object"),
    ],
)
def test_bad_actions_say_what_is_expected(host, action, body, words):
    with pytest.raises(BadAction) as caught:
        run(host, body, Interface(2, None, action))

    assert words in caught.value.message
    assert caught.value.step == 0


NUMBERS = """
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
def prepare(data):
    return {"value": RETURNED}
class Policy:
    def act(self, obs):
        return RETURNED
"""


@pytest.mark.parametrize(
    ("returned", "action"),
    [("Long(2)", 2.0), ("Real(1)", 1.0), ("[Long(0)]", 0.0), ("np.array([Real(2)])", 2.0)],
)
@pytest.mark.parametrize("space", [Box((1,)), Discrete(3), MultiDiscrete((3,))], ids=str)
def test_numbers_of_a_class_of_its_own_are_the_numbers_that_they_hold(
    host, returned, action, space
):
    if isinstance(space, MultiDiscrete) and "[" not in returned:
        returned = f"[{returned}]"
    source = NUMBERS.replace("RETURNED", returned)
    with host.policy(source, Interface(2, None, space)) as policy:
        policy.begin(0)
        assert policy.act(np.zeros(2)).tolist() == [action]


@pytest.mark.parametrize("returned", ["Long(3)", "Real(0.5)", "Real('nan')", "[Long(-1)]"])
def test_numbers_of_a_class_of_its_own_are_checked_as_any(host, returned):
    source = NUMBERS.replace("RETURNED", returned)
    with host.policy(source, Interface(2, None, Discrete(3))) as policy:
        policy.begin(0)
        with pytest.raises(BadAction, match="one integer from 0 to 2"):
            policy.act(np.zeros(2))


def test_an_array_of_a_class_of_its_own_is_described_as_what_it_is(host):
    source = NUMBERS.replace("RETURNED", "np.zeros((4, 5), bool).view(Array)")
    with host.policy(source, VECTOR) as policy:
        policy.begin(0)
        with pytest.raises(BadAction, match=r"an array of shape \(4, 5\) and dtype bool"):
            policy.act(np.zeros(2))


RANDOM = """
import random
class Policy:
    def __init__(self):
        self.offset = np.random.normal()
    def act(self, obs):
        rng = np.random.default_rng()
        return [self.offset + np.random.rand() + random.random(), rng.random()]
"""


def random_actions(host, seed, before=()):
    """Actions of an episode; a process that is kept has played those of other seeds before."""
    with host.policy(RANDOM, VECTOR) as policy:
        for other in (*before, seed):
            policy.begin(other)
            got = [policy.act(np.zeros(2)).tolist() for _ in range(4)]
    return got


def test_an_episode_does_not_depend_on_those_that_its_process_has_played_before(host):
    alone = random_actions(host, 8)

    assert random_actions(host, 8, before=(7, 9)) == alone
    assert random_actions(host, 7) != alone


def test_the_order_of_sets_is_the_same_in_every_process():
    source = "class Policy:\n    def act(self, obs):\n"
    source += "        return [hash('a') % 10007, list({'x', 'y', 'z', 'abc'}).index('x')]\n"
    found = []
    for _ in range(2):
        with sandbox.Host() as one, one.policy(source, VECTOR) as policy:
            policy.begin(0)
            found.append(policy.act(np.zeros(2)).tolist())

    assert found[0] == found[1]


def test_large_seeds_differ(host):
    found = [random_actions(host, seed) for seed in (1, 1 + 2**32, 2**64 - 1)]

    assert len({str(one) for one in found}) == 3


STATE = """
COUNT = [0]
class Policy:
    def __init__(self):
        self.n = 0
        self.resets = 0
    def reset(self):
        self.resets += 1
    def act(self, obs):
        self.n += 1
        COUNT[0] += 1
        return [self.n + 100 * self.resets, COUNT[0]]
"""


def test_a_fresh_episode_has_a_new_object_and_a_new_module(host):
    with host.policy(STATE, VECTOR) as policy:
        for _ in range(2):
            policy.begin(1)
            assert policy.act(np.zeros(2)).tolist() == [1, 1]
            assert policy.act(np.zeros(2)).tolist() == [2, 2]
        assert (policy.lives, policy.acts) == (2, 2)


def test_kept_objects_are_told_by_reset(host):
    with host.policy(STATE, VECTOR) as policy:
        policy.begin(1)
        policy.act(np.zeros(2))
        policy.begin(2, fresh=False)
        assert policy.act(np.zeros(2)).tolist() == [102, 2]
        assert (policy.lives, policy.acts) == (1, 1)


def test_kept_objects_draw_from_the_new_seed(host):
    source = "class Policy:\n    def act(self, obs):\n        return np.random.rand(2)\n"
    with host.policy(source, VECTOR) as policy:
        first, second = [], []
        for drawn in (first, second):
            policy.begin(3, fresh=drawn is first)
            drawn.append(policy.act(np.zeros(2)).tolist())
    assert first == second


def test_a_fresh_episode_starts_with_nothing_printed(host):
    source = "print('made')\nclass Policy:\n    def act(self, obs): return obs"
    with host.policy(source, VECTOR) as policy:
        for _ in range(2):
            policy.begin(0)
            assert policy.output == "made\n"


def test_ragged_observations_arrive_in_their_lengths(host):
    interface = Interface(None, None, Box((1,)))
    source = "class Policy:\n    def act(self, obs):\n        return len(obs) + obs.sum()\n"
    with host.policy(source, interface) as policy:
        policy.begin(0)
        rows = [np.ones(3), np.zeros(0), np.full(2, 5.0), np.ones(50_000)]
        assert [policy.act(row).item() for row in rows] == [6.0, 0.0, 12.0, 100_000.0]


@pytest.mark.parametrize("longer", [600, 100_000])
@pytest.mark.parametrize("first", [3, 510, 511, 8190])
def test_an_observation_that_comes_in_parts_after_a_shorter_one_is_read_whole(host, first, longer):
    interface = Interface(None, None, Box((1,)))
    source = "class Policy:\n    def act(self, obs):\n        return obs.sum()\n"
    with host.policy(source, interface) as policy:
        policy.begin(0)
        sums = [policy.act(np.ones(n)).item() for n in (first, longer, first)]
    assert sums == [first, longer, first]


def test_wide_observations_cross(host):
    interface = Interface(50_000, None, Box((1,)))
    source = "class Policy:\n    def act(self, obs):\n        return obs.sum()\n"
    table = np.random.default_rng(0).normal(size=(3, 50_000))
    with host.policy(source, interface) as policy:
        policy.begin(0)
        assert [policy.act(row).item() for row in table] == [row.sum() for row in table]


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
    with host.policy(source, VECTOR) as policy, pytest.raises(PolicyError) as caught:
        policy.begin(0)
        for _ in range(3):
            policy.act(np.array([1.0, 0.0]))

    error = caught.value
    assert (error.kind, error.step, error.line) == ("exception", 1, 6)
    assert "line 10, in act\n    self._fail()" in error.message
    assert "line 6, in _fail\n    return 1 / (2 - self._n)" in error.message
    assert error.message.endswith("ZeroDivisionError: division by zero")
    assert ".py" not in error.message
    assert error.output.splitlines() == ["n is 1", "n is 2"]


def test_steps_are_counted_from_the_beginning_of_the_episode(host):
    source = "class Policy:\n    def act(self, obs):\n        return 1 / obs\n"
    with host.policy(source, VECTOR) as policy:
        policy.begin(0)
        policy.act(np.ones(2))
        policy.begin(0, fresh=False)
        policy.act(np.ones(2))
        policy.act(np.ones(2))
        with pytest.raises(BadAction) as caught:
            policy.act(np.zeros(2))

    assert (caught.value.step, policy.acts) == (2, 2)
    assert caught.value.message.startswith("act() returned [")
    assert caught.value.output == ""


def test_what_was_printed_comes_with_an_action_that_is_not_finite(host):
    source = (
        "class Policy:\n    def act(self, obs):\n        print('hot')\n        return obs / 0\n"
    )
    with host.policy(source, VECTOR) as policy, pytest.raises(BadAction) as caught:
        policy.begin(0)
        policy.act(np.ones(2))

    assert caught.value.output == "hot\n"


def test_a_slow_call_names_the_line_it_was_at(host):
    source = "class Policy:\n    def act(self, obs):\n        while obs[0]:\n            n = 1\n"
    source += "        return obs\n"
    with host.policy(source, VECTOR, limits=Limits(act_seconds=0.2)) as policy:
        policy.begin(0)
        policy.act(np.zeros(2))
        with pytest.raises(TimeLimit) as caught:
            policy.act(np.ones(2))

    assert caught.value.line in (3, 4)
    assert caught.value.step == 1
    assert "in act" in caught.value.message


def test_a_program_that_failed_is_dead(host):
    with host.policy("class Policy:\n    def act(self, obs): return 1 / 0", VECTOR) as policy:
        policy.begin(0)
        with pytest.raises(PolicyError):
            policy.act(np.zeros(2))
        with pytest.raises(ProcessDied):
            policy.act(np.zeros(2))


def test_compile_errors_come_when_the_policy_is_made(host):
    with pytest.raises(CompileError) as caught:
        host.policy("import os\nclass Policy:\n    def act(self, obs): return 0", VECTOR)

    assert (caught.value.line, caught.value.kind) == (1, "compile")


def test_sources_that_are_too_long_are_refused(host):
    with pytest.raises(CompileError, match="longer than 100 characters"):
        host.policy("x = 1\n" * 100, VECTOR, limits=Limits(source_chars=100))


def test_other_class_names(host):
    interface = Interface(2, None, Box((1,)), policy_class="Controller")
    with host.policy("class Controller:\n    def act(self, obs): return 1", interface) as policy:
        policy.begin(0)
        assert policy.act(np.zeros(2)).tolist() == [1.0]


def test_a_spec_may_allow_more_libraries(host):
    source = "import scipy.special\nfrom textwrap import dedent\nclass Policy:\n"
    source += "    def act(self, obs): return scipy.special.gamma(5) + len(dedent('  x'))"
    interface = Interface(2, None, Box((1,)))
    extra = ("scipy.special", "textwrap")
    with host.policy(source, interface, extra_imports=extra) as policy:
        policy.begin(0)
        assert policy.act(np.zeros(2)).tolist() == [25.0]
    with pytest.raises(CompileError):
        host.policy(source, interface)


def test_several_policies_live_side_by_side(host):
    sources = [f"class Policy:\n    def act(self, obs): return [{n}, {n}]" for n in range(5)]
    policies = [host.policy(source, VECTOR) for source in sources]
    for policy in policies:
        policy.begin(0)
    policies[2].close()
    found = [p.act(np.zeros(2))[0] for i, p in enumerate(policies) if i != 2]
    for policy in policies:
        policy.close()

    assert found == [0, 1, 3, 4]


def test_wrong_shapes_from_the_caller_are_the_callers_mistake(host):
    with host.policy("class Policy:\n    def act(self, obs): return obs", VECTOR) as policy:
        policy.begin(0)
        with pytest.raises(ValueError, match="shape"):
            policy.act(np.zeros(3))
        assert policy.act(np.zeros(2)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_is_none_is_the_callers_mistake(host, seed):
    with host.policy("class Policy:\n    def act(self, obs): return obs", VECTOR) as policy:
        with pytest.raises(OverflowError):
            policy.begin(seed)
        policy.begin(2**64 - 1)


LATE = {
    "no class": ("x = 1", "must define `class Policy`", None),
    "no method": ("class Policy: pass", "must define a method `act`", None),
    "an exception": ("x = 1\n1 / 0", "ZeroDivisionError", 2),
    "an initializer": (
        "class Policy:\n    def __init__(self): 1 / 0\n    def act(self, o): 0",
        "Zero",
        2,
    ),
    "exit": ("raise SystemExit", "SystemExit", 1),
}


@pytest.mark.parametrize("name", LATE)
def test_the_module_is_executed_when_the_episode_begins(host, name):
    source, words, line = LATE[name]
    with host.policy(source, VECTOR) as policy, pytest.raises(sandbox.ProgramError) as caught:
        policy.begin(0)

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
        lambda: Interface(-1, None, Box((1,))),
        lambda: Episode(np.zeros((2, 1)), np.zeros((2, 1)), [0.0], True, False, None),
        lambda: Episode(np.zeros(2), np.zeros((1, 1)), [0.0], True, False, None),
    ],
)
def test_impossible_values_are_refused(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()
