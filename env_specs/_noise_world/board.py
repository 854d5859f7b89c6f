"""The boards of NoiseWorld: their cells, and where every move leads with which probability."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Row and column steps of the actions up, down, left, right.
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))

_BOARDS = Path(__file__).with_name("boards.json")


class Label(IntEnum):
    """What the labels of the cells mean."""

    SURE = 0
    MAY_STAY = 1
    MAY_RESET = 2
    WALL = 3
    GOAL = 4
    BAD = 5
    FIRST_MILESTONE = 6
    SECOND_MILESTONE = 7


class Outcome(NamedTuple):
    """Where a move leads, and what it brings."""

    state: int
    reward: float
    terminated: bool
    success: bool
    bad: bool


class Move(NamedTuple):
    """An action in a state: ``usual`` with probability ``chance``, else ``other``."""

    chance: float
    usual: Outcome
    other: Outcome


@dataclass(frozen=True, eq=False)
class Board:
    """One grid. ``labels`` and ``chance`` (that a move succeeds) have shape (n, n).

    ``loss`` is what entering a bad cell costs.
    """

    n: int
    labels: NDArray[np.int64]
    chance: NDArray[np.float64]
    milestones: bool
    loss: float

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        return self.n**2

    @property
    def phases(self) -> int:
        """How far the milestones can be: 0 none, 1 the first, 2 both; 1 phase without them."""
        return 3 if self.milestones else 1

    @property
    def highest_label(self) -> int:
        """Largest label that such a board may have."""
        return Label.SECOND_MILESTONE if self.milestones else Label.BAD

    def state(self, phase: int, row: int, column: int) -> int:
        """Number of a state."""
        return (phase * self.n + row) * self.n + column


@lru_cache(maxsize=32)
def load_board(number: int) -> Board:
    """Return board 0 to 6.

    Raises:
        ValueError: there is no such board.
    """
    boards = json.loads(_BOARDS.read_text(encoding="utf-8"))
    if str(number) not in boards:
        raise ValueError(f"no NoiseWorld board {number}; boards are 0 to {len(boards) - 1}")
    data = boards[str(number)]
    labels = np.array(data["labels"])
    p = np.array([region["p"] for region in data["regions"]])[np.array(data["region"])]
    p_alt = np.array([region["p_alt"] for region in data["regions"]])[np.array(data["region"])]
    chance = np.ones(labels.shape)
    chance = np.where(labels == Label.MAY_STAY, p, chance)
    chance = np.where(labels == Label.MAY_RESET, p / (p + 1.0 - p_alt), chance)
    return Board(data["n"], labels, chance, data["milestones"], float(data["n"] ** 5))


@lru_cache(maxsize=32)
def moves_of(board: Board) -> list[tuple[Move, ...]]:
    """Return, for every state, the four moves (terminal states have the moves of their cell)."""
    table = []
    for phase in range(board.phases):
        for row in range(board.n):
            for column in range(board.n):
                table.append(tuple(_move(board, phase, row, column, step) for step in MOVES))
    return table


def _move(board: Board, phase: int, row: int, column: int, step: tuple[int, int]) -> Move:
    stay = Outcome(board.state(phase, row, column), -1.0, False, False, False)
    to_row, to_column = row + step[0], column + step[1]
    inside = 0 <= to_row < board.n and 0 <= to_column < board.n
    if not inside or board.labels[to_row, to_column] == Label.WALL:
        return Move(1.0, stay, stay)
    thrown_back = board.labels[row, column] == Label.MAY_RESET
    other = stay._replace(state=board.state(phase, 0, 0)) if thrown_back else stay
    chance = float(board.chance[row, column])
    return Move(chance, _enter(board, phase, to_row, to_column), other)


def _enter(board: Board, phase: int, row: int, column: int) -> Outcome:
    label = board.labels[row, column]
    if label == Label.FIRST_MILESTONE and phase == 0:
        phase = 1
    elif label == Label.SECOND_MILESTONE and phase == 1:
        phase = 2
    state = board.state(phase, row, column)
    if label == Label.BAD:
        return Outcome(state, -1.0 - board.loss, True, False, True)
    if label == Label.GOAL:
        paid = phase == board.phases - 1
        return Outcome(state, -1.0 + board.n**3 * paid, True, paid, False)
    return Outcome(state, -1.0, False, False, False)
