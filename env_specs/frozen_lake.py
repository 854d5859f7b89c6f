"""FrozenLake: cross a frozen lake from the north-west to the south-east without breaking in.

The lake is a grid of 4 x 4 cells; row 0 is in the north, column 0 in the west. From north to south
the rows are SFFF, FHFH, FFFH, HFFG: S is the start, F is frozen, H is a hole, G is the goal. The
ice is slippery: a move may lead elsewhere than intended. The episode ends at a hole or at the goal,
and after 100 steps at the latest. It succeeds if the goal is entered.
"""

from promptpo.spec import Env, EnvSpec, Reference, field

from ._shared.tabular import expert


class Observation:
    """Where the walker stands, before each action."""

    cell: int = field(low=0, high=15, doc="4 * row + column: 0 the start, 3 north-east, 15 goal")


ACTION = """
An int: 0 moves west (column - 1), 1 south (row + 1), 2 east (column + 1), 3 north (row - 1).
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 1 on entering the goal, else 0."""
    return 1.0 if next_observation.cell == 15 else 0.0


def make() -> Env:
    """Gymnasium's FrozenLake-v1: 4 x 4, slippery (frozen_lake.py)."""
    import gymnasium

    return gymnasium.make("FrozenLake-v1", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=100,
    success=lambda info, reward, terminated: reward > 0,
    expert=expert(100),
    # Measured: python -m promptpo.spec.baselines frozen_lake --episodes 20000
    # The optimum is exact: start_value of _shared/tabular.py, 0.7442.
    references={
        "random": Reference(0.014, 0.014, deviation=0.118),
        "zero action": Reference(0.0, 0.0),
        "optimum": Reference(0.744, 0.744),
    },
    withheld=("probability", "perpendicular", "third"),
)
