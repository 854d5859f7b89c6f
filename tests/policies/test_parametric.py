"""Each compact policy, run in the real sandbox: it does with its numbers what it says."""

import ast
import random
import re

import numpy as np
import pytest

import sandbox
from promptpo.policies import Actions, Program, parametric_policy
from promptpo.spec import layout, load_spec, standalone_source
from promptpo.spec.definition import EnvSpec

HEAD = '''
"""A task for tests."""

import numpy as np

from promptpo.spec import EnvSpec, field


class Observation:
    """What is seen."""

{fields}


def reward(observation, action, next_observation):
    """None."""
    return 0.0


SPEC = EnvSpec(
    make=lambda: None, observation=Observation, action="A number.", reward=reward, horizon=5
)
'''

ONE_CELL = ['cell: int = field(low=0, high=3, doc="where")']
OFFSETS = [
    'row: int = field(low=-1, high=1, doc="row")',
    'column: int = field(low=5, high=6, doc="column")',
    'open: bool = field(doc="a door")',
]
FREE = [
    'position: np.ndarray = field(shape=(2,), unit="m", doc="x, y")',
    'count: int = field(doc="without bounds")',
    'touching: bool = field(doc="the floor")',
]
SCALED = [
    'angle: float = field(low=-0.5, high=1.5, doc="lean")',
    'speed: float = field(low=-1e9, high=1e9, doc="a bound that says nothing")',
]

DISCRETE = Actions(counts=(3,), starts=(0,))
SHIFTED = Actions(counts=(3,), starts=(-4,))
PARTS = Actions((2,), counts=(2, 3), starts=(0, 7))
BOX = Actions((2,), low=(-1.0, 0.0), high=(1.0, float("inf")))
NUMBER = Actions((), low=(-2.0,), high=(2.0,))
MATRIX = Actions((2, 2), low=(-1.0,) * 4, high=(1.0,) * 4)


@pytest.fixture
def spec(tmp_path):
    """Makes a spec whose observation has these fields."""

    def written(fields):
        path = tmp_path / "seen.py"
        path.write_text(HEAD.format(fields="\n".join(f"    {line}" for line in fields)))
        return load_spec(str(path))

    return written


@pytest.fixture(scope="module")
def host():
    with sandbox.Host() as running:
        yield running


def space_of(actions):
    """The action space as the sandbox checks it."""
    if not actions.counts:
        return sandbox.Box(actions.shape)
    if actions.shape:
        return sandbox.MultiDiscrete(actions.counts, actions.starts)
    return sandbox.Discrete(actions.counts[0], actions.starts[0])


def acts(host, spec: EnvSpec, actions: Actions, source, seen):
    """What a policy does in the sandbox at each of these flat observations: rows of numbers."""
    size = layout(spec.observation)[-1].stop
    interface = sandbox.Interface(size, standalone_source(spec.observation), space_of(actions))
    with host.policy(source, interface) as policy:
        policy.begin(1)
        rows = [policy.act(np.array(flat, dtype=float)) for flat in seen]
    return [np.asarray(row).reshape(-1).tolist() for row in rows]


# Tables


def test_a_table_has_an_action_for_each_state_from_where_those_of_the_space_begin(spec, host):
    task = spec(ONE_CELL)
    policy = parametric_policy(task, DISCRETE)
    assert (policy.name, policy.choices) == ("table", (3,) * 4)
    seen = [[0], [1], [2], [3]]
    assert acts(host, task, DISCRETE, policy.program.source((2, 0, 1, 2)), seen) == [
        [2],
        [0],
        [1],
        [2],
    ]
    source = parametric_policy(task, SHIFTED).program.source((2, 0, 1, 2))
    assert acts(host, task, SHIFTED, source, [[0], [1]]) == [[-2], [-4]]
    policy = parametric_policy(task, PARTS)
    assert policy.choices == (2, 3) * 4
    source = policy.program.source((0, 0, 1, 2, 0, 1, 1, 0))
    assert acts(host, task, PARTS, source, [[0], [1], [2], [3]]) == [[0, 7], [1, 9], [0, 8], [1, 7]]


def test_every_state_of_several_fields_with_bounds_from_anywhere_has_a_place_of_its_own(spec, host):
    task = spec(OFFSETS)
    policy = parametric_policy(task, Actions(counts=(12,), starts=(0,)))
    assert len(policy.choices) == 3 * 2 * 2
    seen = [[row, column, door] for row in (-1, 0, 1) for column in (5, 6) for door in (0, 1)]
    source = policy.program.source(range(12))
    taken = acts(host, task, Actions(counts=(12,), starts=(0,)), source, seen)
    assert taken == [[i] for i in range(12)]


MANY = 'cell: int = field(low=0, high=9999, doc="where")'


def test_few_states_and_discrete_actions_make_a_table_and_all_else_is_linear(spec):
    cases = [
        (ONE_CELL, BOX, "linear"), (FREE, DISCRETE, "linear"), (SCALED, DISCRETE, "linear"),
        ([*ONE_CELL, FREE[1]], DISCRETE, "linear"), ([MANY], DISCRETE, "table"),
        ([MANY.replace("9999", "10000")], DISCRETE, "linear"),
    ]  # fmt: skip
    for fields, actions, name in cases:
        assert parametric_policy(spec(fields), actions).name == name


# Linear policies


def with_rows(policy, *rows):
    """The source with these rows of weights, the bias last."""
    return policy.program.source([float(x) for row in rows for x in row])


def test_the_greatest_choice_of_each_part_wins(spec, host):
    task = spec(FREE)  # position (2), count, touching
    policy = parametric_policy(task, SHIFTED)
    source = with_rows(policy, (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 0, 0, 5))
    seen = [[9, 8, 0, 0], [7, 8, 0, 1], [-1, -1, 0, 0]]
    assert acts(host, task, SHIFTED, source, seen) == [[-4], [-3], [-2]]

    task = spec(FREE)
    source = with_rows(
        parametric_policy(task, PARTS),
        (0, 0, 0, 0, 1), (0, 0, 1, 0, 0),
        (0, 0, 0, 0, 1), (1, 0, 0, 0, 0), (0, 0, 0, 3, 0),
    )  # fmt: skip
    seen = [[0, 0, 0, 0], [2, 0, 5, 0], [2, 0, 0, 1]]
    assert acts(host, task, PARTS, source, seen) == [[0, 7], [1, 8], [0, 9]]


def test_continuous_actions_are_weighted_sums_with_a_bias_clipped_to_their_bounds(spec, host):
    task = spec(FREE)
    source = with_rows(parametric_policy(task, BOX), (0.5, 0, 0, 0, 0.25), (0, 2, 0, 0, -1))
    seen = [[1, 2, 0, 0], [9, 1e6, 0, 0], [-9, -9, 0, 0]]
    assert acts(host, task, BOX, source, seen) == [[0.75, 3], [1, 2e6 - 1], [-1, 0]]


@pytest.mark.parametrize("actions", [NUMBER, MATRIX])
def test_an_action_has_the_shape_of_its_space(spec, host, actions):
    task = spec(SCALED)
    policy = parametric_policy(task, actions)
    rows = max(1, int(np.prod(actions.shape)))
    source = with_rows(policy, *[(0, 0, 0.5 + row / 10) for row in range(rows)])
    (taken,) = acts(host, task, actions, source, [[0, 0]])
    assert taken == pytest.approx([0.5 + row / 10 for row in range(rows)])


def test_observations_are_scaled_by_bounds_that_say_something(spec, host):
    task = spec(SCALED)  # angle -0.5 to 1.5: 0.5 is the middle, 1 the half
    source = with_rows(parametric_policy(task, NUMBER), (1, 1e-3, 0))
    seen = [[0.5, 0], [1.5, 0], [0.5, 100]]
    assert acts(host, task, NUMBER, source, seen) == [[0], [1], [pytest.approx(0.1)]]


# All of them


def test_what_a_generator_draws_runs_and_is_the_same_again(spec, host):
    cases = [
        (ONE_CELL, DISCRETE), (OFFSETS, SHIFTED), (FREE, PARTS), (SCALED, BOX), (FREE, NUMBER),
        (ONE_CELL, MATRIX),
    ]  # fmt: skip
    for fields, actions in cases:
        task = spec(fields)
        policy = parametric_policy(task, actions)
        drawn = policy.draw(random.Random(0))
        assert drawn == policy.draw(random.Random(0)) != policy.draw(random.Random(4))
        seen = [
            part.field.low or 0
            for part in layout(task.observation)
            for _ in range(part.start, part.stop)
        ]
        assert len(acts(host, task, actions, policy.program.source(drawn), [seen])) == 1


def test_choices_are_drawn_evenly_and_every_program_says_what_it_does(spec):
    policy = parametric_policy(spec(ONE_CELL), PARTS)
    drawn = np.array([policy.draw(random.Random(i)) for i in range(300)])
    assert drawn.min(axis=0).tolist() == [0] * 8
    assert drawn.max(axis=0).tolist() == [1, 2] * 4
    assert np.abs(drawn.mean(axis=0) - [0.5, 1.0] * 4).max() < 0.2

    table = parametric_policy(spec(ONE_CELL), DISCRETE)
    linear = parametric_policy(spec(FREE), DISCRETE)
    for policy in (table, linear):
        assert re.search(
            r'class Policy:\n    """.*\."""', policy.program.source([0] * policy.program.size)
        )


CUT = Program(("a = ", "\nb = ", "\n"))


def test_numbers_stand_where_it_is_cut():
    assert CUT.size == 2
    assert CUT.source((1, 2.5)) == "a = 1\nb = 2.5\n"

    program = Program.of("x = 1\n")
    assert program.size == 0
    assert program.source() == "x = 1\n"

    for constants in ((), (1,), (1, 2, 3)):
        with pytest.raises(ValueError, match=f"takes 2 constants, not {len(constants)}"):
            CUT.source(constants)
    for number in (0.1 + 0.2, -1e-300, 1e22, 5e-324, -0.0, 2**53 + 1, -7, np.float64(0.5)):
        value = ast.literal_eval(ast.parse(CUT.source((number, 0))).body[0].value)
        assert repr(value) == repr(number if isinstance(number, int) else float(number))
