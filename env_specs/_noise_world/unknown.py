"""NoiseWorld with labels of unknown meaning: a new board for every episode, one code for a life.

Eight labels stand for cells of four kinds. Which label means which kind is drawn by ``new_life``,
and stays until it is called again; a reset draws where the labels lie. Labels are drawn alike for
all cells, so that how often one occurs, or where, tells little of what it means; but every board
has a way to the goal.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .board import MOVES, Board, Label, moves_of

#: Rows and columns.
SIDE = 6

#: The kinds that labels 1, 2, ... stand for, in an order that is drawn for a life.
KINDS = (
    *(Label.SURE, Label.SURE, Label.MAY_STAY, Label.MAY_STAY, Label.MAY_RESET),
    *(Label.BAD, Label.BAD, Label.BAD),
)

#: The label of start and goal, from which moves always succeed.
OPEN = 0

#: That a move succeeds from a cell that may keep the agent, and from one that may throw it back.
_CHANCE = {Label.MAY_STAY: 0.6, Label.MAY_RESET: 0.9}

_MOST_LABEL = len(KINDS)


class UnknownLabels(gymnasium.Env[NDArray[np.float64], np.int64]):
    """Boards as a Gymnasium environment.

    Observation, float64: row and column of the agent, then the labels row by row. Actions: 0 up,
    1 down, 2 left, 3 right. ``info`` has ``success`` and ``entered_bad_cell``.

    Attributes:
        board: the board of this episode, with what its cells are.
        labels: what policies see of it, shape (SIDE, SIDE).
        state: number of the agent's cell (see ``Board.state``).
        steps: steps taken in this episode.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 4,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        low = np.zeros(2 + SIDE**2)
        high = np.full_like(low, _MOST_LABEL)
        high[:2] = SIDE - 1
        self.observation_space = spaces.Box(low, high, dtype=np.float64)
        self.action_space = spaces.Discrete(len(MOVES))
        self.state = self.steps = 0
        self._draws: list[float] = []
        self.new_life(0)

    def new_life(self, seed: int) -> None:
        """Draw what the labels mean."""
        order = np.random.default_rng(seed).permutation(len(KINDS))
        self._meaning = np.array([Label.SURE, *(KINDS[i] for i in order)])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Draw a board, and all noise of the episode; the agent is on the start."""
        super().reset(seed=seed)
        self.labels = _solvable(self.np_random, self._meaning)
        self.board = board_of(self._meaning[self.labels])
        self._table = moves_of.__wrapped__(self.board)  # boards do not come again
        self._draws = self.np_random.random(self.board.horizon).tolist()
        self.state = self.steps = 0
        return self._seen(), {}

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
        return self._seen(), reward, terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | str | None:
        """Return the grid as a picture that shows what the cells are, or as text."""
        from . import frames

        if self.render_mode == "rgb_array":
            return frames.draw(self.board, self.state)
        return frames.text(self.board, self.state) if self.render_mode == "ansi" else None

    def _seen(self) -> NDArray[np.float64]:
        return np.array([*divmod(self.state, SIDE), *self.labels.flat], dtype=np.float64)


def board_of(kinds: NDArray[np.int64]) -> Board:
    """The board of cells of these kinds; a bad cell costs no more than the goal brings."""
    chance = np.ones(kinds.shape)
    for kind, success in _CHANCE.items():
        chance[kinds == kind] = success
    kinds = kinds.copy()
    kinds[-1, -1] = Label.GOAL
    return Board(SIDE, kinds, chance, milestones=False, loss=float(SIDE**3))


def _solvable(rng: np.random.Generator, meaning: NDArray[np.int64]) -> NDArray[np.int64]:
    """Labels drawn until there is a way to the goal."""
    while True:
        labels = rng.integers(1, _MOST_LABEL + 1, size=(SIDE, SIDE))
        labels[0, 0] = labels[-1, -1] = OPEN
        if _has_way(meaning[labels] != Label.BAD):
            return labels


def _has_way(free: NDArray[np.bool_]) -> bool:
    """Whether free cells join the start to the goal."""
    reached, waiting = {(0, 0)}, deque([(0, 0)])
    while waiting:
        row, column = waiting.popleft()
        for down, right in MOVES:
            to = (row + down, column + right)
            if min(to) >= 0 and max(to) < len(free) and free[to] and to not in reached:
                reached.add(to)
                waiting.append(to)
    return (len(free) - 1, len(free) - 1) in reached
