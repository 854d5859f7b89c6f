"""Episodes of one program, each with constants of its own at places of its text."""

import ast

import numpy as np
import pytest

import sandbox
from sandbox import Box, CompileError, Discrete, Interface, Limits, Place, PolicyError, Program

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


def program(source, chosen, interface=VECTOR, limits=None, whole=()):
    at = places(source, whole)
    return Program(source, interface, limits or Limits(), places=[at[i] for i in chosen])


def acted(host, program, *several):
    """The action of an episode for each row of constants, each in a process of its own."""
    policies = [host.open(program) for _ in several]
    for policy, constants in zip(policies, several, strict=True):
        policy.begin(7, constants=constants)
    actions, errors = sandbox.Together(policies).act(np.ones((len(several), 1)))
    for policy in policies:
        policy.close()
    assert not errors
    return actions.ravel().tolist()


def test_every_episode_acts_by_its_own_constants(host):
    opened = program(SOURCE, [0, 1, 2])
    assert acted(host, opened, (4, -2, 1), (4, 3, 0.5), (2, 3, 0.5)) == [-1.0, 3.5, 2.0]


def test_a_fresh_episode_in_the_same_process_has_others(host):
    with host.open(program(SOURCE, [0, 1, 2])) as policy:
        for constants, action in (((4, -2, 1), -1.0), ((4, 3, 0.5), 3.5), ((2, 3, 0.5), 2.0)):
            policy.begin(7, constants=constants)
            assert policy.act(np.ones(1)).item() == action


def test_values_do_exactly_as_if_they_were_written(host):
    values = (0.1 + 0.2, -1 / 3, 2.5e-7)
    written = SOURCE.replace("4.0", repr(values[0])).replace("-2.0", repr(values[1]))
    written = written.replace("offset=1", f"offset={values[2]!r}")
    expected = acted(host, program(written, []), ())
    assert acted(host, program(SOURCE, [0, 1, 2]), values) == expected


def test_whole_numbers_are_ints(host):
    source = (
        "class Policy:\n    N = 3\n    def act(self, obs):\n        return [0, 1, 2][-self.N]\n"
    )
    assert acted(host, program(source, [0], CHOICE, whole=[0]), (3,), (1,)) == [0, 2]


def test_the_same_seed_draws_the_same_whatever_the_constants(host):
    source = "import numpy as np\nA = 1.0\nclass Policy:\n    def act(self, obs):\n"
    source += "        return np.array([A * np.random.random()])\n"
    one, double = acted(host, program(source, [0]), (1.0,), (2.0,))
    assert double == 2 * one


def test_an_object_that_stays_keeps_its_constants(host):
    source = "A = 1.0\nclass Policy:\n    def act(self, obs):\n        return [A]\n"
    with host.open(program(source, [0])) as policy:
        policy.begin(1, constants=(2.0,))
        policy.begin(1, fresh=False, constants=(3.0,))
        assert policy.act(np.zeros(1)).tolist() == [2.0]


def test_an_error_names_the_line_where_the_number_stands(host):
    source = "class Policy:\n    def act(self, obs):\n        return [1 / 2.0]\n"
    with host.open(program(source, [1])) as policy, pytest.raises(PolicyError) as caught:
        policy.begin(1, constants=(0.0,))
        policy.act(np.zeros(1))
    assert (caught.value.line, caught.value.step) == (3, 0)
    assert "return [1 / 2.0]" in caught.value.message


@pytest.mark.parametrize("where", [(2, 0, 2, 5), (9, 0, 9, 1), (1, 0, 1, 6)])
def test_a_place_without_a_number_is_refused(host, where):
    with pytest.raises(CompileError, match="hold no number"):
        host.open(Program(SOURCE, VECTOR, places=[Place(*where)]))


@pytest.mark.parametrize("constants", [(1.0, 2.0), (), (np.nan,), (np.inf,), ((1.0,), (2.0,))])
def test_other_numbers_of_constants_are_refused(host, constants):
    with host.open(program(SOURCE, [0])) as policy:
        with pytest.raises(ValueError, match="constants"):
            policy.begin(1, constants=constants)
        policy.begin(1, constants=(1.0,))


@pytest.mark.parametrize("constant", [1e300, -1e300, 5e-324])
def test_any_finite_constant_may_be_a_whole_number(host, constant):
    source = "N = 3\nclass Policy:\n    def act(self, obs):\n        return [float(N)]\n"
    assert acted(host, program(source, [0], whole=[0]), (constant,)) == [float(int(constant))]
