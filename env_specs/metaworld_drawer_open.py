"""Meta-World drawer-open-v3: open a drawer with a robot arm's gripper.

A Sawyer arm stands behind a table; a cabinet stands on the far side of the table, with a drawer
whose handle faces the robot. At each step the policy moves the hand a little and sets the effort of
the gripper. Pulling the handle along -y opens the drawer. An episode succeeds if, at any of its 500
steps, the handle is within 0.03 m of ``open_position``. Success does not end the episode. The
cabinet stands still during an episode and elsewhere in the next: x from -0.1 to 0.1. The hand
starts near (0.00, 0.60, 0.20) with the gripper open. The hand is kept inside x from -0.5 to 0.5, y
from 0.4 to 1.0, z from 0.05 to 0.5.

World frame, in metres: x to the robot's right as it looks over the table, y away from the robot's
base, z up from the table top (z = 0).
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import tolerance
from ._metaworld.sheet import ArmSheet


class Observation:
    """State of hand, gripper and drawer handle before each action; positions in the world frame.

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
    handle_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        frame="world",
        doc="x, y, z of the drawer's handle; only y changes, from about 0.73 when closed to about "
        "0.57, its soft limit",
    )
    handle_rotation: np.ndarray = field(
        shape=(4,),
        low=-1.0,
        high=1.0,
        frame="world",
        doc="the drawer's unit quaternion (w, x, y, z); always (1, 0, 0, 0)",
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
    previous_handle_position: np.ndarray = field(
        shape=(3,), unit="m", frame="world", doc="handle_position one step before"
    )
    previous_handle_rotation: np.ndarray = field(
        shape=(4,), low=-1.0, high=1.0, frame="world", doc="handle_rotation one step before"
    )
    open_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.54, 0.09),
        high=(0.1, 0.54, 0.09),
        frame="world",
        doc="x, y, z that handle_position is to come within 0.03 m of; constant during an episode",
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
    """Reward of one step, between 0 and 10, from what the step leads to.

    Up to 5 for the hand at the handle (x and y weigh 3 times as much as z), up to 5 for opening.
    """
    handle = next_observation.handle_position
    goal = next_observation.open_position
    weights = np.array([3.0, 3.0, 1.0])
    start = np.array([0.004285731, 0.601488729, 0.150189280])  # of the fingertips
    closed = goal + np.array([0.0, 0.2, 0.0])
    margin = float(np.linalg.norm((closed - start) * weights))
    distance = float(np.linalg.norm((handle - next_observation.hand_position) * weights))
    left = float(np.linalg.norm(handle - goal))
    at_handle = tolerance(distance, bound=0.01, margin=margin)
    return 5.0 * (at_handle + tolerance(left, bound=0.02, margin=0.2))


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

from handle_position  x                 y               z
box                   -0.1 to 0.1       0.07 to 0.086   -0.044 to 0.06
box                   -0.1 to 0.1       0.07 to 0.25    -0.06 to -0.044
rod                   -0.059 to -0.041  0.001 to 0.079  -0.009 to 0.009
rod                   -0.059 to 0.059   0.001 to 0.019  -0.009 to 0.009
rod                   0.041 to 0.059    0.001 to 0.079  -0.009 to 0.009

What handle_position belongs to weighs 0.38 kg. It slides along y, by -0.16 to 0 m from where it
is at the start, with a damping of 2 N s/m. Its coefficient of sliding friction is 1.
"""


def make() -> Env:
    """Meta-World's drawer-open-v3, its goal observable."""
    return family.make_env("drawer-open-v3")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet(("handle",)).measured,
    reward=reward,
    reward_helpers=(tolerance,),
    # The start of hand and fingers is a result of simulation, given to 9 digits.
    reward_tolerance=1e-6,
    horizon=family.HORIZON,
    observe=family.observe,
    reset=family.reset_twice,
    success=family.success,
    expert=family.expert("drawer-open-v3"),
    install="metaworld>=3.1.1",
    # Measured: python -m promptpo.spec.baselines metaworld_drawer_open --episodes 30
    references={
        "random": Reference(783.0, 0.0),
        "zero action": Reference(612.0, 0.0),
        "expert": Reference(4032.0, 1.0),
    },
)
