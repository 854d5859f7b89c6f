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

from promptpo.spec import BodySheet, Env, EnvSpec, field


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


FACTS = """
Positions are (x, z) in m from the torso's middle, in the posture in which all joint angles are
0. Parts are rods with round ends, whose centres are given; moments of inertia, in kg m^2, are
about an axis at right angles to the plane through the centre of mass.

part   ends of its axis                 radius m  mass kg  inertia  friction
torso  (0, -0.2) to (0, 0.2)            0.05      3.67     0.0692   0.9
thigh  (0, -0.65) to (0, -0.2)          0.05      4.06     0.0933   0.9
shin   (0, -1.15) to (0, -0.65)         0.04      2.78     0.0723   0.9
foot   (0.26, -1.15) to (-0.13, -1.15)  0.06      5.32     0.104    2

Together they weigh 15.8 kg.

joint           at
0 hip (thigh)   (0, -0.2)
1 knee (shin)   (0, -0.65)
2 ankle (foot)  (0, -1.15)

Every joint: damping 1, armature 1. Damping is in N m s/rad, the rotors' inertia (armature) in
kg m^2. Parts collide with the floor and with each other without friction, unless joined. Of two
that touch, the greater coefficient of sliding friction counts; the floor's is 1. Gravity is
9.81 m/s^2 downward. Motion is integrated in steps of 0.002 s (fourth-order Runge-Kutta). An
action is held for 4 of these, 0.008 s, and acts without lag.
"""

BODY = BodySheet(
    parts={"torso_geom": "torso", "thigh_geom": "thigh", "leg_geom": "shin", "foot_geom": "foot"},
    joints={
        "thigh_joint": "hip (thigh)",
        "leg_joint": "knee (shin)",
        "foot_joint": "ankle (foot)",
    },
    zero="the torso's middle",
    origin="torso",
)


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
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_hopper --episodes 1000
    references={"random": 17.4, "zero action": 149.2},
    install="gymnasium[mujoco]",
)
