"""Shipped specs against their real environments: rewards, ranges, horizons, reference values."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from promptpo.spec import EnvSpec, Task, layout, load_spec, standalone_source

#: Meta-World's scripted policies ask for more than the bounds, and warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

TRANSITIONS = 10_000
SPECS = [
    "cartpole",
    "noise_world_board_1",
    "mujoco_halfcheetah",
    "metaworld_reach",
    "metaworld_button_press",
]


class Transition(NamedTuple):
    """One step, observations and action as a policy and the prompt's reward see them."""

    before: np.ndarray
    action: object
    after: np.ndarray
    reward: float
    info: dict


def actions(task: Task, mode: str, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield action rows: random, held for a while (beyond the bounds at times), or the expert's."""
    space = task.env.action_space
    expert = task.spec.expert(task.env) if task.spec.expert and mode == "expert" else None
    row = np.zeros(task.action_size)
    step = 0
    while True:
        if expert is not None:
            row = np.asarray(expert(task.raw), dtype=np.float64).reshape(-1)
        elif hasattr(space, "n"):
            row = np.array([float(rng.integers(space.n))])
        elif mode == "random" or step % 40 == 0:
            row = rng.uniform(-1.5, 1.5, task.action_size)
        step += 1
        yield row


@pytest.fixture(scope="module", params=SPECS)
def played(request) -> tuple[EnvSpec, list[Transition]]:
    """A spec and at least 10,000 real transitions: random, held and expert actions in turn."""
    task = Task.open(load_spec(request.param))
    rng = np.random.default_rng(0)
    transitions: list[Transition] = []
    seed = 0
    while len(transitions) < TRANSITIONS:
        before = task.reset(seed)
        for row in actions(task, ("random", "held", "expert")[seed % 3], rng):
            after, reward, terminated, truncated, _ = task.step(row)
            got = task.received(row)
            action = int(got[0]) if hasattr(task.env.action_space, "n") else got
            transitions.append(Transition(before, action, after, reward, dict(task.info)))
            before = after
            if terminated or truncated:
                break
        seed += 1
    task.close()
    return task.spec, transitions


def test_the_reward_of_the_prompt_is_the_environments(played):
    spec, transitions = played
    space: dict = {}
    exec(standalone_source(spec.observation), space)  # noqa: S102 - a shipped spec
    see = space["Observation"]
    deviation = 0.0
    for step in transitions:
        hidden = spec.reward_inputs(step.info) if spec.reward_inputs else {}
        stated = spec.reward(see(step.before), step.action, see(step.after), **hidden)
        deviation = max(deviation, abs(stated - step.reward))
    assert deviation <= spec.reward_tolerance


def test_observations_stay_in_their_documented_ranges(played):
    spec, transitions = played
    seen = np.array([step.after for step in transitions] + [transitions[0].before])
    assert np.isfinite(seen).all()
    for item in layout(spec.observation):
        values = seen[:, item.slice] if item.kind == "array" else seen[:, item.start]
        values = values.reshape(len(seen), -1)
        low = -np.inf if item.field.low is None else np.asarray(item.field.low)
        high = np.inf if item.field.high is None else np.asarray(item.field.high)
        assert (values >= low - 1e-9).all(), f"{item.name} below its range: {values.min(0)}"
        assert (values <= high + 1e-9).all(), f"{item.name} above its range: {values.max(0)}"


@pytest.mark.parametrize("name", SPECS)
def test_the_horizon_is_the_environments_own(name):
    spec = load_spec(name)
    env = spec.make()
    limits = [
        getattr(env, "_max_episode_steps", None),
        getattr(env.unwrapped, "max_path_length", None),
        getattr(getattr(env.unwrapped, "board", None), "horizon", None),
    ]
    env.close()
    assert spec.horizon in limits


def test_an_observation_of_cartpole_is_what_the_fields_say():
    from gymnasium.envs.classic_control import CartPoleEnv

    task = Task.open(load_spec("cartpole"))
    task.reset(0)
    assert isinstance(task.env, CartPoleEnv)
    for push, sign in ((1.0, 1.0), (0.0, -1.0)):
        task.reset(0)
        for _ in range(5):
            flat = task.step(np.array([push]))[0]
        assert np.sign(flat[1]) == sign, "pushing right must give positive velocity"
        assert np.sign(flat[3]) == -sign, "the pole falls away from the push"


def test_the_signs_of_halfcheetah_are_what_the_spec_says():
    task = Task.open(load_spec("mujoco_halfcheetah"))
    env = task.env

    def place(index: int, angle: float) -> dict[str, np.ndarray]:
        position = np.zeros(9)
        position[index] = angle
        env.set_state(position, np.zeros(9))
        return {name: env.data.geom(name).xpos.copy() for name in ("head", "bfoot", "ffoot")}

    rest = place(0, 0.0)
    assert place(2, 0.3)["head"][2] < rest["head"][2], "positive pitch lowers the nose"
    assert place(3, 0.3)["bfoot"][0] < rest["bfoot"][0], "positive back thigh swings it back"
    assert place(6, 0.3)["ffoot"][0] < rest["ffoot"][0], "positive front thigh swings it back"
    assert env.data.body("torso").xpos[2] == pytest.approx(0.7), "height 0 is 0.7 m"
    for joint in range(6):
        task.reset(0)
        env.set_state(np.zeros(9), np.zeros(9))
        torque = np.zeros(6)
        torque[joint] = 1.0
        assert task.step(torque)[0][3 + joint] > 0.05, "positive torque drives the angle up"
    assert env.model.actuator_gear[:, 0].tolist() == [120, 90, 60, 120, 60, 30]
