"""Members, answers and experts of an environment that are wrong: one line with place and remedy."""

import math
import re

import gymnasium
import numpy as np
import pytest

from promptpo.spec import EnvSpec, SpecError, Task, field, load_spec
from promptpo.spec.baselines import measure, spec_expert, zero_actions

ROOM = '''"""Room: a spec whose environment is in the same file."""

import gymnasium
import numpy as np

from promptpo.spec import EnvSpec, field


class Observation:
    heat: float = field(doc="of the room")


def reward(observation, action, next_observation):
    return float(action[0])


class Room:
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float64)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1), {}

    def step(self, action):
        return np.zeros(1), action[0], False, False, {}


def expert(env):
    def act(raw):
        return [0.5]

    return act


SPEC = EnvSpec(
    make=Room,
    observation=Observation,
    action="An array of 1 float in [-1, 1].",
    reward=reward,
    horizon=3,
    expert=expert,
)
'''


@pytest.fixture
def room(tmp_path):
    """Write the spec with texts replaced (old, new); return its path."""

    def write(*replacements):
        text = ROOM
        for old, new in replacements:
            assert old in text, f"the spec has no {old!r}"
            text = text.replace(old, new)
        path = tmp_path / "room.py"
        path.write_text(text)
        return path

    return write


def failure(path, at, controller=zero_actions):
    """Return the line with which playing fails, without its place, which is the line of ``at``."""
    with pytest.raises(SpecError) as caught:
        measure(Task.open(load_spec(path)), controller, [0])
    message = str(caught.value)
    assert "\n" not in message
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if at in text)
    assert message.startswith(f"{path}:{line}: ")
    return message.removeprefix(f"{path}:{line}: ")


def test_an_environment_needs_no_close_but_one_that_works(room):
    task = Task.open(load_spec(room()))
    assert measure(task, spec_expert, [0]).reference.mean_return == 1.5
    task.close()
    path = room(("    def step(", "    def close(self):\n        1 / 0\n\n    def step("))
    with pytest.raises(SpecError, match=r"room\.py:\d+: the environment cannot be closed: ZeroDiv"):
        Task.open(load_spec(path)).close()


#: Member | its text | remedy.
MEMBERS = {
    "action_space": (r"    action_space = .*\n", "add action_space = gymnasium.spaces.Box("),
    "observation_space": (r"    observation_space = .*\n", "or give EnvSpec an observe(raw"),
    "reset": (r"    def reset.*\n.*\n", "add def reset(self, *, seed=None, options=None)"),
    "step": (r"    def step.*\n.*\n", "return observation, reward, terminated, truncated"),
}
WRAPPED = ("make=Room", "make=lambda: gymnasium.wrappers.TimeLimit(Room(), 9)")


def test_a_member_that_is_missing_is_named(room):
    for member, (pattern, remedy) in MEMBERS.items():
        message = failure(room((re.search(pattern, ROOM).group(), "")), "class Room")
        assert message.startswith(f"the environment Room has no {member}; ")
        assert remedy in message
    without = (re.search(MEMBERS["action_space"][0], ROOM).group(), "")
    for changes in ([], [WRAPPED]):  # seen through wrappers
        path = room(without, ("class Room:", "class Room(gymnasium.Env):"), *changes)
        assert failure(path, "class Room").startswith("the environment Room has no action_space; ")
    message = failure(
        room(("gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)", "3")), "class Room"
    )
    assert message.startswith("the environment Room has an action_space of type int, not a Space")


def test_observe_stands_in_for_an_observation_space(room):
    space = re.search(r"    observation_space = .*\n", ROOM).group()
    path = room((space, ""), ("horizon=3", "horizon=3, observe=lambda raw, env: raw"))
    assert measure(Task.open(load_spec(path)), zero_actions, [0]).steps == 3


#: Text of the room, text in its place, line of the error, error.
OLD_FORMS = [
    (
        ("return np.zeros(1), {}", "return np.zeros(1)"),
        "def reset",
        "reset returns ndarray, not an observation and a dict; end it with: return observation, {}",
    ),
    (
        ("self, *, seed=None, options=None", "self"),
        "def reset",
        "reset takes no seed; write def reset(self, *, seed=None, options=None)",
    ),
    (
        ("False, False, {}", "False, {}"),
        "def step",
        "step returns 4 values, not 5; end it with: return observation, reward, terminated, ",
    ),
    (
        ("return np.zeros(1), action", "np.zeros(1), action"),
        "def step",
        "step returns NoneType, not 5 values; end it with: return observation",
    ),
    (
        ("horizon=3", "horizon=3, reset=lambda env, seed: env.reset(seed=seed)"),
        "reset=lambda",
        "reset(env, seed) returns an observation and a dict; return the obs",
    ),
]
EXPERTS = [
    (
        ("    return act", "    pass"),
        "def expert",
        "expert(env) returned NoneType, not a function act(raw); end it with: return act",
    ),
    (
        ("return [0.5]", "pass"),
        "def expert",
        "the expert's act(raw) returned None, not one of size 1; return the action in it",
    ),
    (
        ("return [0.5]", "return [0.5, 1.0]"),
        "def expert",
        "the expert's act(raw) returned an action of size 2, not one of size 1",
    ),
    (
        ("return [0.5]", "return [0.5 / raw.heat]"),
        "raw.heat",
        "the expert failed: AttributeError",
    ),
    (
        ("    def act(raw)", "    env.missing()\n\n    def act(raw)"),
        "env.missing",
        "expert(env) failed: AttributeError",
    ),
]


def test_old_forms_and_wrong_experts_are_named_with_their_remedy(room):
    for cases, controller in ((OLD_FORMS, zero_actions), (EXPERTS, spec_expert)):
        for replacement, at, words in cases:
            assert failure(room(replacement), at, controller).startswith(words)


def test_a_pair_is_an_observation_of_a_tuple_space(room):
    space = "gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float64)"
    pair = "gymnasium.spaces.Dict(a=gymnasium.spaces.Discrete(3))"
    path = room(
        (space, f"gymnasium.spaces.Tuple(({space}, {pair}))"),
        ("heat: float = field(", "a: float = field()\n    heat: float = field("),
        ("horizon=3", "horizon=3, reset=lambda env, seed: (np.zeros(1), {'a': 2})"),
    )
    assert Task.open(load_spec(path)).reset(0).tolist() == [0.0, 2.0]


def test_an_error_of_the_environment_in_a_step_is_not_taken_for_its_form(room):
    pendulum = ("make=Room", "make=lambda: gymnasium.make('Pendulum-v1')")
    fields = ("heat: float = field(", "heat: np.ndarray = field(shape=(3,), ")
    task = Task.open(load_spec(room(pendulum, fields)))
    task.reset(0)
    with pytest.raises(SpecError, match=r"room\.py: step failed: ValueError: cannot reshape"):
        task.step(np.zeros(5))


# --- Values ---------------------------------------------------------------------------------------


class Observation:
    """The room."""

    heat: float = field(doc="of the room")
    doors: np.ndarray = field(shape=(2, 2), doc="how far open")


class Room:
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Box(-9.0, 9.0, (5,), np.float64)

    def __init__(self, answer, first):
        self.answer, self.first = answer, first

    def reset(self, *, seed=None, options=None):
        return self.first, {}

    def step(self, action):
        return self.answer


def stepped(first=None, observe=None, success=None, **changed):
    """Return a step of an environment that returns ordinary values but for those changed."""
    answer = {
        "observation": np.zeros(5), "reward": 1.0, "terminated": False, "truncated": False,
        "info": {}, **changed,
    }  # fmt: skip
    env = Room(tuple(answer.values()), np.zeros(5) if first is None else first)
    spec = EnvSpec(
        make=lambda: env,
        observation=Observation,
        action="0 or 1",
        reward=lambda observation, action, next_observation: 0.0,
        horizon=9,
        name="room",
        observe=observe,
        success=success,
    )
    task = Task(spec, env)
    task.reset(0)
    return task.step(np.zeros(1))


def test_numbers_and_flags_of_any_type_are_accepted():
    for part, value, expected in (
        ("reward", np.float32(2.0), 2.0),
        ("reward", 2, 2.0),
        ("reward", True, 1.0),
        ("reward", np.array([2.0]), 2.0),
        ("reward", np.array(2), 2.0),
        ("terminated", np.True_, True),
        ("terminated", 1, True),
        ("truncated", np.array([False]), False),
        ("truncated", 0.0, False),
    ):
        returned = stepped(**{part: value})[("reward", "terminated", "truncated").index(part) + 1]
        assert (returned, type(returned)) == (expected, type(expected))


NUMBER, GRID = 0.0, np.zeros((2, 2))
REFUSED = [
    ("reward", math.nan, "step returns nan as the reward; make it a finite number"),
    ("reward", np.float32(-np.inf), "step returns -inf as the reward"),
    ("reward", None, "step returns NoneType as the reward, not a number; make it a float"),
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
    ("info", None, "step returns NoneType as info, not a dict; return {}"),
    ("observation", None, "step returns None as the observation, not numbers"),
    ("observation", "text", "step returns text as the observation, not numbers"),
    ("observation", [None] * 5, "step returns objects as the observation"),
    ("observation", np.zeros(4), "the environment gives 4 numbers, but the fields of Observation"),
    ("observation", np.zeros(5, complex), "step returns complex numbers as the observation"),
    ("observation", [[1.0], [1.0, 2.0]], "step returns an observation that is no array"),
    ("observe", (1j, GRID), "observe returns complex numbers as field 'heat'"),
    ("observe", ("3", GRID), "observe returns text as field 'heat', not numbers"),
    ("observe", (None, GRID), "observe returns None as field 'heat', not numbers"),
    ("observe", (0.0, 1.0), "an array of shape () as field 'doors', which has shape (2, 2)"),
    ("observe", (0.0, np.zeros(5)), "an array of shape (5,) as field 'doors'"),
    ("observe", (np.zeros(2), GRID), "an array of shape (2,) as field 'heat', which has one numb"),
    *[("success", value, "success returns ") for value in ("yes", None, math.nan, 3)],
    *[
        ("first", np.array([0, 0, 0, value, 0]), rf"field 'doors'[1, 0] is {value:g} after reset")
        for value in (math.nan, math.inf, -math.inf)
    ],
]


def test_values_that_are_no_numbers_or_flags_are_refused():
    for part, value, words in REFUSED:
        given = {
            "observe": lambda raw, env, value=value: dict(
                zip(("heat", "doors"), value, strict=True)
            ),
            "success": lambda info, reward, terminated, value=value: value,
        }.get(part, value)
        with pytest.raises(SpecError) as caught:
            stepped(**{part: given})
        assert words in str(caught.value)
