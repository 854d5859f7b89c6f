"""What boards 4 to 6 of NoiseWorld share: two flags, and a goal that does not always pay."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from promptpo.spec import EnvSpec, Reference, field

from . import published as published_parts
from . import specs as family

TITLE = "NoiseWorld, board {}: cross a 10 x 10 grid of labelled cells to the goal."


class Observation:
    """Where agent and goal are, and the label of every cell. Row 0 is at the top."""

    agent_row: float = field(low=0.0, high=1.0, doc="row of the agent (0 to 9) / 9")
    agent_column: float = field(low=0.0, high=1.0, doc="column of the agent (0 to 9) / 9")
    goal_row: float = field(low=0.0, high=1.0, doc="row of the goal / 9")
    goal_column: float = field(low=0.0, high=1.0, doc="column of the goal / 9")
    cell_labels: np.ndarray = field(
        shape=(10, 10), low=0, high=7, doc="whole numbers; cell_labels[row, column]"
    )
    first_flag: int = field(low=0, high=1, doc="0 at the start; what makes it 1 is not told")
    second_flag: int = field(low=0, high=1, doc="0 at the start; what makes it 1 is not told")


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    goal_pays: bool,
    entered_bad_cell: bool,
) -> float:
    """Reward of one step. Entering a bad cell ends the episode, and so does entering the goal.

    Which cells are bad is not told, nor what it takes for the goal to pay.
    """
    n = len(next_observation.cell_labels)
    at_goal = (
        next_observation.agent_row == next_observation.goal_row
        and next_observation.agent_column == next_observation.goal_column
    )
    total = -1.0
    if at_goal and goal_pays:
        total += n**3
    if entered_bad_cell:
        total -= n**5
    return total


def board_spec(board: int, *, random: Reference, optimum: Reference) -> EnvSpec:
    """The spec of one board; title and description are its module's docstring."""
    return family.board_spec(
        board,
        random=random,
        optimum=optimum,
        observation=Observation,
        reward=reward,
        reward_inputs=hidden_from_policies,
        published={
            "title": TITLE.format(board),
            "observation": published_parts.Observation,
        },
    )


def hidden_from_policies(info: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the reward of a step depends on and the observation does not tell."""
    # A step succeeds if it enters the goal, and the goal pays.
    return {"goal_pays": info["success"], "entered_bad_cell": info["entered_bad_cell"]}
