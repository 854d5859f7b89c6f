"""An environment that lacks a part of Gymnasium's API: one line with its place and the remedy."""

import re
from pathlib import Path

import numpy as np
import pytest

from promptpo.spec import SpecError, Task, load_spec
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

    def write(*replacements: tuple[str, str]) -> Path:
        text = ROOM
        for old, new in replacements:
            assert old in text, f"the spec has no {old!r}"
            text = text.replace(old, new)
        path = tmp_path / "room.py"
        path.write_text(text)
        return path

    return write


def failure(path: Path, at: str, controller=zero_actions) -> str:
    """The line with which playing fails, without its place, which must be the line of ``at``."""
    with pytest.raises(SpecError) as caught:
        measure(Task.open(load_spec(path)), controller, [0])
    message = str(caught.value)
    assert "\n" not in message
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if at in text)
    assert message.startswith(f"{path}:{line}: ")
    return message.removeprefix(f"{path}:{line}: ")


def test_an_environment_without_close_is_played(room):
    task = Task.open(load_spec(room()))
    assert measure(task, spec_expert, [0]).reference.mean_return == 1.5
    task.close()


def test_an_environment_that_cannot_be_closed_is_one_line(room):
    path = room(("    def step(", "    def close(self):\n        1 / 0\n\n    def step("))
    with pytest.raises(SpecError, match=r"room\.py:\d+: the environment cannot be closed: ZeroDiv"):
        Task.open(load_spec(path)).close()


@pytest.mark.parametrize(
    ("base", "member", "pattern", "remedy"),
    [
        (
            "",
            "action_space",
            r"    action_space = .*\n",
            "add action_space = gymnasium.spaces.Box(",
        ),
        (
            "",
            "observation_space",
            r"    observation_space = .*\n",
            "or give EnvSpec an observe(raw",
        ),
        ("", "reset", r"    def reset.*\n.*\n", "add def reset(self, *, seed=None, options=None)"),
        ("", "step", r"    def step.*\n.*\n", "return observation, reward, terminated, truncated"),
        ("(gymnasium.Env)", "action_space", r"    action_space = .*\n", "add action_space = "),
    ],
)
def test_a_member_that_is_missing_is_named(room, base, member, pattern, remedy):
    old = re.search(pattern, ROOM).group()
    path = room((old, ""), ("class Room:", f"class Room{base}:"))
    message = failure(path, "class Room")
    assert message.startswith(f"the environment Room has no {member}; ")
    assert remedy in message


def test_a_missing_member_is_seen_through_wrappers(room):
    path = room(
        ("    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)\n", ""),
        ("class Room:", "class Room(gymnasium.Env):"),
        ("make=Room", "make=lambda: gymnasium.wrappers.TimeLimit(Room(), 9)"),
    )
    assert failure(path, "class Room").startswith("the environment Room has no action_space; ")


def test_observe_stands_in_for_an_observation_space(room):
    space = re.search(r"    observation_space = .*\n", ROOM).group()
    path = room((space, ""), ("horizon=3", "horizon=3, observe=lambda raw, env: raw"))
    assert measure(Task.open(load_spec(path)), zero_actions, [0]).steps == 3


def test_a_space_of_another_library_is_told(room):
    message = failure(
        room(("gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)", "3")), "class Room"
    )
    assert message.startswith("the environment Room has an action_space of type int, not a Space")


OLD_FORMS = {
    "reset without info": (
        ("return np.zeros(1), {}", "return np.zeros(1)"),
        "def reset",
        "reset returns ndarray, not an observation and a dict; end it with: return observation, {}",
    ),
    "reset without seed": (
        ("self, *, seed=None, options=None", "self"),
        "def reset",
        "reset takes no seed; write def reset(self, *, seed=None, options=None)",
    ),
    "step with done": (
        ("False, False, {}", "False, {}"),
        "def step",
        "step returns 4 values, not 5; end it with: return observation, reward, terminated, ",
    ),
    "step without return": (
        ("return np.zeros(1), action", "np.zeros(1), action"),
        "def step",
        "step returns NoneType, not 5 values; end it with: return observation",
    ),
    "reward that is none": (
        ("action[0], False", "None, False"),
        "def step",
        "step returns NoneType as the reward, not a number; make it a float",
    ),
}


@pytest.mark.parametrize("case", OLD_FORMS)
def test_an_old_form_is_told_with_its_remedy(room, case):
    replacement, at, words = OLD_FORMS[case]
    assert failure(room(replacement), at).startswith(words)


def test_a_reset_of_the_spec_that_returns_the_info_too_is_told(room):
    path = room(("horizon=3", "horizon=3, reset=lambda env, seed: env.reset(seed=seed)"))
    message = failure(path, "reset=lambda")
    assert message.startswith("reset(env, seed) returns an observation and a dict; return the obs")


def test_a_pair_is_an_observation_of_a_tuple_space(room):
    space = "gymnasium.spaces.Box(-9.0, 9.0, (1,), np.float64)"
    pair = "gymnasium.spaces.Dict(a=gymnasium.spaces.Discrete(3))"
    path = room(
        (space, f"gymnasium.spaces.Tuple(({space}, {pair}))"),
        ("heat: float = field(", "a: float = field()\n    heat: float = field("),
        ("horizon=3", "horizon=3, reset=lambda env, seed: (np.zeros(1), {'a': 2})"),
    )
    assert Task.open(load_spec(path)).reset(0).tolist() == [0.0, 2.0]


def test_what_an_environment_raises_in_a_step_is_not_taken_for_its_form(room):
    pendulum = ("make=Room", "make=lambda: gymnasium.make('Pendulum-v1')")
    fields = ("heat: float = field(", "heat: np.ndarray = field(shape=(3,), ")
    task = Task.open(load_spec(room(pendulum, fields)))
    task.reset(0)
    with pytest.raises(SpecError, match=r"room\.py: step failed: ValueError: cannot reshape"):
        task.step(np.zeros(5))


BAD_EXPERTS = {
    "no function": (
        ("    return act", "    pass"),
        "def expert",
        "expert(env) returned NoneType, not a function act(raw); end it with: return act",
    ),
    "no action": (
        ("return [0.5]", "pass"),
        "def expert",
        "the expert's act(raw) returned None, not one of size 1; return the action in it",
    ),
    "size": (
        ("return [0.5]", "return [0.5, 1.0]"),
        "def expert",
        "the expert's act(raw) returned an action of size 2, not one of size 1",
    ),
    "error": (
        ("return [0.5]", "return [0.5 / raw.heat]"),
        "raw.heat",
        "the expert failed: AttributeError",
    ),
    "error before": (
        ("    def act(raw)", "    env.missing()\n\n    def act(raw)"),
        "env.missing",
        "expert(env) failed: AttributeError",
    ),
}


@pytest.mark.parametrize("case", BAD_EXPERTS)
def test_a_wrong_expert_is_told_with_its_line(room, case):
    replacement, at, words = BAD_EXPERTS[case]
    assert failure(room(replacement), at, spec_expert).startswith(words)
