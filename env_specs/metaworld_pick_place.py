"""Meta-World pick-place-v3: grasp a puck and hold it at a goal position in the air.

A Sawyer arm stands behind a table on which a puck lies, a cylinder of 0.02 m radius. At each step
the policy moves the hand a little and sets the effort of the gripper, whose two fingers close along
y. An episode succeeds if, at any of its 500 steps, the puck's centre is within 0.07 m of the goal.
Success does not end the episode. Puck and goal differ from one episode to the next: puck x from
-0.1 to 0.1, y from 0.6 to 0.7; goal x from -0.1 to 0.1, y from 0.8 to 0.9, z from 0.05 to 0.3, at
least 0.15 m from the puck in the plane. The hand starts near (0.00, 0.60, 0.20) with the gripper
open. The hand is kept inside x from -0.5 to 0.5, y from 0.4 to 1.0, z from 0.05 to 0.5.

World frame, in metres: x to the robot's right as it looks over the table, y away from the robot's
base, z up from the table top (z = 0).
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._metaworld import world as family
from ._metaworld.shaping import hamacher_product, tolerance, tolerance_between
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
    finger_pads: np.ndarray = field(
        shape=(2,),
        unit="m",
        frame="world",
        doc="y of the finger pads: [0] the far one, beyond the puck; [1] the near one",
    )
    puck_start: np.ndarray = field(
        shape=(3,),
        unit="m",
        low=(-0.1, 0.6, 0.02),
        high=(0.1, 0.7, 0.02),
        frame="world",
        doc="puck_position as it was placed at the start; constant during an episode",
    )


ACTION = """
An array of 4 floats, each in [-1, 1] (values beyond are clipped):
action[0], action[1], action[2]: displacement of the hand's commanded position along world x, y, z
    in this step, in units of 0.01 m (so 1.0 asks for 0.01 m);
action[3]: effort of the gripper: positive closes the fingers, negative opens them.
"""


def caging(next_observation: Observation) -> float:
    """How well the open fingers are about the puck, 0 to 1."""
    puck, start = next_observation.puck_position, next_observation.puck_start
    far, near = next_observation.finger_pads
    far_margin = abs(abs(puck[1] - far) - 0.05)
    near_margin = abs(abs(puck[1] - near) - 0.05)
    far_in = tolerance_between(far - puck[1], low=0.015, high=0.05, margin=far_margin)
    near_in = tolerance_between(puck[1] - near, low=0.015, high=0.05, margin=near_margin)
    tips = next_observation.fingertip_position
    distance = float(np.hypot(tips[0] - puck[0], tips[2] - puck[2]))
    margin = float(np.hypot(start[0] - 0.004285731, start[2] - 0.150189277)) - 0.005
    over = tolerance(distance, bound=0.005, margin=margin)
    return hamacher_product(hamacher_product(near_in, far_in), over)


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step, between 0 and 10, from what the step leads to; 10 at the goal.

    Up to 1 for closing the fingers about a puck near the goal; 1 more for lifting it, and up to 5
    more for lifting it near the goal.
    """
    puck, start = next_observation.puck_position, next_observation.puck_start
    goal = next_observation.goal_position
    distance = float(np.linalg.norm(puck - goal))
    if distance < 0.05:
        return 10.0
    near_goal = tolerance(distance, bound=0.05, margin=float(np.linalg.norm(start - goal)))
    caged = caging(next_observation)
    closing = min(max(float(action[3]), 0.0), 1.0) if caged > 0.97 else 0.0
    total = hamacher_product((hamacher_product(caged, closing) + caged) / 2.0, near_goal)
    in_hand = float(np.linalg.norm(puck - next_observation.fingertip_position)) < 0.02
    if in_hand and next_observation.gripper_opening > 0 and puck[2] - 0.01 > start[2]:
        total += 1.0 + 5.0 * near_goal
    return float(total)


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
    """Meta-World's pick-place-v3, its goal observable."""
    return family.make_env("pick-place-v3")


def observe(raw: Raw, env: Env) -> np.ndarray:
    """Add what Meta-World's reward uses: the finger pads, and the puck's place at the start."""
    pads = [env.get_body_com("leftpad")[1], env.get_body_com("rightpad")[1]]
    return np.concatenate((family.observe(raw, env), pads, env.obj_init_pos))


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=ArmSheet(("puck",)).measured,
    reward=reward,
    reward_helpers=(tolerance, tolerance_between, hamacher_product, caging),
    # Meta-World computes parts of this reward in float32.
    reward_tolerance=3e-6,
    horizon=family.HORIZON,
    observe=observe,
    reset=family.reset,
    success=family.success,
    expert=family.expert("pick-place-v3"),
    install="metaworld>=3.1.1",
    # Measured: python -m promptpo.spec.baselines metaworld_pick_place --episodes 30
    references={
        "random": Reference(6.1, 0.0),
        "zero action": Reference(8.7, 0.0),
        "expert": Reference(4436.0, 1.0),
    },
)
