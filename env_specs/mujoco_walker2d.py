"""Walker2d: make a two-legged body in a vertical plane walk forward without falling.

A planar body has a torso and two legs of thigh, shin and foot, side by side, with a motor in each
of the six joints. Steps are 0.008 s apart. At the start it stands upright, nearly still (each
position and velocity off by at most 0.005). The episode ends when the torso's height is not between
0.8 m and 2.0 m or its pitch is not within 1 rad of 0, and after 1000 steps at the latest.

Frame: x forward, z up, both in metres. Angles are in rad: a positive pitch leans the torso's top
forward; a positive joint angle swings the lower end of a hanging part forward (the toes up),
measured against the part that it is hinged to.
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, field


class Observation:
    """Position and velocity of the torso and the six joints, before each action.

    The order of the joints is everywhere: 0 right hip (thigh), 1 right knee (shin), 2 right ankle
    (foot), 3 left hip, 4 left knee, 5 left ankle.
    """

    x_position: float = field(unit="m", frame="world", doc="of the torso along x; starts near 0")
    height: float = field(unit="m", frame="world", doc="z of the torso's middle; starts near 1.25")
    pitch: float = field(unit="rad", frame="world", doc="0 upright, positive leaning forward")
    joint_angles: np.ndarray = field(
        shape=(6,),
        unit="rad",
        doc="0 when standing straight; soft limits, which impacts and torques can push a joint "
        "past for a moment: -2.618 to 0 at hips and knees, -0.785 to 0.785 at the ankles",
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
        shape=(6,),
        unit="rad/s",
        low=-10.0,
        high=10.0,
        doc="rates of joint_angles, cut to -10 to 10",
    )


ACTION = """
An array of 6 floats, each in [-1, 1] (values beyond are clipped): the torques of the motors in the
order of the joints, as shares of the largest torque (100 N m). A positive torque drives the joint's
angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: mean forward speed, 1 for not falling, less a cost of the torques."""
    forward = (next_observation.x_position - observation.x_position) / 0.008
    standing = 0.8 < next_observation.height < 2.0 and abs(next_observation.pitch) < 1.0
    return forward + (1.0 if standing else 0.0) - 0.001 * float(np.sum(np.square(action)))


FACTS = """
Positions are (x, z) in m from the torso's middle, in the posture in which all joint angles are
0. Parts are rods with round ends, whose centres are given; moments of inertia, in kg m^2, are
about an axis at right angles to the plane through the centre of mass.

part       ends of its axis            radius m  mass kg  inertia  friction
torso      (0, -0.2) to (0, 0.2)       0.05      3.67     0.0692   0.9
thigh x 2  (0, -0.65) to (0, -0.2)     0.05      4.06     0.0933   0.9
shin x 2   (0, -1.15) to (0, -0.65)    0.04      2.78     0.0723   0.9
foot x 2   (0.2, -1.15) to (0, -1.15)  0.06      3.17     0.024    1.9

Together they weigh 23.7 kg.

joint       at
0, 3 hip    (0, -0.2)
1, 4 knee   (0, -0.65)
2, 5 ankle  (0, -1.15)

Every joint: damping 0.1, armature 0.01. Damping is in N m s/rad, the rotors' inertia (armature)
in kg m^2. Parts collide with the floor, not with each other. Of two that touch, the greater
coefficient of sliding friction counts; the floor's is 0.7. Gravity is 9.81 m/s^2 downward.
Motion is integrated in steps of 0.002 s (fourth-order Runge-Kutta). An action is held for 4 of
these, 0.008 s, and acts without lag.
"""

BODY = BodySheet(
    parts={
        "torso_geom": "torso",
        "thigh_geom": "thigh",
        "leg_geom": "shin",
        "foot_geom": "foot",
        "thigh_left_geom": "thigh",
        "leg_left_geom": "shin",
        "foot_left_geom": "foot",
    },
    joints={
        "thigh_joint": "hip",
        "leg_joint": "knee",
        "foot_joint": "ankle",
        "thigh_left_joint": "hip",
        "leg_left_joint": "knee",
        "foot_left_joint": "ankle",
    },
    zero="the torso's middle",
    origin="torso",
)


def make() -> Env:
    """Gymnasium's Walker2d-v5, with its position in the observation (walker2d_v5.py and .xml)."""
    import gymnasium

    return gymnasium.make(
        "Walker2d-v5",
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
    # Measured: python -m promptpo.spec.baselines mujoco_walker2d --episodes 1000
    references={"random": 1.5, "zero action": 95.4},
    install="gymnasium[mujoco]",
)
