"""NoiseWorld, board 1: cross a 10 x 10 grid of labelled cells to the goal.

The agent starts in row 0, column 0; the goal is in row 9, column 9. Each cell carries a label, an
integer that is the same for cells of the same kind. What a kind of cell does to moves is not told,
and chance may play a part; the labels are the same in every episode. Entering the goal ends the
episode, and so does entering a bad cell, at a great loss. An episode succeeds if the goal is
entered within 100 steps.
"""

from collections.abc import Callable

import numpy as np

from promptpo.spec import Env, EnvSpec, Raw, Reference, field


class Observation:
    """Where agent and goal are, and the label of every cell. Row 0 is at the top."""

    agent_row: float = field(low=0.0, high=1.0, doc="row of the agent (0 to 9) / 9")
    agent_column: float = field(low=0.0, high=1.0, doc="column of the agent (0 to 9) / 9")
    goal_row: float = field(low=0.0, high=1.0, doc="row of the goal / 9")
    goal_column: float = field(low=0.0, high=1.0, doc="column of the goal / 9")
    cell_labels: np.ndarray = field(
        shape=(10, 10), low=0, high=7, doc="whole numbers; cell_labels[row, column]"
    )


ACTION = """
An int: 0 moves up (row - 1), 1 down (row + 1), 2 left (column - 1), 3 right (column + 1).
"""


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    entered_bad_cell: bool,
) -> float:
    """Reward of one step. Which cells are bad is not told; entering one ends the episode."""
    n = len(next_observation.cell_labels)
    at_goal = (
        next_observation.agent_row == next_observation.goal_row
        and next_observation.agent_column == next_observation.goal_column
    )
    total = -1.0
    if at_goal:
        total += n**3
    if entered_bad_cell:
        total -= n**5
    return total


def make() -> Env:
    """Board 1 of our own NoiseWorld."""
    from .noise_world import NoiseWorld

    return NoiseWorld(board=1)


def expert(env: Env) -> Callable[[Raw], int]:
    """Act as exact value iteration with the true probabilities says."""
    from .noise_world import solve

    policy = solve(env.board).policy
    return lambda raw: int(policy[env.steps, env.state])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
    reward_inputs=lambda info: {"entered_bad_cell": info["entered_bad_cell"]},
    horizon=100,
    success=lambda info, reward, terminated: info["success"],
    expert=expert,
    # Measured: python -m promptpo.spec.baselines noise_world_board_1 --episodes 20000
    # The optimum is exact: solve(load_board(1)) of noise_world.py.
    references={
        "random": Reference(-1460.0, 0.005, deviation=11_600.0),
        "zero action": Reference(-100.0, 0.0),
        "optimum": Reference(974.91, 1.0),
    },
    withheld=("may stay", "stay in place", "reset", "back to the start", "deterministic", "wall"),
)
