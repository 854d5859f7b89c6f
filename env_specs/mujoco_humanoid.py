"""Humanoid: make a human-like body walk forward (along x) as fast as it can without falling.

A torso with head has two arms and, below an upper waist that is part of it, a lower waist, a pelvis
and two legs. 17 hinges with a motor each connect the parts. Steps are 0.015 s apart. At the start
the body is upright with straight legs and both hands held in front of it, the soles 0.1 m above the
floor, nearly still (each position and velocity off by at most 0.01). Standing straight, the torso's
height is about 1.3 m. The episode ends when the torso's height is not between 1.0 m and 2.0 m, and
after 1000 steps at the latest.

World frame: x forward, y left, z up, in metres, the floor at z = 0. Torso frame: the same axes,
fixed to the torso, from its middle between the shoulders.
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, Raw, field


class Observation:
    """Positions, velocities, inertias and forces of the body, before each action.

    The order of the joints is everywhere, with their limits in rad and what a positive angle does:

     0 waist turn              -0.785 to  0.785  pelvis and legs turn anticlockwise seen from above
     1 waist bend              -1.309 to  0.524  legs swing back (negative: torso folds forward)
     2 waist tilt              -0.611 to  0.611  legs swing to the left
     3 right hip, sideways     -0.436 to  0.087  leg swings inward (negative: outward)
     4 right hip, turn         -1.047 to  0.611  foot turns inward
     5 right hip, swing        -1.920 to  0.349  leg swings back (negative: forward)
     6 right knee              -2.793 to -0.035  shin swings forward (negative: the knee bends)
     7, 8, 9, 10               the same of the left leg, with the same limits and meanings
    11 right shoulder, first   -1.484 to  1.047  hand goes in and down
    12 right shoulder, second  -1.484 to  1.047  hand goes in and up
    13 right elbow             -1.571 to  0.873  the elbow bends: hand goes back, in and up
    14 left shoulder, first    -1.047 to  1.484  hand goes out and up
    15 left shoulder, second   -1.047 to  1.484  hand goes out and down
    16 left elbow              -1.571 to  0.873  as the right elbow

    The words hold near the starting pose, "in" is towards the other side of the body. Limits are
    soft: impacts and torques can push a joint past them for a moment.

    The order of the bodies is everywhere (their points in brackets): 0 torso (its middle), 1 lower
    waist, 2 pelvis, 3 right thigh (hip), 4 right shin (knee), 5 right foot (0.1 m below the middle
    of the foot, a ball of 0.075 m radius fixed to the shin), 6 left thigh, 7 left shin, 8 left
    foot, 9 right upper arm (shoulder), 10 right lower arm with hand (elbow), 11 left upper arm,
    12 left lower arm with hand.
    """

    torso_position: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="x, y, z of the torso's middle; z is the height"
    )
    torso_orientation: np.ndarray = field(
        shape=(4,),
        low=-1.01,
        high=1.01,
        frame="world",
        doc="quaternion (w, x, y, z) that turns torso axes into world axes, (1, 0, 0, 0) upright "
        "and facing x; of length 1, but for the first observation, in which each number is off by "
        "up to 0.01",
    )
    joint_angles: np.ndarray = field(
        shape=(17,), unit="rad", doc="all 0: straight, with the arms bent; see the class"
    )
    torso_velocity: np.ndarray = field(
        shape=(3,), unit="m/s", frame="world", doc="of the torso's middle at this instant, x, y, z"
    )
    torso_angular_velocity: np.ndarray = field(
        shape=(3,), unit="rad/s", frame="torso", doc="about the torso's own x, y, z axes"
    )
    joint_velocities: np.ndarray = field(shape=(17,), unit="rad/s", doc="rates of joint_angles")
    body_inertias: np.ndarray = field(
        shape=(13, 10),
        unit="kg m2, kg m and kg",
        frame="world axes, from the whole body's centre of mass",
        doc="a row a body: xx, yy, zz, xy, xz, yz of its inertia matrix about the whole body's "
        "centre of mass; then mass times the offset x, y, z of the body's own centre of mass from "
        "it; then mass",
    )
    body_velocities: np.ndarray = field(
        shape=(13, 6),
        unit="rad/s and m/s",
        frame="world axes",
        doc="a row a body: angular velocity x, y, z; then velocity x, y, z of the point that moves "
        "rigidly with the body and is now at the whole body's centre of mass",
    )
    joint_torques: np.ndarray = field(
        shape=(17,),
        unit="N m",
        low=(*[-40.0] * 5, -120.0, -80.0, -40.0, -40.0, -120.0, -80.0, *[-10.0] * 6),
        high=(*[40.0] * 5, 120.0, 80.0, 40.0, 40.0, 120.0, 80.0, *[10.0] * 6),
        doc="what the motors did in the step before, in the order of the joints; 0 at first",
    )
    contact_forces: np.ndarray = field(
        shape=(13, 6),
        unit="N m and N",
        frame="world axes, torques about the whole body's centre of mass",
        doc="what contacts do to each body, a row a body: torque x, y, z, then force x, y, z. All "
        "0 without contact, and in the first observation. Feet stand on the floor: their force z "
        "is positive, and together about 413 N when standing still",
    )
    body_positions: np.ndarray = field(
        shape=(13, 3),
        unit="m",
        frame="world",
        doc="x, y, z of each body's point, a row a body, as the simulator last computed them: "
        "row 0 is torso_position up to about 0.00001 m",
    )
    center_of_mass: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="x, y, z of the whole body's centre of mass"
    )

    def roll_pitch_yaw(self) -> tuple[float, float, float]:
        """Angles of the torso in rad, 0 upright and facing x.

        Roll is positive leaning to the right, pitch leaning forward, yaw turning to the left.
        """
        w, x, y, z = self.torso_orientation / np.linalg.norm(self.torso_orientation)
        roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2.0 * (w * y - x * z), -1.0, 1.0))
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        return float(roll), float(pitch), float(yaw)


ACTION = """
An array of 17 floats, each in [-0.4, 0.4] (values beyond are clipped): one for each motor, whose
torque is action times gear. A positive torque drives its joint's angle up. The order is that of the
joints, but for the first two: action[0] drives joint 1 (waist bend), action[1] drives joint 0
(waist turn). The gears in N m, in the order of the actions: 100, 100, 100; right leg 100, 100, 300,
200; left leg 100, 100, 300, 200; arms 25 each.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 1.25 times the mean forward speed, 5 for not falling, less costs.

    The speed is that of the centre of mass; the costs are those of the torques and of contact.
    """
    forward = (next_observation.center_of_mass[0] - observation.center_of_mass[0]) / 0.015
    healthy = 5.0 if 1.0 < next_observation.torso_position[2] < 2.0 else 0.0
    torques = 0.1 * float(np.sum(np.square(action)))
    contacts = min(5e-7 * float(np.sum(np.square(next_observation.contact_forces))), 10.0)
    return float(1.25 * forward + healthy - torques - contacts)


FACTS = """
Positions are (x, y, z) in m from the torso's middle, in the posture in which all joint angles
are 0. Parts are rods with round ends, whose centres are given, and balls; moments of inertia,
in kg m^2, are about an axis across the part through the centre of mass. +- is the sign of the
side that a part or joint is on.

part           ends of its axis                                     radius m  mass kg  inertia
torso          (0, 0.07, 0) to (0, -0.07, 0)                        0.07      8.91     0.173
head           (0, 0, 0.19)                                         0.09
upper waist    (-0.01, 0.06, -0.12) to (-0.01, -0.06, -0.12)        0.06
lower waist    (-0.01, 0.06, -0.26) to (-0.01, -0.06, -0.26)        0.06      2.26     0.00985
pelvis         (-0.029, 0.07, -0.425) to (-0.029, -0.07, -0.425)    0.09      6.62     0.0523
thigh x 2      (-0.006, +-0.09, -0.805) to (-0.009, +-0.1, -0.465)  0.06      4.75     0.075
shin x 2       (-0.003, +-0.09, -1.17) to (-0.006, +-0.09, -0.868)  0.049     2.76     0.0326
foot x 2       (-0.003, +-0.09, -1.22)                              0.075     1.77     0.00398
upper arm x 2  (0.16, +-0.33, -0.1) to (0, +-0.17, 0.06)            0.04      1.66     0.0159
lower arm x 2  (0.35, +-0.18, 0.05) to (0.19, +-0.34, -0.11)        0.031     1.23     0.0137
hand x 2       (0.36, +-0.17, 0.06)                                 0.04

Every part: friction 1. The head and the upper waist are one rigid body with the torso, whose
mass and inertia are those of all; their centre of mass is at (-0.003, 0, 0.035). The hand is
one rigid body with the lower arm, whose mass and inertia are those of both; their centre of
mass is at (0.29, +-0.24, -0.01). The foot is fixed to the shin. Together they weigh 42.1 kg.

joint                    at                       damping  armature  stiffness
0 waist turn             (-0.01, 0, -0.195)       5        0.02      20
1 waist bend             (-0.01, 0, -0.195)       5        0.02      10
2 waist tilt             (-0.01, 0, -0.325)       5        0.02      10
3, 7 hip, sideways       (-0.009, +-0.1, -0.465)  5        0.01      10
4, 8 hip, turn           (-0.009, +-0.1, -0.465)  5        0.01      10
5 hip, swing             (-0.009, -0.1, -0.465)   5        0.008     20
6 knee                   (-0.006, -0.09, -0.848)  1        0.006     0
9 hip, swing             (-0.009, 0.1, -0.465)    5        0.01      20
10 knee                  (-0.006, 0.09, -0.848)   1        0.006     1
11, 14 shoulder, first   (0, +-0.17, 0.06)        1        0.0068    1
12, 15 shoulder, second  (0, +-0.17, 0.06)        1        0.0051    1
13, 16 elbow             (0.18, +-0.35, -0.12)    1        0.0028    0

Damping is in N m s/rad, the rotors' inertia (armature) in kg m^2, stiffness in N m/rad, of
springs that draw the joint to 0. Parts collide with the floor and with each other without
friction, unless joined. Of two that touch, the greater coefficient of sliding friction counts;
the floor's is 1. Gravity is 9.81 m/s^2 downward. Motion is integrated in steps of 0.003 s
(fourth-order Runge-Kutta). An action is held for 5 of these, 0.015 s, and acts without lag.
"""

_SIDES = ("right", "left")

BODY = BodySheet(
    parts={
        "torso1": "torso",
        "head": "head",
        "uwaist": "upper waist",
        "lwaist": "lower waist",
        "butt": "pelvis",
        **{f"{side}_thigh1": "thigh" for side in _SIDES},
        **{f"{side}_shin1": "shin" for side in _SIDES},
        **{f"{side}_foot": "foot" for side in _SIDES},
        **{f"{side}_uarm1": "upper arm" for side in _SIDES},
        **{f"{side}_larm": "lower arm" for side in _SIDES},
        **{f"{side}_hand": "hand" for side in _SIDES},
    },
    joints={
        "abdomen_z": "waist turn",
        "abdomen_y": "waist bend",
        "abdomen_x": "waist tilt",
        **{
            f"{side}_{joint}": words
            for side in _SIDES
            for joint, words in (
                ("hip_x", "hip, sideways"),
                ("hip_z", "hip, turn"),
                ("hip_y", "hip, swing"),
                ("knee", "knee"),
            )
        },
        **{
            f"{side}_{joint}": words
            for side in _SIDES
            for joint, words in (
                ("shoulder1", "shoulder, first"),
                ("shoulder2", "shoulder, second"),
                ("elbow", "elbow"),
            )
        },
    },
    zero="the torso's middle",
    origin="torso",
    axes="xyz",
)


def make() -> Env:
    """Gymnasium's Humanoid-v5, with its x and y in the observation (humanoid_v5.py and .xml).

    MuJoCo's spatial vectors (``cvel``, ``cfrc_ext``) hold the rotational part first; Gymnasium's
    documentation says the reverse.
    """
    import gymnasium

    return gymnasium.make(
        "Humanoid-v5",
        exclude_current_positions_from_observation=False,
        disable_env_checker=True,
    )


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Add the positions of the bodies, (13, 3) without the world's, and the centre of mass.

    The reward is computed from the latter, which comes from ``xipos``. Both are those of the last
    stage of the last Runge-Kutta substep, and so differ a little from what ``qpos`` gives.
    """
    mass = env.model.body_mass
    center = mass @ env.data.xipos / mass.sum()
    return np.concatenate((raw, env.data.xpos[1:].ravel(), center))


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    # The environment rounds actions to float32 before it sums their squares.
    reward_tolerance=1e-7,
    horizon=1000,
    observe=observe,
    # Measured: python -m promptpo.spec.baselines mujoco_humanoid --episodes 1000
    references={"random": 113.7, "zero action": 198.2},
    install="gymnasium[mujoco]",
)
