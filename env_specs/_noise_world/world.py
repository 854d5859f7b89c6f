"""NoiseWorld: a family of stochastic grids that are hard to explore, as a Gymnasium environment.

An agent starts in cell (0, 0) of an n x n grid and wants to cell (n-1, n-1) within n^2 steps. The
label of the cell being left decides what a move does: it always succeeds (0), may leave the agent
where it is (1), or may throw it back to the start (2). A move into a wall (3) or over the edge
leaves the agent where it is, always, whatever the label of the cell it is on. Bad cells (5) end the
episode. On boards with milestones the goal (4) pays only after cell 6 and then cell 7 were visited.
The observation shows the labels, but not what they mean.

Reward: -1 a step, +n^3 on entering the goal (when it pays), -n^5 on entering a bad cell.

Importing this module makes ``gymnasium.make("promptpo/NoiseWorld-v0", board=1)`` work, and
``make_vec`` for many at once; without an import, the id is
``"env_specs._noise_world.world:promptpo/NoiseWorld-v0"``.
:func:`solve` gives the exact optimum of a board, :func:`random_play` and :func:`planned_play` what
random actions and a plan get.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .board import MOVES, Board, Label, Move, Outcome, load_board, moves_of
from .exact import Play, Solution, planned_play, random_play, solve

__all__ = [
    "ENV_ID",
    "MOVES",
    "Board",
    "Label",
    "Move",
    "NoiseWorld",
    "Outcome",
    "Play",
    "Solution",
    "load_board",
    "moves_of",
    "observations_of",
    "planned_play",
    "random_play",
    "solve",
]

ENV_ID = "promptpo/NoiseWorld-v0"


class NoiseWorld(gymnasium.Env[NDArray[np.float64], np.int64]):
    """One board as a Gymnasium environment.

    Observation, float64: agent row, agent column, goal row, goal column, each / (n - 1); the n*n
    labels row by row; with milestones two flags (first, both visited).
    Actions: 0 up, 1 down, 2 left, 3 right. ``info`` has ``success`` and ``entered_bad_cell``.

    Attributes:
        state: number of the state (see ``Board.state``).
        steps: steps taken in this episode.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 4,
    }

    def __init__(self, board: int = 0, render_mode: str | None = None) -> None:
        self.board = load_board(board)
        self.render_mode = render_mode
        self.state = 0
        self.steps = 0
        self._table = moves_of(self.board)
        self._seen = observations_of(self.board)
        self._draws: list[float] = []
        high = np.ones(len(self._seen[0]))
        high[4 : 4 + self.board.horizon] = self.board.highest_label
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.float64)
        self.action_space = spaces.Discrete(len(MOVES))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Put the agent on the start; ``seed`` decides all noise of the episode."""
        super().reset(seed=seed)
        self.state = self.steps = 0
        self._draws = self.np_random.random(self.board.horizon).tolist()
        return self._seen[0].copy(), {}

    def step(
        self, action: int | np.int64
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Move; raises ResetNeeded when the episode is over."""
        try:
            draw = self._draws[self.steps]
        except IndexError:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset()") from None
        chance, usual, other = self._table[self.state][action]
        self.state, reward, terminated, success, bad = usual if draw < chance else other
        self.steps += 1
        truncated = not terminated and self.steps == self.board.horizon
        if terminated:
            self._draws = []
        info = {"success": success, "entered_bad_cell": bad}
        return self._seen[self.state].copy(), reward, terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | str | None:
        """Return the grid as a picture, uint8 (64 n, 64 n, 3), or as text; see their functions."""
        from . import frames

        if self.render_mode == "rgb_array":
            return frames.draw(self.board, self.state)
        return frames.text(self.board, self.state) if self.render_mode == "ansi" else None


@lru_cache(maxsize=32)
def observations_of(board: Board) -> list[NDArray[np.float64]]:
    """Return the observation of every state; shared by all instances, hence read-only."""
    seen = []
    for phase in range(board.phases):
        flags = [float(phase >= 1), float(phase >= 2)] if board.milestones else []
        for row in range(board.n):
            for column in range(board.n):
                where = np.array([row, column, board.n - 1, board.n - 1]) / (board.n - 1)
                vector = np.concatenate((where, board.labels.reshape(-1), flags))
                vector.flags.writeable = False
                seen.append(vector)
    return seen


if ENV_ID not in gymnasium.registry:
    gymnasium.register(
        ENV_ID,
        entry_point=f"{__name__}:NoiseWorld",
        vector_entry_point=f"{__package__}.vector:NoiseWorldVector",
    )
