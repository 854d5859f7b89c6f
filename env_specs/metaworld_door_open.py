"""Meta-World door-open-v3: pull a door open with a robot arm's gripper.

A Sawyer arm stands behind a table; on the far side of the table stands a box with a door that faces
the robot. The door's hinge is vertical, on the left; its handle, on the right, sticks out towards
the robot. At the start the door is closed, and the handle is 0.49 m to the right of its open
position; the hinge is 0.376 m to the left of the handle and 0.107 m beyond it (y). At each step the
policy moves the hand a little and sets the effort of the gripper. An episode succeeds if, at any of
its 500 steps, the handle's x is within 0.08 m of that of ``open_position``. Success does not end
the episode. The box stands still during an episode and elsewhere in the next: the handle starts at
x from 0.19 to 0.29, y from 0.64 to 0.75. The hand starts near (0.00, 0.60, 0.20) with the gripper
open. The hand is kept inside x from -0.5 to 0.5, y from 0.4 to 1.0, z from 0.05 to 0.5.

World frame, in metres: x to the robot's right as it looks over the table, y away from the robot's
base, z up from the table top (z = 0).
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import hamacher_product, tolerance
from ._metaworld.sheet import ArmSheet


class Observation:
    """State of hand, gripper and door before each action; positions in the world frame.

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
        doc="x, y, z of the door's handle; z is always 0.15, and the handle stays 0.39 m from "
        "the hinge",
    )
    handle_rotation: np.ndarray = field(
        shape=(4,),
        low=-1.0,
        high=1.0,
        frame="world",
        doc="the handle's unit quaternion (x, y, z, w)",
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
        low=(-0.3, 0.4, 0.15),
        high=(-0.2, 0.5, 0.15),
        frame="world",
        doc="the door counts as open where the handle's x is within 0.08 m of this x; constant "
        "during an episode",
    )
    fingertip_position: np.ndarray = field(
        shape=(3,),
        unit="m",
        frame="world",
        doc="x, y, z of the midpoint between the finger pads, about 0.045 m below the hand",
    )
    door_angle: float = field(
        unit="rad",
        doc="0 closed, negative when open: turned clockwise as seen from above; soft limits at "
        "-2 and 0",
    )


ACTION = """
An array of 4 floats, each in [-1, 1] (values beyond are clipped):
action[0], action[1], action[2]: displacement of the hand's commanded position along world x, y, z
    in this step, in units of 0.01 m (so 1.0 asks for 0.01 m);
action[3]: effort of the gripper: positive closes the fingers, negative opens them.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step, between 0 and 10, from what the step leads to; 10 when the door is open.

    Up to 2 for a hand behind the handle that came from above and closes the gripper, up to 8 for
    opening.
    """
    hand, handle = next_observation.hand_position, next_observation.handle_position
    if abs(handle[0] - next_observation.open_position[0]) <= 0.08:
        return 10.0
    # Away from the handle the hand is to stay above a floor that rises with the distance.
    radius = float(np.linalg.norm(hand[:2] - handle[:2] + np.array([0.05, 0.0])))
    floor = 0.04 * float(np.log(radius - 0.12)) + 0.4 if radius > 0.12 else 0.0
    above = 1.0
    if hand[2] < floor:
        above = tolerance(floor - float(hand[2]), bound=0.01, margin=floor / 2.0)
    distance = float(np.linalg.norm(hand - handle - np.array([0.0, 0.03, -0.01])))
    ready = hamacher_product(above, tolerance(distance, bound=0.06, margin=0.5))
    grip = (float(action[3]) + 1.0) / 2.0
    angle = -next_observation.door_angle
    begun = 1.0 if angle > np.pi / 90.0 else 0.0
    left = tolerance(abs(2.0 * np.pi / 3.0 - angle), bound=0.5, margin=np.pi / 3.0)
    return float(2.0 * hamacher_product(ready, grip) + 8.0 * (0.2 * begun + 0.8 * left))


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

from handle_position  x                 y                z
cylinder              -0.079 to -0.023  0.089 to 0.113   -0.028 to 0.028
cylinder              -0.064 to -0.038  -0.005 to 0.089  -0.013 to 0.013
cylinder              -0.07 to 0.08     -0.032 to 0.006  -0.019 to 0.019
cylinder              -0.035 to 0.073   -0.036 to 0.01   -0.023 to 0.023
box                   -0.371 to -0.011  0.097 to 0.117   -0.123 to 0.123

What handle_position belongs to weighs 2.23 kg. It turns about an axis along z at x -0.376, y
0.107 from there, by -2 to 0 rad from where it is at the start, with a damping of 2 N m s/rad.
Its coefficient of sliding friction is 1.
"""


def make() -> Env:
    """Meta-World's door-open-v3, its goal observable."""
    return family.make_env("door-open-v3")


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Add the angle of the hinge, which Meta-World's reward uses."""
    return np.append(family.observe(raw, env), env.data.joint("doorjoint").qpos)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet(("handle",)).measured,
    reward=reward,
    reward_helpers=(tolerance, hamacher_product),
    # The start of hand and fingers is a result of simulation, given to 9 digits.
    reward_tolerance=1e-6,
    horizon=family.HORIZON,
    observe=observe,
    reset=family.reset,
    success=family.success,
    expert=family.expert("door-open-v3"),
    install="metaworld>=3.1.1",
    # Measured: python -m promptpo.spec.baselines metaworld_door_open --episodes 40
    references={
        "random": Reference(279.0, 0.0),
        "zero action": Reference(283.5, 0.0),
        "expert": Reference(4396.0, 0.975),
    },
)
