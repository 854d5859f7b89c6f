"""Hopper: make a one-legged body in a vertical plane hop forward without falling.

A planar body has a torso and a leg of thigh, shin and foot, with a motor in each of the three
joints. Steps are 0.008 s apart. At the start it stands upright, nearly still (each position and
velocity off by at most 0.005). The episode ends when the torso's height is not above 0.7 m or its
pitch is not within 0.2 rad of 0, and after 1000 steps at the latest.

Frame: x forward, z up, both in metres. Angles are in rad: a positive pitch leans the torso's top
forward; a positive joint angle swings the lower end of a hanging part forward (the toes up),
measured against the part that it is hinged to.
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, field


class Observation:
    """Position and velocity of the torso and the three joints, before each action.

    The order of the joints is everywhere: 0 hip (thigh), 1 knee (shin), 2 ankle (foot).
    """

    x_position: float = field(unit="m", frame="world", doc="of the torso along x; starts near 0")
    height: float = field(unit="m", frame="world", doc="z of the torso's middle; starts near 1.25")
    pitch: float = field(unit="rad", frame="world", doc="0 upright, positive leaning forward")
    joint_angles: np.ndarray = field(
        shape=(3,),
        unit="rad",
        doc="0 when standing straight; soft limits, which impacts and torques can push a joint "
        "past for a moment: (-2.618, -2.618, -0.785) to (0, 0, 0.785)",
    )
    x_velocity: float = field(
        unit="m/s",
        low=-10.0,
        high=10.0,
        frame="world",
        doc="at this instant, positive forward; cut to -10 to 10, as are all velocities here; the "
        "body's motion and the reward go by the uncut ones",
    )
    z_velocity: float = field(
        unit="m/s", low=-10.0, high=10.0, frame="world", doc="positive up; cut to -10 to 10"
    )
    pitch_velocity: float = field(
        unit="rad/s", low=-10.0, high=10.0, frame="world", doc="rate of pitch, cut to -10 to 10"
    )
    joint_velocities: np.ndarray = field(
        shape=(3,),
        unit="rad/s",
        low=-10.0,
        high=10.0,
        doc="rates of joint_angles, cut to -10 to 10",
    )


ACTION = """
An array of 3 floats, each in [-1, 1] (values beyond are clipped): the torques of the motors in the
order of the joints, as shares of the largest torque (200 N m). A positive torque drives the joint's
angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: mean forward speed, 1 for not falling, less a cost of the torques."""
    forward = (next_observation.x_position - observation.x_position) / 0.008
    standing = next_observation.height > 0.7 and abs(next_observation.pitch) < 0.2
    return forward + (1.0 if standing else 0.0) - 0.001 * float(np.sum(np.square(action)))


def make() -> Env:
    """Gymnasium's Hopper-v5, with its position in the observation (hopper_v5.py, hopper.xml)."""
    import gymnasium

    return gymnasium.make(
        "Hopper-v5",
        exclude_current_positions_from_observation=False,
        disable_env_checker=True,
    )


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_hopper --episodes 1000
    references={"random": 17.4, "zero action": 149.2},
    install="gymnasium[mujoco]",
)
