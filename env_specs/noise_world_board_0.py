"""NoiseWorld, board 0: cross a 5 x 5 grid of labelled cells to the goal.

The agent starts in row 0, column 0; the goal is in row 4, column 4. Each cell carries a label, an
integer that is the same for cells of the same kind. What a kind of cell does to moves is not told,
and chance may play a part; the labels are the same in every episode. Entering the goal ends the
episode, and so does entering a bad cell, at a great loss. An episode succeeds if the goal is
entered within 25 steps.
"""

import numpy as np

from promptpo.spec import Reference, field

from ._noise_world.specs import board_spec


class Observation:
    """Where agent and goal are, and the label of every cell. Row 0 is at the top."""

    agent_row: float = field(low=0.0, high=1.0, doc="row of the agent (0 to 4) / 4")
    agent_column: float = field(low=0.0, high=1.0, doc="column of the agent (0 to 4) / 4")
    goal_row: float = field(low=0.0, high=1.0, doc="row of the goal / 4")
    goal_column: float = field(low=0.0, high=1.0, doc="column of the goal / 4")
    cell_labels: np.ndarray = field(
        shape=(5, 5), low=0, high=5, doc="whole numbers; cell_labels[row, column]"
    )


SPEC = board_spec(
    0,
    side=5,
    observation=Observation,
    random=Reference(-890.3, 0.0012, deviation=1_394.7),
    optimum=Reference(34.91, 0.445),
)
