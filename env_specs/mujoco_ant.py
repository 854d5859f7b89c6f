"""Ant: make a four-legged body walk forward (along x) as fast as it can.

A ball of 0.25 m radius, the torso, has four legs that point out diagonally. Each leg is a rigid
link from the torso's centre to the hip, an upper leg from the hip to the ankle, both 0.28 m long,
and a lower leg of 0.57 m from the ankle to the tip, on which the ant stands. Hips turn about the
torso's vertical axis, ankles about a horizontal one across the leg; each has a motor. Steps are
0.05 s apart. At the start the torso's centre is at height 0.75 m and looks along x with all angles
0 (each number of position and orientation off by at most 0.1, each velocity by about 0.1), so the
ankles begin outside their limits. The episode ends when the torso's height is not within 0.2 m and
1.0 m, and after 1000 steps at the latest. Lying on its back does not end it.

World frame: x forward, y left, z up, in metres, the floor at z = 0. Torso frame: the same axes,
fixed to the torso, from its centre.
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, Raw, field


class Observation:
    """Position, velocity and contacts of torso and legs, before each action.

    The order of the joints is everywhere: 0 hip and 1 ankle of the front left leg (to +x, +y), 2
    hip and 3 ankle back left (-x, +y), 4 hip and 5 ankle back right (-x, -y), 6 hip and 7 ankle
    front right (+x, -y). Actions have another order.

    The order of the bodies is everywhere (their points in brackets): 0 torso (centre); front left
    leg: 1 its link to the torso (the torso's centre), 2 upper leg (hip), 3 lower leg (ankle); then
    in the same way 4, 5, 6 back left, 7, 8, 9 back right, 10, 11, 12 front right.
    """

    torso_position: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="x, y, z of the torso's centre; z is the height"
    )
    torso_orientation: np.ndarray = field(
        shape=(4,),
        low=-1.1,
        high=1.1,
        frame="world",
        doc="quaternion (w, x, y, z) that turns torso axes into world axes, (1, 0, 0, 0) level and "
        "facing x; of length 1, but for the first observation, in which each number is off by up "
        "to 0.1",
    )
    joint_angles: np.ndarray = field(
        shape=(8,),
        unit="rad",
        doc="all 0: the legs lie straight out, level. A positive hip turns its leg anticlockwise "
        "seen from above. Ankles bend the lower leg down, front ones with a positive angle, back "
        "ones with a negative one. Soft limits, which impacts and torques can push a joint past "
        "for a moment: hips -0.524 to 0.524, front ankles 0.524 to 1.222, back ankles -1.222 to "
        "-0.524",
    )
    torso_velocity: np.ndarray = field(
        shape=(3,), unit="m/s", frame="world", doc="of the torso's centre at this instant, x, y, z"
    )
    torso_angular_velocity: np.ndarray = field(
        shape=(3,), unit="rad/s", frame="torso", doc="about the torso's own x, y, z axes"
    )
    joint_velocities: np.ndarray = field(shape=(8,), unit="rad/s", doc="rates of joint_angles")
    contact_forces: np.ndarray = field(
        shape=(13, 6),
        unit="N m and N",
        low=-1.0,
        high=1.0,
        frame="world axes, torques about the whole ant's centre of mass",
        doc="what contacts do to each body, a row a body: torque x, y, z, then force x, y, z, each "
        "cut to -1 and 1. All 0 without contact, and in the first observation. Lower legs stand on "
        "the floor: their force z is positive",
    )
    body_positions: np.ndarray = field(
        shape=(13, 3),
        unit="m",
        frame="world",
        doc="x, y, z of each body's point, a row a body, as the simulator last computed them: "
        "row 0 is torso_position up to about 0.001 m",
    )

    def roll_pitch_yaw(self) -> tuple[float, float, float]:
        """Angles of the torso in rad, 0 level and facing x.

        Roll is positive with the left side up, pitch with the front down, yaw to the left.
        """
        w, x, y, z = self.torso_orientation / np.linalg.norm(self.torso_orientation)
        roll = np.arctan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        pitch = np.arcsin(np.clip(2.0 * (w * y - x * z), -1.0, 1.0))
        yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        return float(roll), float(pitch), float(yaw)


ACTION = """
An array of 8 floats, each in [-1, 1] (values beyond are clipped): the torques of the motors, as
shares of the largest torque (150 N m). A positive torque drives its joint's angle up. The order is:
0 hip and 1 ankle front right, 2 hip and 3 ankle front left, 4 hip and 5 ankle back left, 6 hip and
7 ankle back right. So action[(j + 2) % 8] drives joint j: np.roll(torques, 2) turns torques in the
order of the joints into an action.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: mean forward speed of the torso, 1 within the heights, less costs.

    The costs are those of the torques and of contact.
    """
    forward = (next_observation.body_positions[0, 0] - observation.body_positions[0, 0]) / 0.05
    healthy = 1.0 if 0.2 <= next_observation.torso_position[2] <= 1.0 else 0.0
    torques = 0.5 * float(np.sum(np.square(np.float32(action))))
    contacts = 0.0005 * float(np.sum(np.square(next_observation.contact_forces)))
    return float(forward + healthy - torques - contacts)


FACTS = """
Positions are (x, y, z) in m from the torso's centre, in the posture in which all joint angles
are 0. Parts are rods with round ends, whose centres are given, and balls; moments of inertia,
in kg m^2, are about an axis across the part through the centre of mass. +- is the sign of the
side that a part or joint is on.

part           ends of its axis                        radius m  mass kg  inertia
torso          (0, 0, 0)                               0.25      0.327    0.00818
link x 4       (+-0.2, +-0.2, 0) to (0, 0, 0)          0.08      0.0392   0.000568
upper leg x 4  (+-0.4, +-0.4, 0) to (+-0.2, +-0.2, 0)  0.08      0.0392   0.000568
lower leg x 4  (+-0.8, +-0.8, 0) to (+-0.4, +-0.4, 0)  0.08      0.0676   0.00267

Every part: friction 1. The link is fixed to the torso. Together they weigh 0.911 kg.

joint             at
0, 2, 4, 6 hip    (+-0.2, +-0.2, 0)
1, 3, 5, 7 ankle  (+-0.4, +-0.4, 0)

Every joint: damping 1, armature 1. Damping is in N m s/rad, the rotors' inertia (armature) in
kg m^2. Parts collide with the floor, not with each other. Of two that touch, the greater
coefficient of sliding friction counts; the floor's is 1. Gravity is 9.81 m/s^2 downward. Motion
is integrated in steps of 0.01 s (fourth-order Runge-Kutta). An action is held for 5 of these,
0.05 s, and acts without lag.
"""

#: The geoms of the four legs.
_LINKS = ("aux_1_geom", "aux_2_geom", "aux_3_geom", "aux_4_geom")
_UPPER = ("left_leg_geom", "right_leg_geom", "back_leg_geom", "rightback_leg_geom")
_LOWER = ("left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom")

BODY = BodySheet(
    parts={
        "torso_geom": "torso",
        **dict.fromkeys(_LINKS, "link"),
        **dict.fromkeys(_UPPER, "upper leg"),
        **dict.fromkeys(_LOWER, "lower leg"),
    },
    joints={f"{joint}_{number}": joint for number in (1, 2, 3, 4) for joint in ("hip", "ankle")},
    zero="the torso's centre",
    origin="torso",
    axes="xyz",
)


def make() -> Env:
    """Gymnasium's Ant-v5, with its x and y in the observation (ant_v5.py, ant.xml).

    MuJoCo's spatial vectors, such as ``cfrc_ext``, hold the torque first and the force last;
    Gymnasium's documentation of Ant and Humanoid says the reverse. It also names the legs as if
    y were forward.
    """
    import gymnasium

    return gymnasium.make(
        "Ant-v5",
        exclude_current_positions_from_observation=False,
        disable_env_checker=True,
    )


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Add the positions of the bodies, (13, 3) without the world's.

    The reward is computed from them. They are those of the last stage of the last Runge-Kutta
    substep, and so differ a little from ``qpos``.
    """
    return np.concatenate((raw, env.data.xpos[1:].ravel()))


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    horizon=1000,
    observe=observe,
    # Measured: python -m promptpo.spec.baselines mujoco_ant --episodes 1000 (zero action: 300)
    references={"random": -64.8, "zero action": 994.1},
    install="gymnasium[mujoco]",
)
