"""Shipped specs against their real environments, as ``promptpo check`` holds them."""

import numpy as np
import pytest

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.checks.description import check_observation
from promptpo.checks.play import play
from promptpo.checks.reward import check_reward
from promptpo.spec import Task, load_spec

#: Meta-World's scripted policies ask for more than the bounds, and warn of it.
pytestmark = pytest.mark.filterwarnings("ignore:Constant:UserWarning")

#: Those with a recording, for a wrong word in their prompts costs the most; and the lander.
LONG = ["noise_world_board_1", "mujoco_halfcheetah", "lunar_lander"]


def test_a_shipped_spec_passes_the_quick_check():
    """Check one spec; ``promptpo check --all --quick`` of ``.ci/run`` checks each of them."""
    with Replays(["cartpole"]) as replays:
        findings = list(check_spec(load_spec("cartpole"), QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    assert len(findings) >= 13


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_reward_and_ranges_hold_on_ten_thousand_transitions(name):
    task = Task.open(load_spec(name))
    played = play(task, 10_000)
    task.close()
    assert [f for f in (*check_reward(played), *check_observation(played)) if f.failed] == []


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
