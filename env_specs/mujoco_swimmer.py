"""Swimmer: make a chain of three links swim through a viscous fluid, forward, as fast as it can.

The links, each 1 m long, lie in a horizontal plane and are joined by two hinges with a motor each.
Steps are 0.04 s apart. At the start the chain lies nearly straight along x, its front link ahead
(each position and velocity is drawn uniformly from -0.1 to 0.1). Nothing ends the episode: it
always lasts 1000 steps.

World frame, in metres: x forward, y to the left. Angles are in rad, positive anticlockwise as seen
from above.
"""

import numpy as np

from promptpo.spec import Env, EnvSpec, field


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
    reward=reward,
    reward_tolerance=1e-6,  # the environment sums the squares of the torques in float32
    horizon=1000,
    # Measured: python -m promptpo.spec.baselines mujoco_swimmer --episodes 60
    references={"random": -0.1, "zero action": 0.0},
    install="gymnasium[mujoco]",
)
