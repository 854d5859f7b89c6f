"""What the published prompts tell of NoiseWorld: less than ours, of the reward and of the goal."""

import numpy as np

from promptpo.spec import field

DESCRIPTION = """
The agent starts in row 0, column 0; the goal is in row {last}, column {last}. Each cell carries a
label, an integer, which is the same in every episode. What the labels mean is not told. An action
asks for one move; the environment goes by rules of its own, and chance may play a part, so that a
move need not lead where it was to lead. An episode ends when the environment says so, and after
{horizon} steps at the latest.
"""


class Observation:
    """Where agent and goal are, and the label of every cell. Row 0 is at the top."""

    agent_row: float = field(low=0.0, high=1.0, doc="row of the agent (0 to 9) / 9")
    agent_column: float = field(low=0.0, high=1.0, doc="column of the agent (0 to 9) / 9")
    goal_row: float = field(low=0.0, high=1.0, doc="row of the goal / 9")
    goal_column: float = field(low=0.0, high=1.0, doc="column of the goal / 9")
    cell_labels: np.ndarray = field(
        shape=(10, 10), low=0, high=7, doc="whole numbers; cell_labels[row, column]"
    )
    last_two: np.ndarray = field(
        shape=(2,), low=0, high=1, doc="two whole numbers more, not explained"
    )


def reward(
    observation: Observation,
    action: int,
    next_observation: Observation,
    *,
    goal_condition_met: bool,
    failed: bool,
    step_cost: float,
    gain: float,
    loss: float,
) -> float:
    """Reward of one step: a cost, the same for all steps; a gain at the goal; a loss.

    The gain is large, and comes when the task's condition for reaching the goal is met. The loss
    is large, and comes when the episode ends in a catastrophic failure. How large they are, and
    when that is, is not told.
    """
    return -step_cost + gain * goal_condition_met - loss * failed
