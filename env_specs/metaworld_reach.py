"""Meta-World reach-v3: move a robot arm's gripper to a goal position in the air.

A Sawyer arm stands behind a table. At each step the policy moves the hand a little and sets the
effort of the gripper. An episode succeeds if, at any of its 500 steps, the midpoint between the
finger pads is within 0.05 m of the goal. Success does not end the episode. The goal is fixed during
an episode and differs from one to the next: x from -0.1 to 0.1, y from 0.8 to 0.9, z from 0.05 to
0.3. The hand starts near (0.00, 0.60, 0.20) with the gripper open. A small puck lies on the table
at a random place (x from -0.1 to 0.1, y from 0.6 to 0.7); it plays no part in reward or success.
The hand is kept inside x from -0.5 to 0.5, y from 0.4 to 1.0, z from 0.05 to 0.5.

World frame, in metres: x to the robot's right as it looks over the table, y away from the robot's
base, z up from the table top (z = 0).
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import tolerance
from ._metaworld.sheet import ArmSheet


class Observation:
    """State of hand, gripper, puck and goal before each action; positions in the world frame.

    The fields that begin with ``previous_`` hold what the field without that word held one step
    before (at the first step: the same values).
    """

    hand_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.525, 0.348, -0.0525),
        high=(0.525, 1.025, 0.7),
        frame="world",
        doc="x, y, z of the hand (the wrist end of the gripper)",
    )
    gripper_opening: float = field(
        low=0.0, high=1.0, doc="distance between the fingers / 0.1 m, cut at 1: 1 open"
    )
    puck_position: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="x, y, z of the puck's centre"
    )
    puck_rotation: np.ndarray = field(
        shape=(4,), low=-1.0, high=1.0, frame="world", doc="the puck's unit quaternion (x, y, z, w)"
    )
    previous_hand_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.525, 0.348, -0.0525),
        high=(0.525, 1.025, 0.7),
        frame="world",
        doc="hand_position one step before",
    )
    previous_gripper_opening: float = field(low=0.0, high=1.0, doc="gripper_opening before")
    previous_puck_position: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="puck_position one step before"
    )
    previous_puck_rotation: np.ndarray = field(
        shape=(4,), low=-1.0, high=1.0, frame="world", doc="puck_rotation one step before"
    )
    goal_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.8, 0.05),
        high=(0.1, 0.9, 0.3),
        frame="world",
        doc="x, y, z of the goal; constant during an episode",
    )
    fingertip_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        frame="world",
        doc="x, y, z of the midpoint between the finger pads, about 0.045 m below the hand",
    )


ACTION = """
An array of 4 floats, each in [-1, 1] (values beyond are clipped):
action[0], action[1], action[2]: displacement of the hand's commanded position along world x, y, z
    in this step, in units of 0.01 m (so 1.0 asks for 0.01 m);
action[3]: effort of the gripper: positive closes the fingers, negative opens them.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step, between 0 and 10, from the distance that the step leads to."""
    goal = next_observation.goal_position
    distance = float(np.linalg.norm(next_observation.fingertip_position - goal))
    margin = float(np.linalg.norm(np.array([0.0, 0.6, 0.2]) - goal))
    return 10.0 * tolerance(distance, bound=0.05, margin=margin)


FACTS = """
A step takes 0.0125 s. An action of 1 moves the commanded position by 10 mm, at once; the hand
follows it late. Measured: with action[2] = 1 for 20 steps from the start, the hand rises by
0.8, 2.5, 4.3, 5.9, 7.2, 8.1 mm in the first six steps and 9.9 mm in the last, 39 mm behind the
command. With zeros after that it goes on by 8.9, 7.1, 5.4, 3.8, 2.7, 1.8 mm, in all 34 mm in 15
steps. The empty gripper closes with action[3] = 1 to a gripper_opening of 0.87, 0.57, 0.27,
0.29 after 5, 10, 15, 20 steps, and opens again with -1 to 0.44, 0.76, 1.00, 1.00.

What can be touched, as boxes that just hold each piece, in m; first of the open gripper, whose
pads have a coefficient of sliding friction of 2 (of two that touch, the greater counts):

from fingertip_position  x                y                 z
far finger               -0.018 to 0.013  0.043 to 0.054    0 to 0.09
near finger              -0.013 to 0.019  -0.054 to -0.043  0 to 0.09
hand                     -0.05 to 0.033   -0.055 to 0.054   0.077 to 0.147

from puck_position  x              y              z
cylinder            -0.02 to 0.02  -0.02 to 0.02  -0.02 to 0.02

What puck_position belongs to weighs 0.75 kg. Its coefficient of sliding friction is 1.
"""


def make() -> Env:
    """Meta-World's reach-v3, its goal observable."""
    return family.make_env("reach-v3")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet(("puck",)).measured,
    reward=reward,
    reward_helpers=(tolerance,),
    reward_tolerance=1e-9,
    horizon=family.HORIZON,
    observe=family.observe,
    reset=family.reset,
    success=family.success,
    expert=family.expert("reach-v3"),
    install="metaworld>=3.1.1",
    # Measured: python -m promptpo.spec.baselines metaworld_reach --episodes 200
    references={
        "random": Reference(798.0, 0.015),
        "zero action": Reference(726.0, 0.0),
        "expert": Reference(4839.0, 1.0),
    },
)
