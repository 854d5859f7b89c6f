"""BipedalWalker: walk to the far end of slightly uneven ground on two legs, without falling.

A body in a vertical plane has a hull and two legs, each of a thigh and a shin, with a motor in each
hip and knee; the legs do not collide with each other. Steps are 0.02 s apart. At the start the hull
is upright 4.67 m from the left end of the ground, and is given a random push forward or backward;
the ground's heights beyond the first 9.8 m are drawn at random. The episode ends when the hull
touches the ground, which is a fall, when its middle is left of the ground's left end, when it is
88.67 m or more to the right of that, which is success, and after 1600 steps at the latest.

Frame: x forward (to the right), y up, in metres. Angles are in rad, positive anticlockwise: a
positive hull angle is nose up, a positive hip angle swings the leg forward, a negative knee angle
bends the shin backward.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared import machines


class Observation:
    """The walker, before each action. Leg 0 starts slightly behind the hull, leg 1 before it."""

    x: float = field(
        unit="m", frame="world", doc="of the hull; 4.67 at the start, 88.67 is the goal"
    )
    hull_angle: float = field(unit="rad", doc="0 upright, positive nose up")
    hull_speed: float = field(unit="25 rad/s", doc="rate of hull_angle")
    velocity_x: float = field(unit="8.333 m/s", frame="world", doc="positive forward")
    velocity_y: float = field(unit="12.5 m/s", frame="world", doc="positive up")
    hip_angles: np.ndarray = field(
        shape=(2,), unit="rad", doc="0 in line with the hull, positive forward; limits -0.8 and 1.1"
    )
    hip_speeds: np.ndarray = field(shape=(2,), unit="4 rad/s", doc="rates of hip_angles")
    knee_angles: np.ndarray = field(
        shape=(2,), unit="rad", doc="0 straight, negative bent; limits -1.6 and -0.1"
    )
    knee_speeds: np.ndarray = field(shape=(2,), unit="6 rad/s", doc="rates of knee_angles")
    contacts: np.ndarray = field(
        shape=(2,), low=0, high=1, doc="1 where the leg's shin touches the ground, else 0"
    )
    lidar: np.ndarray = field(
        shape=(10,),
        low=0,
        high=1,
        unit="5.333 m",
        doc="distances from the hull's middle to the ground; ray i points 0.15 * i rad forward of "
        "straight down; 1: no ground within reach",
    )
    fallen: bool = field(low=0, high=1, doc="whether the hull touched the ground; ends the episode")


ACTION = """
An array of 4 floats, each in [-1, 1] (values beyond are clipped): hip and knee of leg 0, hip and
knee of leg 1. The sign says which way the motor turns its joint, positive towards a greater angle,
the size its largest torque as a share of 80 N m. A motor drives a hip at up to 4 rad/s, a knee at
up to 6 rad/s.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: progress and keeping the hull level, less a cost of the torques."""
    if next_observation.fallen or next_observation.x < 0:
        return -100.0
    progress = 130 / 30 * (next_observation.x - observation.x)
    level = 5 * (abs(observation.hull_angle) - abs(next_observation.hull_angle))
    return float(progress + level - 0.028 * np.sum(np.abs(action)))


FACTS = """
The hull weighs 5.42 kg, each thigh 0.302 kg, each shin 0.242 kg; their moments of inertia about
their middles are 2, 0.0341 and 0.0268 kg m^2. Thighs and shins are 1.13 m long; both hips are 0.267
m below the hull's middle. Gravity is 10 m/s^2. Shins and ground have a coefficient of friction of
0.707.
"""


def make() -> Env:
    """Gymnasium's BipedalWalker-v3 (bipedal_walker.py), with a new world for each episode.

    In a world that has been used, contacts are solved in another order, and an episode would depend
    on those before it.
    """
    import gymnasium

    box2d = importlib.import_module("Box2D")  # where it is missing, Gymnasium names another remedy

    class NewWorld(gymnasium.Wrapper[Any, Any, Any, Any]):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:  # noqa: ANN401
            walker: Any = self.unwrapped
            walker._destroy()
            walker.world = box2d.b2World()
            return self.env.reset(seed=seed, options=options)

    return NewWorld(gymnasium.make("BipedalWalker-v3", disable_env_checker=True))


def observe(raw: Raw, env: Env) -> list[Any]:
    """Order the numbers by joint; add the hull's place and its fall, which the reward goes by."""
    walker: Any = env.unwrapped
    hull, legs, lidar = raw[:4], np.reshape(raw[4:14], (2, 5)).T, raw[14:]
    hips, hip_speeds, knees, knee_speeds, contacts = legs
    return [
        walker.hull.position.x, *hull, *hips, *hip_speeds, *(knees - 1), *knee_speeds, *contacts,
        *lidar, walker.game_over,
    ]  # fmt: skip


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """Walk as the heuristic of Gymnasium's bipedal_walker.py does.

    One leg stands, its knee straightening, while the other swings forward; once the standing leg is
    behind, the other is put down, and the first pushes off.
    """
    swinging, phase, knee = 0, "swing", 0.1

    def act(raw: Raw) -> np.ndarray:
        nonlocal swinging, phase, knee
        angle, spin, speed, sinking = map(float, raw[:4])
        legs = np.reshape(raw[4:14], (2, 5))
        standing = 1 - swinging
        hips: list[float | None] = [None, None]
        knees: list[float | None] = [None, None]
        if phase == "swing":
            knee = min(knee + (0.06 if speed > 0.29 else 0.03), 0.1)
            hips[swinging], knees[swinging], knees[standing] = 1.1, -0.6, knee
            if legs[standing, 0] < 0.1:
                phase = "put down"
        if phase == "put down":
            hips[swinging], knees[swinging], knees[standing] = 0.1, 0.1, knee
            if legs[swinging, 4]:
                phase, knee = "push off", min(float(legs[swinging, 2]), 0.1)
        if phase == "push off":
            knees[swinging], knees[standing] = knee, 1.0
            if legs[standing, 2] > 0.88 or speed > 1.2 * 0.29:
                phase, swinging = "swing", standing
        torques = np.zeros(4)
        for i, (hip_angle, hip_speed, knee_angle, knee_speed, _) in enumerate(legs):
            if (wanted := hips[i]) is not None:
                torques[2 * i] = 0.9 * (wanted - hip_angle) - 0.25 * hip_speed
            if (wanted := knees[i]) is not None:
                torques[2 * i + 1] = 4.0 * (wanted - knee_angle) - 0.25 * knee_speed
            torques[2 * i] += 0.9 * angle + 1.5 * spin
            torques[2 * i + 1] -= 15.0 * sinking
        return np.asarray(np.clip(0.5 * torques, -1, 1))

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    observe=observe,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.WALKER.measured,
    reward=reward,
    reward_tolerance=1e-5,  # angles are float32
    horizon=1600,
    success=lambda info, reward, terminated: terminated and reward > -100,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines bipedal_walker --episodes 1000
    references={"random": Reference(-99.7, 0.0), "zero action": Reference(-91.9, 0.0)},
    install="promptpo[box2d]",
)
