"""MountainCarContinuous: drive a car with a weak engine out of a valley, sparing the engine.

The car stands in a valley of the shape sin(3 * position). Its engine is too weak to climb the right
hill from rest. It starts at rest, position drawn uniformly from -0.6 to -0.4. The episode ends when
the position reaches 0.45, where the flag is: a success; after 999 steps at the latest.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared import machines


class Observation:
    """The car, before each action."""

    position: float = field(
        low=-1.2, high=0.6, doc="bottom of the valley at -0.52, flag at 0.45; positive to the right"
    )
    velocity: float = field(
        low=-0.07, high=0.07, doc="change of position in a step, positive to the right"
    )


ACTION = """
An array of 1 float in [-1, 1] (values beyond are clipped): the engine's force as a share of the
largest, positive to the right.
"""


def reward(observation: Observation, action: np.ndarray, next_observation: Observation) -> float:
    """Reward of one step: 100 for reaching the flag, less a cost of the force."""
    at_flag = next_observation.position >= 0.45 and next_observation.velocity >= 0
    return (100.0 if at_flag else 0.0) - 0.1 * float(action[0]) ** 2


FACTS = """
The engine's full force changes the velocity by 0.0015 in a step. Gravity changes it by 0.0025 *
abs(cos(3 * position)) in a step, towards the bottom of the valley.
"""


def make() -> Env:
    """Gymnasium's MountainCarContinuous-v0 (continuous_mountain_car.py)."""
    import gymnasium

    return gymnasium.make("MountainCarContinuous-v0", disable_env_checker=True)


def expert(env: Env) -> Callable[[Raw], np.ndarray]:
    """Push in the direction of motion."""
    return lambda raw: np.array([1.0 if raw[1] >= 0 else -1.0])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.CAR.measured,
    reward=reward,
    reward_tolerance=1e-6,  # the environment squares a float32
    horizon=999,
    success=lambda info, reward, terminated: terminated,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines mountain_car_continuous --episodes 2000
    references={
        "random": Reference(-32.9, 0.004),
        "zero action": Reference(0.0, 0.0),
        "expert": Reference(89.3, 1.0),
    },
)
