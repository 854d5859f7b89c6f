"""Meta-World button-press-v3: press a button on the front of a box with a robot arm's gripper.

A Sawyer arm stands behind a table; a box stands on the far side of the table, with a round button
on the side that faces the robot. At each step the policy moves the hand a little and sets the
effort of the gripper. Pushing the button along +y moves it into the box. An episode succeeds if, at
any of its 500 steps, the button's y is within 0.02 m of the y at which it is fully pressed
(``pressed_position``). Success does not end the episode. The box stands still during an episode and
elsewhere in the next: x from -0.1 to 0.1, y within 0.05 m. The hand starts near (0.00, 0.40, 0.20)
with the gripper open. The hand is kept inside x from -0.5 to 0.5, y from 0.4 to 1.0, z from 0.05 to
0.5.

World frame, in metres: x to the robot's right as it looks over the table, y away from the robot's
base, z up from the table top (z = 0).
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import hamacher_product, tolerance


class Observation:
    """State of hand, gripper and button before each action; positions in the world frame.

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
    button_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.6, 0.115),
        high=(0.1, 0.81, 0.115),
        frame="world",
        doc="x, y, z of the button's front, which faces the robot; only y changes, when pressed",
    )
    button_rotation: np.ndarray = field(
        shape=(4,),
        low=-1.0,
        high=1.0,
        frame="world",
        doc="the button's unit quaternion (w, x, y, z); always (1, 0, 0, 0)",
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
    previous_button_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.6, 0.115),
        high=(0.1, 0.81, 0.115),
        frame="world",
        doc="button_position one step before",
    )
    previous_button_rotation: np.ndarray = field(
        shape=(4,), low=-1.0, high=1.0, frame="world", doc="button_rotation one step before"
    )
    pressed_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.75, 0.115),
        high=(0.1, 0.8, 0.115),
        frame="world",
        doc="x, y, z of button_position when it is fully pressed; constant during an episode",
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

    Up to 2 for fingertips near the button with the gripper open, and, while they are within
    0.05 m of it, up to 8 for pressing it.
    """
    button = next_observation.button_position
    start = np.array([0.004407496, 0.400270538, 0.150740492])  # of the fingertips
    distance = float(np.linalg.norm(button - next_observation.fingertip_position))
    near = tolerance(distance, bound=0.05, margin=float(np.linalg.norm(button - start)))
    total = 2.0 * hamacher_product(next_observation.gripper_opening, near)
    if distance <= 0.05:
        left = abs(float(next_observation.pressed_position[1] - button[1]))
        total += 8.0 * tolerance(left, bound=0.005, margin=0.0935)
    return total


def make() -> Env:
    """Meta-World's button-press-v3."""
    return family.make_env("button-press-v3")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_helpers=(tolerance, hamacher_product),
    # The fingertips' start is a result of simulation, given to 9 digits.
    reward_tolerance=1e-6,
    horizon=family.HORIZON,
    observe=family.observe,
    reset=family.reset,
    success=family.success,
    expert=family.expert("button-press-v3"),
    install="metaworld>=3.1.1",
    # Measured: python -m promptpo.spec.baselines metaworld_button_press --episodes 200
    references={
        "random": Reference(192.0, 0.0),
        "zero action": Reference(140.0, 0.0),
        "expert": Reference(562.0, 1.0),
    },
)
