"""A maze of 3 x 3 cells, as a Gymnasium environment.

From the cell in the north-west to the one in the south-east, within 20 steps. Reward: 1 on entering
the goal, which ends the episode, and -0.1 / 9 for any other step, one against a wall included. The
shortest way takes 4 steps, for a return of 1 - 3 * 0.1 / 9 = 0.9667.

Size, reward and horizon are those of the R2PO suite, whose maze is gym-maze's sample of 3 x 3.
Where the walls of that sample stand could not be known; these are ours, with one way between any
two cells.

Importing this module makes ``gymnasium.make("promptpo/Maze-v0")`` work, and without an import
``gymnasium.make("env_specs._games.maze:promptpo/Maze-v0")``.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._shared.drawing import BLUE, GREEN, INK, WHITE, blank, box, cell, diamond, disc

ENV_ID = "promptpo/Maze-v0"

#: Cells lie at odd rows and columns; what stands between two of them is a wall, or free.
MAP = (
    "+-+-+-+",
    "|S  | |",
    "+-+ + +",
    "|   | |",
    "+ + + +",
    "| |  G|",
    "+-+-+-+",
)
SIDE = 3
GOAL = SIDE**2 - 1
HORIZON = 20

#: Row and column steps of the actions north, south, east, west.
MOVES = ((-1, 0), (1, 0), (0, 1), (0, -1))

#: Pixels of a cell.
CELL = 128


def target(state: int, action: int) -> int:
    """The cell in which a move ends."""
    (row, column), (down, right) = divmod(state, SIDE), MOVES[action]
    free = MAP[2 * row + 1 + down][2 * column + 1 + right] == " "
    return state + down * SIDE + right if free else state


class Maze(gymnasium.Env[np.int64, np.int64]):
    """Observation: the cell, 3 * row + column. Actions: 0 north, 1 south, 2 east, 3 west.

    Attributes:
        P: state -> action -> [(probability, next state, reward, terminated)], as in toy-text.
        initial_state_distrib: probability of each cell to be the start, shape (9,).
        state: the cell.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 4,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(SIDE**2)
        self.action_space = spaces.Discrete(len(MOVES))
        self.initial_state_distrib = np.eye(SIDE**2)[0]
        self.P = {
            state: {
                action: [(1.0, end, 1.0 if end == GOAL else -0.1 / SIDE**2, end == GOAL)]
                for action in range(len(MOVES))
                for end in [target(state, action)]
            }
            for state in range(SIDE**2)
        }
        self.state = GOAL

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Go to the north-west; there is no chance that ``seed`` could decide."""
        super().reset(seed=seed)
        self.state = 0
        return np.int64(self.state), {}

    def step(self, action: int | np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Move; raises ResetNeeded at the goal."""
        if self.state == GOAL:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()")
        _, self.state, reward, terminated = self.P[self.state][int(action)][0]
        return np.int64(self.state), reward, terminated, False, {}

    def render(self) -> NDArray[np.uint8] | str | None:
        """Return the maze as a picture, uint8 (384, 384, 3), or as text, the agent as ``A``."""
        if self.render_mode == "ansi":
            row, column = divmod(self.state, SIDE)
            signs = [list(line) for line in MAP]
            signs[2 * row + 1][2 * column + 1] = "A"
            return "\n".join("".join(line) for line in signs)
        return _draw(self.state) if self.render_mode == "rgb_array" else None


def _draw(state: int) -> NDArray[np.uint8]:
    frame = blank(SIDE * CELL, SIDE * CELL)
    goal = cell(frame, *divmod(GOAL, SIDE), CELL)
    goal[:] = GREEN
    diamond(goal, 0.26, WHITE)
    cell(frame, 0, 0, CELL)[:] = (206, 222, 240)
    for row, line in enumerate(MAP):
        for column, sign in enumerate(line):
            if sign in "-|":
                # A wall lies on the line between two cells, and is as long as they are.
                top, left = (row - row % 2) * CELL / 2, (column - column % 2) * CELL / 2
                down, right = (CELL, 0) if sign == "|" else (0, CELL)
                box(frame, top - 5, left - 5, top + down + 5, left + right + 5, INK)
    agent = cell(frame, *divmod(state, SIDE), CELL)
    disc(agent, 0.28, WHITE)
    disc(agent, 0.24, BLUE)
    return frame


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:Maze", max_episode_steps=HORIZON)
