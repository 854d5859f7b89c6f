"""Pusher: push a cylinder on a table to a goal with a seven-jointed arm.

The arm is held by a fixed shoulder beside the table; its hand is a bar with two prongs, a U that is
open away from the wrist. The cylinder (radius 0.05 m, 0.1 m high) slides on the table without
turning or tipping. Steps are 0.05 s apart. At the start all joint angles are 0 (the arm is
stretched out along x above the table), nearly at rest; the cylinder is off the goal by up to 0.2 m
along x, to either side, and by up to 0.3 m towards smaller y, but by more than 0.17 m. The goal is
always in the same place. The episode always lasts 100 steps.

World frame, in metres: x and y horizontal, z up; gravity is off. Angles are in rad.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from promptpo.spec import Env, EnvSpec, field

from ._shared.machines import Machine, Numbers


class Observation:
    """Arm, cylinder and goal, before each action.

    The order of the joints is everywhere: 0 shoulder pan, 1 shoulder lift, 2 upper arm roll,
    3 elbow flex, 4 forearm roll, 5 wrist flex, 6 wrist roll. The positions are those 0.01 s before.
    """

    joint_angles: np.ndarray = field(
        shape=(7,),
        unit="rad",
        doc="0 when stretched out; soft limits (-2.285, -0.5236, -1.5, -2.321, -1.5, -1.094, -1.5) "
        "to (1.715, 1.396, 1.7, 0, 1.5, 0, 1.5)",
    )
    joint_velocities: np.ndarray = field(shape=(7,), unit="rad/s", doc="rates of joint_angles")
    hand: np.ndarray = field(
        shape=(3,),
        unit="m",
        frame="world",
        doc="the wrist, middle of the bar; the prongs reach 0.1 m beyond it, 0.1 m to both sides",
    )
    cylinder: np.ndarray = field(shape=(3,), unit="m", frame="world", doc="its middle; z is -0.275")
    goal: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="always (0.45, -0.05, -0.323); 0.048 below it"
    )


ACTION = """
An array of 7 floats, each in [-2, 2] (values beyond are clipped): the torques of the joints'
motors, in N m. A positive torque drives the joint's angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: closeness of cylinder and goal, of hand and cylinder, less torques."""
    to_goal = np.linalg.norm(next_observation.cylinder - next_observation.goal)
    to_hand = np.linalg.norm(next_observation.cylinder - next_observation.hand)
    return float(-to_goal - 0.5 * to_hand - 0.1 * np.sum(np.square(action)))


FACTS = """
With all angles 0 the arm lies along x, from the shoulder at (0, -0.6, 0): shoulder lift and upper
arm roll are at x = 0.1 m, elbow and forearm roll at 0.5 m, both wrist joints at 0.821 m. Joint 0
turns about z, joints 1, 3 and 5 about y (a positive angle moves the hand down), joints 2, 4 and 6
about x (right-handed). The parts that joints 0 to 6 move weigh 7.29, 3.14, 1.71, 0.407, 0.928,
0.00503 and 0.183 kg. Damping is 1 N m s/rad at joints 0 and 1, 0.1 at the others; the rotors'
inertia (armature) is 0.04 kg m^2 at each. The cylinder moves as a mass of 0.04 kg with damping 0.5
N s/m. Of the arm only the bar and its prongs touch anything, without friction: rods of radius 0.02
m with round ends. There is no gravity. Motion is integrated in steps of 0.01 s (Euler, joint
damping implicit). An action is held for 5 of these.
"""

#: Parts of the arm in the order of the joints that move them, by their bodies' names.
_MOVED = (
    ("r_shoulder_pan_link",), ("r_shoulder_lift_link",),
    ("r_upper_arm_roll_link", "r_upper_arm_link"), ("r_elbow_flex_link",),
    ("r_forearm_roll_link", "r_forearm_link"), ("r_wrist_flex_link",),
    ("r_wrist_roll_link", "tips_arm"),
)  # fmt: skip


def _read(env: Any) -> Numbers:  # noqa: ANN401 - Gymnasium's
    """Return places, masses and damping of a live environment."""
    model = env.model

    def mass(bodies: Sequence[str]) -> float:
        return float(sum(model.body(name).mass[0] for name in bodies))

    chain = [name for bodies in _MOVED for name in bodies]
    along = dict(zip(chain, np.cumsum([model.body(name).pos[0] for name in chain]), strict=True))
    (slide,) = model.body("object").mass + model.joint("obj_slidex").armature
    bar = model.geom_size[model.body("r_wrist_roll_link").geomadr[0]]
    return {
        "lift": along["r_shoulder_lift_link"],
        "elbow": along["r_elbow_flex_link"],
        "wrist": along["r_wrist_flex_link"],
        **{f"mass_{i}": mass(bodies) for i, bodies in enumerate(_MOVED)},
        "damping_0": model.dof_damping[0],
        "damping_2": model.dof_damping[2],
        "armature": model.dof_armature[0],
        "cylinder": slide,
        "sliding": model.joint("obj_slidex").damping[0],
        "bar": bar[0],
        "step": model.opt.timestep,
        "skip": env.frame_skip,
    }


SHEET = Machine(
    "With all angles 0 the arm lies along x, from the shoulder at (0, -0.6, 0): shoulder lift and "
    "upper arm roll are at x = {lift} m, elbow and forearm roll at {elbow} m, both wrist joints at "
    "{wrist} m. Joint 0 turns about z, joints 1, 3 and 5 about y (a positive angle moves the hand "
    "down), joints 2, 4 and 6 about x (right-handed). The parts that joints 0 to 6 move weigh "
    "{mass_0}, {mass_1}, {mass_2}, {mass_3}, {mass_4}, {mass_5} and {mass_6} kg. Damping is "
    "{damping_0} N m s/rad at joints 0 and 1, {damping_2} at the others; the rotors' inertia "
    "(armature) is {armature} kg m^2 at each. The cylinder moves as a mass of {cylinder} kg with "
    "damping {sliding} N s/m. Of the arm only the bar and its prongs touch anything, without "
    "friction: rods of radius {bar} m with round ends. There is no gravity. Motion is integrated "
    "in steps of {step} s (Euler, joint damping implicit). An action is held for {skip} of these.",
    _read,
)


def make() -> Env:
    """Gymnasium's Pusher-v5 (pusher_v5.py, pusher_v5.xml)."""
    import gymnasium

    return gymnasium.make("Pusher-v5", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=SHEET.measured,
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=100,
    # Measured: python -m promptpo.spec.baselines mujoco_pusher --episodes 1000
    references={"random": -149.4, "zero action": -54.3},
    install="gymnasium[mujoco]",
)
