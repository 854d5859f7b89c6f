"""Instances of one program, each with constants of its own, in one process."""

import ast

import numpy as np
import pytest
from speaking import forger

import sandbox
from sandbox import Box, CompileError, Discrete, Interface, Limits, MemoryLimit, Place, TimeLimit
from sandbox.host import Instances

VECTOR, CHOICE = Interface(1, None, Box((1,))), Interface(1, None, Discrete(3))
SOURCE = """import numpy as np
LIMIT = 4.0
class Policy:
    GAIN = -2.0
    def __init__(self, offset=1):
        self.offset = offset
        self.t = 0
    def act(self, obs):
        self.t += 1
        return np.array([min(self.GAIN * obs[0] + self.offset, LIMIT)])
"""


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def places(source, whole=()):
    """All numbers of a source, in order; ``whole`` are the indices of those that are ints."""
    found, inner = [], set()
    for node in ast.walk(ast.parse(source)):
        signed = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        if signed:
            inner.add(node.operand)
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if (signed or number) and node not in inner:
            found.append((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
    return [Place(*where, n in whole) for n, where in enumerate(sorted(found))]


def opened(host, source, interface=VECTOR, chosen=None, limits=None, whole=()):
    at = places(source, whole)
    at = at if chosen is None else [at[i] for i in chosen]
    return host.instances(source, at, interface, limits)


def acted(policy, constants, rows=None):
    slots = list(range(len(constants)))
    policy.reset(slots, [7] * len(slots), constants=constants)
    return policy.act(slots, np.ones((len(slots), 1)) if rows is None else rows)


def test_every_slot_acts_by_its_own_constants(host):
    with opened(host, SOURCE, chosen=[0, 1, 2]) as policy:
        actions = acted(policy, [(4.0, -2.0, 1.0), (4.0, 3.0, 0.5), (2.0, 3.0, 0.5)])
    assert actions.ravel().tolist() == [-1.0, 3.5, 2.0]


def test_values_do_exactly_as_if_they_were_written(host):
    values = (0.1 + 0.2, -1 / 3, 2.5e-7)
    written = SOURCE.replace("4.0", repr(values[0])).replace("-2.0", repr(values[1]))
    written = written.replace("offset=1", f"offset={values[2]!r}")
    with host.policy(written, VECTOR) as plain, opened(host, SOURCE, chosen=[0, 1, 2]) as policy:
        plain.reset([0], [7])
        expected = plain.act([0], np.ones((1, 1)))
        assert acted(policy, [values]).tobytes() == expected.tobytes()


def test_whole_numbers_are_ints(host):
    source = (
        "class Policy:\n    N = 3\n    def act(self, obs):\n        return [0, 1, 2][-self.N]\n"
    )
    with opened(host, source, CHOICE, chosen=[0], whole=[0]) as policy:
        assert acted(policy, [(3,), (1,)]).ravel().tolist() == [0, 2]


def test_the_same_seed_draws_the_same_in_every_instance(host):
    source = "import numpy as np\nA = 1.0\nclass Policy:\n    def act(self, obs):\n"
    source += "        return np.array([A * np.random.random()])\n"
    with opened(host, source, chosen=[0]) as policy:
        one, double = acted(policy, [(1.0,), (2.0,)]).ravel()
    assert double == 2 * one


FAILS = """import numpy as np
A = 1.0
class Policy:
    def __init__(self):
        self.x = 1 / (A - 3.0)
        self.t = 0
    def act(self, obs):
        self.t += 1
        if A == 4.0 and self.t == 2:
            raise ValueError("no more")
        if A == 5.0:
            return None
        return np.array([A if A != 6.0 else np.nan])
"""


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (3.0, "ZeroDivisionError"),
        (4.0, "ValueError: no more"),
        (5.0, "not None"),
        (6.0, ""),
    ],
)
def test_a_bad_instance_leaves_the_others_alone(host, bad, why):
    with opened(host, FAILS, chosen=[0]) as policy:
        policy.reset([0, 1, 2], [1, 1, 1], constants=[(1.0,), (bad,), (2.0,)])
        for _ in range(3):
            actions = policy.act([0, 1, 2], np.zeros((3, 1))).ravel()
            assert actions[[0, 2]].tolist() == [1.0, 2.0]
        assert np.isnan(actions[1]) == (bad != 4.0)
        assert why in policy.error(1)
        assert bool(why) == bool(policy.error(1))
        assert policy.error(0) == ""


def test_an_action_that_is_none_is_nan_in_every_space(host):
    source = "A = 1.0\nclass Policy:\n    def act(self, obs):\n        return int(A)\n"
    with opened(host, source, CHOICE, chosen=[0]) as policy:
        actions = acted(policy, [(0.0,), (3.0,), (2.0,)]).ravel()
    assert actions[[0, 2]].tolist() == [0, 2]
    assert np.isnan(actions[1])


def test_a_slot_begins_anew_after_it_has_failed(host):
    with opened(host, FAILS, chosen=[0]) as policy:
        assert np.isnan(acted(policy, [(5.0,)])).all()
        assert acted(policy, [(2.0,)]).item() == 2.0
        assert policy.error(0) == ""


def test_an_object_that_stays_keeps_its_constants(host):
    source = "import numpy as np\nA = 1.0\nclass Policy:\n    def __init__(self):\n"
    source += "        self.t = 0\n    def reset(self):\n        self.t += 10\n"
    source += "    def act(self, obs):\n        return np.array([A * self.t])\n"
    at = [p for p in places(source) if p.line == 2]
    with host.instances(source, at, VECTOR) as policy:
        policy.reset([0, 1], [1, 1], constants=[(1.0,), (2.0,)])
        policy.reset([0, 1], [2, 2], fresh=False, constants=[(1.0,), (2.0,)])
        assert policy.act([0, 1], np.zeros((2, 1))).ravel().tolist() == [10.0, 20.0]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("        while A == 2.0:\n            pass\n", TimeLimit),
        ("        if A == 2.0:\n            raise MemoryError\n", MemoryLimit),
    ],
)
def test_limits_end_the_process_and_name_the_slot(host, body, error):
    source = f"A = 1.0\nclass Policy:\n    def act(self, obs):\n{body}        return [0.0]\n"
    limits = Limits(act_seconds=0.2)
    with opened(host, source, chosen=[0], limits=limits) as policy:
        policy.reset([4, 5, 6], [1, 1, 1], constants=[(1.0,), (2.0,), (3.0,)])
        with pytest.raises(error) as failure:
            policy.act([4, 5, 6], np.zeros((3, 1)))
        assert failure.value.slot == 5


def test_instances_share_nothing(host):
    """Neither what a module holds nor what its class does."""
    source = """import numpy as np
A = 1.0
SEEN = []
class Policy:
    count = 0
    def __init__(self):
        SEEN.append(A)
        Policy.count += 1
    def act(self, obs):
        return np.array([len(SEEN) + 10.0 * Policy.count])
"""
    with opened(host, source, chosen=[0]) as policy:
        assert acted(policy, [(1.0,), (2.0,), (3.0,)]).ravel().tolist() == [11.0, 11.0, 11.0]


@pytest.mark.parametrize("where", [(2, 0, 2, 5), (9, 0, 9, 1), (1, 0, 1, 6)])
def test_a_place_without_a_number_is_refused(host, where):
    with pytest.raises(CompileError, match="hold no number"):
        host.instances(SOURCE, [Place(*where)], VECTOR)


@pytest.mark.parametrize("constants", [[(1.0, 2.0)], [()], [(np.nan,)], [(1.0,), (2.0,)]])
def test_other_numbers_of_constants_are_refused(host, constants):
    with opened(host, SOURCE, chosen=[0]) as policy, pytest.raises(ValueError, match="constants"):
        policy.reset([0], [1], constants=constants)


def test_what_a_forger_answers_is_no_action():
    """Whatever numbers come from the process, only actions go on."""
    body = "\n".join(
        f"ask(); say({kind}, {payload})"
        for kind, payload in (
            ("DONE", "b''"),
            ("DONE", "b''"),
            ("ACTIONS", "struct.pack('<3d', 1.5, float('nan'), 7.0)"),
        )
    )
    channel, _ = forger(body)
    policy = Instances(channel, "A = 1.0\n", CHOICE, Limits(), places=[Place(1, 4, 1, 7)])
    with policy:
        policy.reset([0, 1, 2], [1, 1, 1], constants=[(1.0,)] * 3)
        assert np.isnan(policy.act([0, 1, 2], np.zeros((3, 1)))).all()
