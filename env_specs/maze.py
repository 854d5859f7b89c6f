"""Maze: find the way from the north-west of a small maze to its south-east.

The maze is a grid of 3 x 3 cells; row 0 is in the north, column 0 in the west. Walls stand between
some neighbouring cells, the same in every episode; which is not told. A move against a wall or the
edge leaves the walker where it is; every other move succeeds. The walker starts in row 0, column 0;
the goal is in row 2, column 2. The episode ends at the goal, and after 20 steps at the latest. It
succeeds if the goal is entered.
"""

from promptpo.spec import Env, EnvSpec, Reference, field

from ._shared.tabular import expert


class Observation:
    """Where the walker stands, before each action."""

    cell: int = field(low=0, high=8, doc="3 * row + column: 0 the start, 2 north-east, 8 goal")


ACTION = """
An int: 0 moves north (row - 1), 1 south (row + 1), 2 east (column + 1), 3 west (column - 1).
"""


def reward(observation: Observation, action: int, next_observation: Observation) -> float:
    """Reward of one step: 1 on entering the goal, else -0.1 / 9."""
    return 1.0 if next_observation.cell == 8 else -0.1 / 9


def make() -> Env:
    """The maze of _games/maze.py."""
    from ._games.maze import Maze

    return Maze()


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    horizon=20,
    success=lambda info, reward, terminated: terminated,
    expert=expert(20),
    deterministic=True,
    # Measured: python -m promptpo.spec.baselines maze --episodes 20000
    # The optimum is exact: start_value of _shared/tabular.py.
    references={
        "random": Reference(0.047, 0.247),
        "zero action": Reference(-20 * 0.1 / 9, 0.0),
        "optimum": Reference(0.9667, 1.0),
    },
    withheld=("+-+", "| |"),
)
