"""LunarLander: land on a pad with a main engine and two side engines, and little fuel.

A lander with two legs comes down over uneven ground; gravity is 10 m/s^2, steps are 0.02 s apart.
The pad is level, 4 m wide, in the middle of a world that is 20 m wide. At the start the lander is
upright, 10 m above the middle of the pad, and is given a random push; the ground beside the pad is
drawn at random. The episode ends when the lander's body touches the ground, which is a crash, when
it is 10 m or more to the side of the pad's middle, when it has come to rest, and after 1000 steps
at the latest. It succeeds if the lander comes to rest, on the pad or beside it.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared import machines


class Observation:
    """The lander, before each action. All numbers are scaled; the units say by how much."""

    x: float = field(unit="10 m", frame="pad", doc="0 above the pad's middle, positive right")
    y: float = field(
        unit="6.667 m", frame="pad", doc="0 when it stands level on the pad, positive up; 1.4 first"
    )
    velocity_x: float = field(unit="5 m/s", frame="pad", doc="positive to the right")
    velocity_y: float = field(unit="7.5 m/s", frame="pad", doc="positive up")
    angle: float = field(unit="rad", doc="0 upright, positive when leaning to the left")
    spin: float = field(unit="2.5 rad/s", doc="rate of angle, positive anticlockwise")
    right_leg: bool = field(low=0, high=1, doc="whether the right leg touches the ground")
    left_leg: bool = field(low=0, high=1, doc="whether the left leg touches the ground")
    crashed: bool = field(
        low=0, high=1, doc="whether the body touched the ground; ends the episode"
    )
    at_rest: bool = field(low=0, high=1, doc="whether it has come to rest; ends the episode")


ACTION = """
An int: 0 fires no engine. 1 fires the engine that pushes the lander to its left and turns it
anticlockwise (angle grows), 2 the main engine, which pushes it towards its top, 3 the engine that
pushes it to its right and turns it clockwise (angle falls). An engine fires for one step, at full
power.
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: what closeness, slowness and uprightness gained, less the fuel."""

    def closeness(seen: Observation) -> float:
        distance = np.hypot(seen.x, seen.y)
        speed = np.hypot(seen.velocity_x, seen.velocity_y)
        legs = 10 * seen.right_leg + 10 * seen.left_leg
        return float(-100 * distance - 100 * speed - 100 * abs(seen.angle) + legs)

    if next_observation.at_rest:
        return 100.0
    if next_observation.crashed or abs(next_observation.x) >= 1:
        return -100.0
    fuel = (0.0, 0.03, 0.3, 0.03)[action]
    return closeness(next_observation) - closeness(observation) - fuel


FACTS = """
The lander weighs 4.82 kg, each leg 0.0711 kg. Its moment of inertia is 0.833 kg m^2. In a step the
main engine gives 1.73 N s, the engines at its sides 0.24 N s; the first is off by up to a half, the
others by up to a quarter, each time by chance.
"""


def make() -> Env:
    """Gymnasium's LunarLander-v3, without wind (lunar_lander.py)."""
    import gymnasium

    importlib.import_module("Box2D")  # where it is missing, Gymnasium names another remedy
    return gymnasium.make("LunarLander-v3", disable_env_checker=True)


def observe(raw: Raw, env: Env) -> list[Any]:
    """Add how the episode ended, which Gymnasium's observation does not tell."""
    lander = env.unwrapped
    return [*raw, lander.game_over, not lander.lander.awake]


def expert(env: Env) -> Callable[[Raw], int]:
    """Steer as the heuristic of Gymnasium's lunar_lander.py does.

    Lean against the way to the pad and the drift; sink the slower, the closer to the ground.
    """

    def act(raw: Raw) -> int:
        x, y, velocity_x, velocity_y, angle, spin, right_leg, left_leg = map(float, raw)
        lean = min(max(0.5 * x + velocity_x, -0.4), 0.4)
        turn = 0.5 * (lean - angle) - spin
        lift = 0.5 * (0.55 * abs(x) - y) - 0.5 * velocity_y
        if right_leg or left_leg:
            turn, lift = 0.0, -0.5 * velocity_y
        if lift > max(abs(turn), 0.05):
            return 2
        if abs(turn) <= 0.05:
            return 0
        return 1 if turn > 0 else 3

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    observe=observe,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.LANDER.measured,
    reward=reward,
    reward_tolerance=2e-4,  # the observation is float32
    horizon=1000,
    success=lambda info, reward, terminated: terminated and reward > 0,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines lunar_lander --episodes 2000
    references={
        "random": Reference(-190.6, 0.0),
        "zero action": Reference(-132.0, 0.0),
        "expert": Reference(240.2, 0.927),
    },
    install="promptpo[box2d]",
)
