"""Pendulum: swing a pendulum up with a weak motor, and keep it up.

The motor is too weak to lift the pendulum straight up from hanging. Steps are 0.05 s apart. At the
start the angle is drawn uniformly from -pi to pi, the velocity from -1 to 1 rad/s. No posture ends
the episode: it always lasts 200 steps.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, field

from ._shared import machines


class Observation:
    """The pendulum, before each action. Its angle is 0 when it stands upright."""

    cos_angle: float = field(low=-1.0, high=1.0, doc="1 upright, -1 hanging")
    sin_angle: float = field(low=-1.0, high=1.0, doc="positive when tilted to the left")
    velocity: float = field(unit="rad/s", low=-8.0, high=8.0, doc="positive anticlockwise")

    def angle(self) -> float:
        """Angle in rad, -pi to pi, 0 upright, positive when tilted to the left."""
        return float(np.arctan2(self.sin_angle, self.cos_angle))


ACTION = """
An array of 1 float in [-2, 2] (values beyond are clipped): the motor's torque in N m, positive
anticlockwise.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 0 at best, when upright, at rest and without torque."""
    cost = observation.angle() ** 2 + 0.1 * observation.velocity**2 + 0.001 * action[0] ** 2
    return -float(cost)


FACTS = """
The pendulum is a rod of 1 m and 1 kg, its weight spread evenly along it, that turns about one of
its ends. Gravity is 10 m/s^2. Nothing rubs.
"""


def make() -> Env:
    """Gymnasium's Pendulum-v1 (pendulum.py)."""
    import gymnasium

    return gymnasium.make("Pendulum-v1", disable_env_checker=True)


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """Pump energy while hanging, and balance by proportional and derivative action at the top."""

    def act(raw: np.ndarray) -> np.ndarray:
        angle, velocity = np.arctan2(raw[1], raw[0]), raw[2]
        if abs(angle) < 0.5:
            return np.array([np.clip(-12.0 * angle - 3.0 * velocity, -2, 2)])
        energy = velocity**2 / 6.0 + 5.0 * raw[0]  # of a rod of 1 m and 1 kg; 5 upright at rest
        push = np.clip(5.0 - energy, -1, 1)
        return np.array([2.0 * push * (1.0 if velocity >= 0 else -1.0)])

    return act


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.PENDULUM.measured,
    reward=reward,
    reward_tolerance=1e-4,  # the observation is float32
    horizon=200,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines pendulum --episodes 5000
    references={"random": -1225.0, "zero action": -1221.0, "expert": -153.6},
)
