"""InvertedDoublePendulum: keep two poles, one on top of the other, upright on a cart.

The lower pole is hinged to the cart, the upper pole to the top of the lower; both are 0.6 m long. A
motor pushes the cart along a rail, which ends at x = -1 m and 1 m. Steps are 0.05 s apart. At the
start position and angles are drawn uniformly from -0.1 to 0.1, velocities from a normal
distribution of deviation 0.1. The episode ends when the upper pole's tip is no higher than 1 m
above the rail, and after 1000 steps at the latest.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from promptpo.spec import BodySheet, Env, EnvSpec, Raw, field


class Observation:
    """Cart and poles, before each action. Pole 0 is the lower one, pole 1 the upper one.

    The angle of pole 0 is measured from the vertical, that of pole 1 from pole 0; both are 0 when
    all is upright, and positive when leaning to the right (x).
    """

    cart_position: float = field(
        unit="m", frame="rail", doc="0 in the middle, positive to the right; soft ends at -1 and 1"
    )
    sin_angles: np.ndarray = field(shape=(2,), low=-1.0, high=1.0, doc="of both poles' angles")
    cos_angles: np.ndarray = field(shape=(2,), low=-1.0, high=1.0, doc="of both poles' angles")
    cart_velocity: float = field(unit="m/s", frame="rail", doc="positive to the right")
    pole_velocities: np.ndarray = field(shape=(2,), unit="rad/s", doc="rates of both angles")
    end_force: float = field(
        unit="N",
        low=-10.0,
        high=10.0,
        frame="rail",
        doc="force of the rail's end on the cart, cut at 10; 0 away from the ends",
    )
    tip_x: float = field(unit="m", frame="rail", doc="x of the upper pole's tip")
    tip_height: float = field(unit="m", frame="rail", doc="of the upper pole's tip; 1.2 upright")


ACTION = """
An array of 1 float in [-1, 1] (values beyond are clipped): the force on the cart in units of 500 N,
positive to the right.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 10 while the tip is above 1 m, less costs of its place and of motion."""
    tip_x, height = next_observation.tip_x, next_observation.tip_height
    lower, upper = next_observation.pole_velocities
    costs = 0.01 * tip_x**2 + (height - 2.0) ** 2 + 0.001 * lower**2 + 0.005 * upper**2
    return (10.0 if height > 1.0 else 0.0) - float(costs)


FACTS = """
Positions are (x, z) in m from the middle of the rail, in the posture in which all joint angles
are 0. Parts are rods with round ends, whose centres are given; moments of inertia, in kg m^2,
are about an axis at right angles to the plane through the centre of mass.

part        ends of its axis       radius m  mass kg  inertia
cart        (-0.1, 0) to (0.1, 0)  0.1       10.5     0.127
lower pole  (0, 0.6) to (0, 0)     0.045     4.2      0.155
upper pole  (0, 1.2) to (0, 0.6)   0.045     4.2      0.155

Together they weigh 18.9 kg.

joint             at
0 lower pole      (0, 0)
1 upper pole      (0, 0.6)
cart on its rail  (0, 0)

Every joint: damping 0.05, armature 0. Damping is in N m s/rad, the rotors' inertia (armature)
in kg m^2 (of slides: N s/m, kg). Nothing collides with anything. Gravity is 9.81 m/s^2
downward. Motion is integrated in steps of 0.01 s (fourth-order Runge-Kutta). An action is held
for 5 of these, 0.05 s, and acts without lag.
"""

BODY = BodySheet(
    parts={"cart": "cart", "cpole": "lower pole", "cpole2": "upper pole"},
    joints={"hinge": "lower pole", "hinge2": "upper pole"},
    zero="the middle of the rail",
    others={"slider": "cart on its rail"},
)


def make() -> Env:
    """Gymnasium's InvertedDoublePendulum-v5 (inverted_double_pendulum_v5.py and .xml)."""
    import gymnasium

    return gymnasium.make("InvertedDoublePendulum-v5", disable_env_checker=True)


def observe(raw: Raw, env: Env) -> dict[str, Any]:
    """The observation, its velocities without the cut at 10, and the tip that the reward uses."""
    data = env.unwrapped.data
    tip_x, _, tip_height = data.site_xpos[0]
    return {
        "cart_position": raw[0],
        "sin_angles": raw[1:3],
        "cos_angles": raw[3:5],
        "cart_velocity": data.qvel[0],
        "pole_velocities": data.qvel[1:3],
        "end_force": raw[8],
        "tip_x": tip_x,
        "tip_height": tip_height,
    }


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """A linear-quadratic regulator of the model, linearized about upright."""
    gain = np.array([0.213, 1.813, 5.569, 0.315, 0.902, 0.848])

    def act(raw: np.ndarray) -> np.ndarray:
        angles = np.arctan2(raw[1:3], raw[3:5])
        state = np.concatenate((raw[:1], angles, raw[5:8]))
        return np.array([np.clip(-gain @ state, -1, 1)])

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    observe=observe,
    action=ACTION,
    facts=FACTS,
    measured_facts=BODY.measured,
    reward=reward,
    reward_tolerance=1e-9,
    horizon=1000,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines mujoco_inverted_double_pendulum --episodes 4000
    references={"random": 49.1, "zero action": 86.5, "expert": 9359.9},
    install="gymnasium[mujoco]",
)
