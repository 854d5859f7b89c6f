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
from ._metaworld.sheet import ArmSheet


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


FACTS = """
A step takes 0.0125 s. An action of 1 moves the commanded position by 10 mm, at once; the hand
follows it late. Measured: with action[2] = 1 for 20 steps from the start, the hand rises by
0.7, 2.4, 4.0, 5.4, 6.5, 7.4 mm in the first six steps and 10.0 mm in the last, 45 mm behind the
command. With zeros after that it goes on by 9.0, 7.3, 5.6, 4.2, 3.1, 2.4 mm, in all 40 mm in 15
steps. The empty gripper closes with action[3] = 1 to a gripper_opening of 0.87, 0.57, 0.27,
0.29 after 5, 10, 15, 20 steps, and opens again with -1 to 0.44, 0.76, 1.00, 1.00.

What can be touched, as boxes that just hold each piece, in m; first of the open gripper, whose
pads have a coefficient of sliding friction of 2 (of two that touch, the greater counts):

from fingertip_position  x                y                 z
far finger               -0.016 to 0.014  0.044 to 0.054    0 to 0.09
near finger              -0.014 to 0.017  -0.054 to -0.044  0 to 0.09
hand                     -0.049 to 0.031  -0.053 to 0.053   0.077 to 0.147

from button_position  x                y                z
cylinder              -0.021 to 0.021  0.026 to 0.104   -0.021 to 0.021
cylinder              -0.026 to 0.026  0.019 to 0.035   -0.026 to 0.026
cylinder              -0.043 to 0.043  -0.001 to 0.021  -0.043 to 0.043

What button_position belongs to weighs 0.01 kg. It slides along y, by 0 to 0.06 m from where it
is at the start, with a damping of 1 N s/m and a spring of 0.5 N/m that draws it to -0.5 m from
there. Its coefficient of sliding friction is 1.
"""


def make() -> Env:
    """Meta-World's button-press-v3."""
    return family.make_env("button-press-v3")


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet(("button",)).measured,
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
