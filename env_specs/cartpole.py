"""CartPole: keep a pole upright on a cart that moves along a track.

A pole is attached by a hinge without friction to a cart on a straight track. A force to the left
or to the right is applied to the cart at each step; steps are 0.02 s apart. At the start, all four
numbers of the observation are drawn uniformly from -0.05 to 0.05. The episode ends when the cart
is more than 2.4 m from the centre, or the pole leans more than 12 degrees (0.2095 rad), and after
500 steps at the latest.
"""

from promptpo.spec import Env, EnvSpec, field

from ._shared import machines


class Observation:
    """Cart and pole, before each action."""

    cart_position: float = field(
        unit="m", low=-4.8, high=4.8, frame="track", doc="0 at the centre, positive to the right"
    )
    cart_velocity: float = field(unit="m/s", frame="track", doc="positive to the right")
    pole_angle: float = field(
        unit="rad", low=-0.419, high=0.419, doc="0 upright, positive when leaning to the right"
    )
    pole_velocity: float = field(unit="rad/s", doc="rate of pole_angle")


ACTION = """An int: 0 pushes the cart to the left, 1 to the right, each with a force of 10 N."""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 1 for each step, the one that ends the episode included."""
    return 1.0


FACTS = """
The cart weighs 1 kg. The pole weighs 0.1 kg, spread evenly along it, and is 1 m long. Gravity is
9.8 m/s^2. Nothing rubs. In each step positions change by the speeds before it, then speeds by what
the force does.
"""


def make() -> Env:
    """Gymnasium's CartPole-v1."""
    import gymnasium

    return gymnasium.make("CartPole-v1", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.CART.measured,
    reward=reward,
    horizon=500,
    # Measured: python -m promptpo.spec.baselines cartpole --episodes 20000
    references={"random": 22.8, "zero action": 9.3, "optimum": 500.0},
)
