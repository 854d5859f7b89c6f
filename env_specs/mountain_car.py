"""MountainCar: drive a car with a weak engine out of a valley, to the flag on the right hill.

The car stands in a valley of the shape sin(3 * position). Its engine is too weak to climb the right
hill from rest. It starts at rest, position drawn uniformly from -0.6 to -0.4. The episode ends when
the position reaches 0.5, where the flag is: a success; after 200 steps at the latest.
"""

from collections.abc import Callable

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared import machines


class Observation:
    """The car, before each action."""

    position: float = field(
        low=-1.2, high=0.6, doc="bottom of the valley at -0.52, flag at 0.5; positive to the right"
    )
    velocity: float = field(
        low=-0.07, high=0.07, doc="change of position in a step, positive to the right"
    )


ACTION = """An int: 0 accelerates to the left, 1 not at all, 2 to the right."""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: -1, also for the step that reaches the flag."""
    return -1.0


FACTS = """
The engine's full force changes the velocity by 0.001 in a step. Gravity changes it by 0.0025 *
abs(cos(3 * position)) in a step, towards the bottom of the valley.
"""


def make() -> Env:
    """Gymnasium's MountainCar-v0 (mountain_car.py)."""
    import gymnasium

    return gymnasium.make("MountainCar-v0", disable_env_checker=True)


def expert(env: Env) -> Callable[[Raw], int]:
    """Accelerate in the direction of motion."""
    return lambda raw: 2 if raw[1] >= 0 else 0


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.CAR.measured,
    reward=reward,
    horizon=200,
    success=lambda info, reward, terminated: terminated,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines mountain_car --episodes 5000
    references={
        "random": Reference(-200.0, 0.0),
        "zero action": Reference(-200.0, 0.0),
        "expert": Reference(-119.3, 1.0),
    },
)
