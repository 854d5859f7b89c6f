"""Episodes of one program, each with constants of its own at places of its text."""

import ast

import numpy as np
import pytest
from acting import ONE, policy

import sandbox
from sandbox import CompileError, Discrete, Interface, Place, PolicyError, Program

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


def program(source, chosen=(0,), interface=ONE, whole=False):
    """A program with places at some of its numbers, in order."""
    found, inner = [], set()
    for node in ast.walk(ast.parse(source)):
        signed = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        if signed:
            inner.add(node.operand)
        number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
        if (signed or number) and node not in inner:
            found.append((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset))
    places = [Place(*where, whole) for where in sorted(found)]
    return Program(source, interface, places=[places[i] for i in chosen])


def acted(host, program, *several):
    """The action of an episode for each row of constants, each in a process of its own."""
    policies = [host.open(program) for _ in several]
    for running, constants in zip(policies, several, strict=True):
        running.begin(7, constants=constants)
    actions, errors = sandbox.Together(policies).act(np.ones((len(several), 1)))
    for running in policies:
        running.close()
    assert not errors
    return actions.ravel().tolist()


def test_every_episode_acts_by_its_own_constants(host):
    opened, rows = program(SOURCE, [0, 1, 2]), ((4, -2, 1), (4, 3, 0.5), (2, 3, 0.5))
    assert acted(host, opened, *rows) == [-1.0, 3.5, 2.0]
    with host.open(opened) as running:  # one after the other in the same process
        for constants, action in zip(rows, (-1.0, 3.5, 2.0), strict=True):
            running.begin(7, constants=constants)
            assert running.act(np.ones(1)).item() == action
        running.begin(7, fresh=False, constants=(4, 3, 1))
        assert running.act(np.ones(1)).item() == 2.0  # those of the object stay


def test_values_do_exactly_as_if_they_were_written(host):
    values = (0.1 + 0.2, -1 / 3, 2.5e-7)
    written = SOURCE.replace("4.0", repr(values[0])).replace("-2.0", repr(values[1]))
    written = written.replace("offset=1", f"offset={values[2]!r}")
    expected = acted(host, program(written, []), ())
    assert acted(host, program(SOURCE, [0, 1, 2]), values) == expected
    drawing = "import numpy as np\nA = 1.0\n" + policy("return [A * np.random.random()]")
    one, double = acted(host, program(drawing), (1.0,), (2.0,))
    assert double == 2 * one


def test_whole_numbers_are_ints(host):
    source = policy("return [0, 1, 2][-self.N]", "N = 3")
    choice = Interface(1, None, Discrete(3))
    assert acted(host, program(source, [0], choice, whole=True), (3,), (1,)) == [0, 2]
    source = "N = 3\n" + policy("return [float(N)]")
    for constant in (1e300, -1e300, 5e-324):
        expected = [float(int(constant))]
        assert acted(host, program(source, whole=True), (constant,)) == expected


def test_an_error_names_the_line_where_the_number_stands(host):
    running = host.open(program(policy("return [1 / 2.0]"), [1]))
    with running, pytest.raises(PolicyError, match=r"return \[1 / 2\.0\]") as caught:
        running.begin(1, constants=(0.0,))
        running.act(np.zeros(1))
    assert (caught.value.line, caught.value.step) == (3, 0)


def test_other_places_and_numbers_of_constants_are_refused(host):
    for where in ((2, 0, 2, 5), (9, 0, 9, 1), (1, 0, 1, 6)):
        with pytest.raises(CompileError, match="hold no number"):
            host.open(Program(SOURCE, ONE, places=[Place(*where)]))
    with host.open(program(SOURCE)) as running:
        for constants in ((1.0, 2.0), (), (np.nan,), (np.inf,), ((1.0,), (2.0,))):
            with pytest.raises(ValueError, match="constants"):
                running.begin(1, constants=constants)
        running.begin(1, constants=(1.0,))
