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


def make() -> Env:
    """Meta-World's drawer-open-v3, its goal observable."""
    return family.make_env("drawer-open-v3")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
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
