"""Swimmer: make a chain of three links swim through a viscous fluid, forward, as fast as it can.

The links, each 1 m long, lie in a horizontal plane and are joined by two hinges with a motor each.
Steps are 0.04 s apart. At the start the chain lies nearly straight along x, its front link ahead
(each position and velocity is drawn uniformly from -0.1 to 0.1). Nothing ends the episode: it
always lasts 1000 steps.

World frame, in metres: x forward, y to the left. Angles are in rad, positive anticlockwise as seen
from above.
"""

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, field


class Observation:
    """Position and velocity of the front link and of both hinges, before each action.

    The order of the hinges: 0 between front and middle link, 1 between middle and back link.
    """

    position: np.ndarray = field(
        shape=(2,),
        unit="m",
        frame="world",
        doc="x, y of a point fixed to the front link, on its axis, 1 m behind its middle; "
        "it starts near 0, in the middle of the chain",
    )
    heading: float = field(
        unit="rad", frame="world", doc="of the front link; 0 along x; does not wrap at pi"
    )
    hinge_angles: np.ndarray = field(
        shape=(2,),
        unit="rad",
        doc="0 straight, of the link behind against the one ahead; soft limits at -1.745 and 1.745",
    )
    velocity: np.ndarray = field(shape=(2,), unit="m/s", frame="world", doc="rate of position")
    heading_velocity: float = field(unit="rad/s", frame="world", doc="rate of heading")
    hinge_velocities: np.ndarray = field(shape=(2,), unit="rad/s", doc="rates of hinge_angles")


ACTION = """
An array of 2 floats, each in [-1, 1] (values beyond are clipped): the torques of the motors in the
order of the hinges, as shares of the largest torque (150 N m). A positive torque drives the hinge's
angle up.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: mean forward speed during it, less a small cost of the torques."""
    forward = (next_observation.position[0] - observation.position[0]) / 0.04
    return float(forward) - 0.0001 * float(np.sum(np.square(action)))


FACTS = """
Positions are (x, y) in m from the point of the front link that is told as its position, in the
posture in which all joint angles are 0. Parts are rods with round ends, whose centres are
given; moments of inertia, in kg m^2, are about an axis at right angles to the plane through the
centre of mass.

part         ends of its axis
front link   (0.5, 0) to (1.5, 0)
middle link  (-0.5, 0) to (0.5, 0)
back link    (-1.5, 0) to (-0.5, 0)

Every part: radius 0.1 m, mass 35.6 kg, inertia 3.92. Together they weigh 107 kg.

joint          at
0 front hinge  (0.5, 0)
1 back hinge   (-0.5, 0)
way along x    (0, 0)
way along y    (0, 0)
turn           (0, 0)

Every joint: damping 0, armature 0.1. Damping is in N m s/rad, the rotors' inertia (armature) in
kg m^2 (of slides: N s/m, kg). Nothing collides with anything. Gravity acts across the plane.
The fluid has density 4000 kg/m^3 and viscosity 0.1 Pa s; it acts on each part as on a box of
the same mass and moments of inertia. Motion is integrated in steps of 0.01 s (fourth-order
Runge-Kutta). An action is held for 4 of these, 0.04 s, and acts without lag.
"""

BODY = BodySheet(
    parts={"torso": "front link", "mid": "middle link", "back": "back link"},
    joints={"motor1_rot": "front hinge", "motor2_rot": "back hinge"},
    zero="the point of the front link that is told as its position",
    origin="torso",
    axes="xy",
    others={"slider1": "way along x", "slider2": "way along y", "free_body_rot": "turn"},
)


def make() -> Env:
    """Gymnasium's Swimmer-v5, with its position in the observation (swimmer_v5.py, swimmer.xml)."""
    import gymnasium

    return gymnasium.make(
        "Swimmer-v5",
        exclude_current_positions_from_observation=False,
        disable_env_checker=True,
    )


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_swimmer --episodes 60
    references={"random": -0.1, "zero action": 0.0},
    install="gymnasium[mujoco]",
)
