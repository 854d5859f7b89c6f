"""InvertedPendulum: keep a pole upright on a cart that moves along a rail.

The pole is hinged to the cart; a motor pushes the cart along the rail, which ends at x = -1 m and
1 m. Steps are 0.04 s apart. At the start all four numbers of the observation are drawn uniformly
from -0.01 to 0.01. The episode ends when the pole leans more than 0.2 rad, and after 1000 steps at
the latest.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, Raw, field


class Observation:
    """Cart and pole, before each action."""

    cart_position: float = field(
        unit="m", frame="rail", doc="0 in the middle, positive to the right; soft ends at -1 and 1"
    )
    pole_angle: float = field(unit="rad", doc="0 upright, positive when leaning to the right")
    cart_velocity: float = field(unit="m/s", frame="rail", doc="positive to the right")
    pole_velocity: float = field(unit="rad/s", doc="rate of pole_angle")


ACTION = """
An array of 1 float in [-3, 3] (values beyond are clipped): the force on the cart in units of 100 N,
positive to the right.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 1 while the pole leans no more than 0.2 rad, else 0."""
    return 1.0 if abs(next_observation.pole_angle) <= 0.2 else 0.0


FACTS = """
Positions are (x, z) in m from the middle of the rail, in the posture in which all joint angles
are 0. Parts are rods with round ends, whose centres are given; moments of inertia, in kg m^2,
are about an axis at right angles to the plane through the centre of mass.

part  ends of its axis        radius m  mass kg  inertia
cart  (-0.1, 0) to (0.1, 0)   0.1       10.5     0.127
pole  (0.001, 0.6) to (0, 0)  0.049     5.02     0.189

Together they weigh 15.5 kg.

joint             at
0 pole            (0, 0)
cart on its rail  (0, 0)

Every joint: damping 1, armature 0. Damping is in N m s/rad, the rotors' inertia (armature) in
kg m^2 (of slides: N s/m, kg). Nothing collides with anything. Gravity is 9.81 m/s^2 downward.
Motion is integrated in steps of 0.02 s (fourth-order Runge-Kutta). An action is held for 2 of
these, 0.04 s, and acts without lag.
"""

BODY = BodySheet(
    parts={"cart": "cart", "cpole": "pole"},
    joints={"hinge": "pole"},
    zero="the middle of the rail",
    others={"slider": "cart on its rail"},
)


def make() -> Env:
    """Gymnasium's InvertedPendulum-v5 (inverted_pendulum_v5.py, inverted_pendulum.xml)."""
    import gymnasium

    return gymnasium.make("InvertedPendulum-v5", disable_env_checker=True)


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """A linear-quadratic regulator of the model, linearized about upright."""
    gain = np.array([-0.722, -6.83, -0.923, -1.084])
    return lambda raw: np.array([np.clip(-gain @ raw, -3, 3)])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    horizon=1000,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines mujoco_inverted_pendulum --episodes 300
    references={"random": 5.0, "zero action": 24.1, "expert": 1000.0},
    install="gymnasium[mujoco]",
)
