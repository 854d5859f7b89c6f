"""Acrobot: swing the free end of a two-link chain above a bar with a motor in its middle joint.

Two links of 1 m hang from a fixed joint without a motor; the joint between them has a weak one.
Steps are 0.2 s apart. At the start the chain hangs nearly still: both angles and both velocities
are drawn uniformly from -0.1 to 0.1. The episode ends when the free end is more than 1 m above the
fixed joint: a success; after 500 steps at the latest.
"""

from collections.abc import Callable

from promptpo.spec import Env, EnvSpec, Raw, Reference, field

from ._shared import machines


class Observation:
    """The chain, before each action. Angles turn anticlockwise and are 0 when all hangs down."""

    cos_angle_1: float = field(
        low=-1.0, high=1.0, doc="of the first link's angle from straight down"
    )
    sin_angle_1: float = field(
        low=-1.0, high=1.0, doc="positive when that link points to the right"
    )
    cos_angle_2: float = field(
        low=-1.0, high=1.0, doc="of the second link's angle from the first's"
    )
    sin_angle_2: float = field(low=-1.0, high=1.0, doc="positive when bent anticlockwise")
    velocity_1: float = field(
        unit="rad/s", low=-12.566371, high=12.566371, doc="rate of angle 1, positive anticlockwise"
    )
    velocity_2: float = field(
        unit="rad/s", low=-28.274334, high=28.274334, doc="rate of angle 2, positive anticlockwise"
    )

    def tip_height(self) -> float:
        """Height of the free end above the fixed joint in m, -2 to 2."""
        cos_sum = self.cos_angle_1 * self.cos_angle_2 - self.sin_angle_1 * self.sin_angle_2
        return -self.cos_angle_1 - cos_sum


ACTION = """
An int, the torque on the joint between the links: 0 is -1 N m, 1 is 0 N m, 2 is 1 N m; a positive
torque drives angle 2 up.
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 0 for the step that ends the episode, else -1."""
    return 0.0 if next_observation.tip_height() > 1.0 else -1.0


FACTS = """
The first link weighs 1 kg, the second 1 kg; the centre of mass of each is in its middle, and about
that its moment of inertia is 1 and 1 kg m^2. Gravity is 9.8 m/s^2. Nothing rubs.
"""


def make() -> Env:
    """Gymnasium's Acrobot-v1 (acrobot.py)."""
    import gymnasium

    return gymnasium.make("Acrobot-v1", disable_env_checker=True)


def expert(env: Env) -> Callable[[Raw], int]:
    """Drive the middle joint against the swing of the first link, which pumps energy into it."""
    return lambda raw: 0 if raw[4] > 0 else 2


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    facts=FACTS,
    measured_facts=machines.CHAIN.measured,
    reward=reward,
    horizon=500,
    success=lambda info, reward, terminated: terminated,
    expert=expert,
    # Measured: python -m promptpo.spec.baselines acrobot --episodes 1000
    references={
        "random": Reference(-498.9, 0.02),
        "zero action": Reference(-500.0, 0.0),
        "expert": Reference(-83.8, 1.0),
    },
)
