"""Reacher: bring the tip of a two-link arm to a target in the plane, and hold it there.

The arm turns in a horizontal plane about a fixed shoulder at the origin. Its upper link is 0.10 m
long; from the elbow to the tip it is 0.11 m. Both joints have motors. Steps are 0.02 s apart. At
the start both angles are within 0.1 rad of 0 (the arm stretched out along x), nearly at rest. The
target lies within 0.2 m of the shoulder, is fixed during an episode and differs from one to the
next. The episode always lasts 50 steps.

World frame, in metres: x and y horizontal. Angles are in rad, positive anticlockwise as seen from
above (x towards y).
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, field


class Observation:
    """Arm and target, before each action. Joint 0 is the shoulder, joint 1 the elbow."""

    cos_angles: np.ndarray = field(
        shape=(2,), low=-1.0, high=1.0, doc="shoulder's angle against x, elbow's against upper link"
    )
    sin_angles: np.ndarray = field(shape=(2,), low=-1.0, high=1.0, doc="of the same two angles")
    target_position: np.ndarray = field(
        shape=(2,),
        unit="m",
        low=-0.2,
        high=0.2,
        frame="world",
        doc="x, y of the target; constant during an episode",
    )
    joint_velocities: np.ndarray = field(shape=(2,), unit="rad/s", doc="rates of both angles")
    tip_offset: np.ndarray = field(
        shape=(2,), unit="m", low=-0.42, high=0.42, frame="world", doc="x, y of tip minus target"
    )


ACTION = """
An array of 2 floats, each in [-1, 1] (values beyond are clipped): the torques on shoulder and
elbow, as shares of the largest torque (200 N m; the joints are heavy). A positive torque drives the
joint's angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: minus the distance that it leads to, less a cost of the torques."""
    distance = float(np.linalg.norm(next_observation.tip_offset))
    return -distance - float(np.sum(np.square(action)))


FACTS = """
Positions are (x, y) in m from the shoulder, in the posture in which all joint angles are 0.
Parts are rods with round ends, whose centres are given, and balls; moments of inertia, in kg
m^2, are about an axis at right angles to the plane through the centre of mass.

part        ends of its axis      mass kg  inertia
upper link  (0.1, 0) to (0, 0)    0.0356   3.92e-05
lower link  (0.2, 0) to (0.1, 0)  0.0356   3.92e-05
tip         (0.21, 0)             0.00419  1.68e-07

Every part: radius 0.01 m. The tip is fixed to the lower link. Together they weigh 0.0754 kg.

joint       at
0 shoulder  (0, 0)
1 elbow     (0.1, 0)

Every joint: damping 1, armature 1. Damping is in N m s/rad, the rotors' inertia (armature) in
kg m^2. Nothing collides with anything. Gravity acts across the plane. Motion is integrated in
steps of 0.01 s (fourth-order Runge-Kutta). An action is held for 2 of these, 0.02 s, and acts
without lag.
"""

BODY = BodySheet(
    parts={"link0": "upper link", "link1": "lower link", "fingertip": "tip"},
    joints={"joint0": "shoulder", "joint1": "elbow"},
    zero="the shoulder",
    origin="body0",
    axes="xy",
)


def make() -> Env:
    """Gymnasium's Reacher-v5 (reacher_v5.py, reacher.xml)."""
    import gymnasium

    return gymnasium.make("Reacher-v5", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=50,
    # Measured: python -m promptpo.spec.baselines mujoco_reacher --episodes 1000
    references={"random": -42.8, "zero action": -11.84},
    install="gymnasium[mujoco]",
)
