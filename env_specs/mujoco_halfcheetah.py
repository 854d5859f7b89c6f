"""HalfCheetah: make a two-legged runner in a vertical plane run forward as fast as it can.

A planar body of seven rigid parts has a back leg and a front leg, each with a thigh, a shin and a
foot, and a motor in each of the six joints. Steps are 0.05 s apart. At the start the runner stands
with all joint angles near 0 (each position off by at most 0.1, velocities by about 0.1). It can
fall over, but no posture ends the episode: it always lasts 1000 steps.

Frame: x forward, z up, both in metres. Angles are rotations about the axis to the left (y), in rad:
a positive pitch lowers the nose; a positive joint angle swings the lower end of a part that hangs
down to the back (-x), measured against the part that it is hinged to.
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, field


class Observation:
    """Position and velocity of the body and its six joints, before each action.

    The order of the joints is everywhere: 0 back thigh, 1 back shin, 2 back foot, 3 front thigh,
    4 front shin, 5 front foot.
    """

    x_position: float = field(unit="m", frame="world", doc="of the torso along x; starts near 0")
    height: float = field(
        unit="m", frame="world", doc="z of the torso, 0 at its height in the upright model (0.7 m)"
    )
    pitch: float = field(
        unit="rad",
        frame="world",
        doc="0 level, positive nose down; passes pi when rolling over",
    )
    joint_angles: np.ndarray = field(
        shape=(6,),
        unit="rad",
        doc="soft limits, which impacts and torques can push a joint past for a moment: "
        "(-0.52, -0.785, -0.4, -1.0, -1.2, -0.5) to (1.05, 0.785, 0.785, 0.7, 0.87, 0.5)",
    )
    x_velocity: float = field(unit="m/s", frame="world", doc="at this instant, positive forward")
    z_velocity: float = field(unit="m/s", frame="world", doc="positive up")
    pitch_velocity: float = field(unit="rad/s", frame="world", doc="rate of pitch")
    joint_velocities: np.ndarray = field(shape=(6,), unit="rad/s", doc="rates of joint_angles")


ACTION = """
An array of 6 floats, each in [-1, 1] (values beyond are clipped): the torques of the motors in the
order of the joints, as shares of the largest torque (120, 90, 60, 120, 60, 30 N m). A positive
torque drives the joint's angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: mean forward speed during it, less a small cost of the torques."""
    forward = (next_observation.x_position - observation.x_position) / 0.05
    return forward - 0.1 * float(np.sum(np.square(action)))


FACTS = """
Positions are (x, z) in m from the torso's middle, in the posture in which all joint angles are
0. Parts are rods with round ends, whose centres are given; moments of inertia, in kg m^2, are
about an axis at right angles to the plane through the centre of mass.

part         ends of its axis                      mass kg  inertia
torso        (0.5, 0) to (-0.5, 0)                 6.25     0.897
head         (0.485, 0.003) to (0.715, 0.197)
back thigh   (-0.489, -0.015) to (-0.311, -0.245)  1.54     0.0168
back shin    (-0.346, -0.254) to (-0.614, -0.386)  1.59     0.0183
back foot    (-0.565, -0.578) to (-0.615, -0.396)  1.1      0.00635
front thigh  (0.364, -0.235) to (0.496, -0.005)    1.44     0.0137
front shin   (0.485, -0.417) to (0.365, -0.243)    1.2      0.00822
front foot   (0.575, -0.548) to (0.495, -0.432)    0.885    0.00353

Every part: radius 0.046 m, friction 0.4. The head is one rigid body with the torso, whose mass
and inertia are those of both; their centre of mass is at (0.152, 0.025). Together they weigh 14
kg.

joint          at              damping  stiffness
0 back thigh   (-0.5, 0)       6        240
1 back shin    (-0.34, -0.25)  4.5      180
2 back foot    (-0.62, -0.39)  3        120
3 front thigh  (0.5, 0)        4.5      180
4 front shin   (0.36, -0.24)   3        120
5 front foot   (0.49, -0.42)   1.5      60

Every joint: armature 0.1. Damping is in N m s/rad, the rotors' inertia (armature) in kg m^2,
stiffness in N m/rad, of springs that draw the joint to 0. Parts collide with the floor, not
with each other. Of two that touch, the greater coefficient of sliding friction counts; the
floor's is 0.4. Gravity is 9.81 m/s^2 downward. Motion is integrated in steps of 0.01 s (Euler,
joint damping implicit). An action is held for 5 of these, 0.05 s, and acts without lag.
"""

_LEGS = {
    "bthigh": "back thigh",
    "bshin": "back shin",
    "bfoot": "back foot",
    "fthigh": "front thigh",
    "fshin": "front shin",
    "ffoot": "front foot",
}

BODY = BodySheet(
    parts={"torso": "torso", "head": "head", **_LEGS},
    joints=_LEGS,
    zero="the torso's middle",
    origin="torso",
)


def make() -> Env:
    """Gymnasium's HalfCheetah-v5, with the x position in the observation."""
    import gymnasium

    return gymnasium.make(
        "HalfCheetah-v5",
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
    # The environment sums the squares of the torques in float32.
    reward_tolerance=1e-6,
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_halfcheetah --episodes 200
    references={"random": -283.0, "zero action": -0.3},
    install="gymnasium[mujoco]",
)
