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

from promptpo.spec import Env, EnvSpec, field


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
    reward=reward,
    # The environment sums the squares of the torques in float32.
    reward_tolerance=1e-6,
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_halfcheetah --episodes 200
    references={"random": -283.0, "zero action": -0.3},
    install="gymnasium[mujoco]",
)
