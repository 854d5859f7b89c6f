"""NoiseWorld: a family of stochastic grids that are hard to explore, as a Gymnasium environment.

An agent starts in cell (0, 0) of an n x n grid and wants to cell (n-1, n-1) within n^2 steps. The
label of the cell being left decides what a move does: it always succeeds (0), may leave the agent
where it is (1), or may throw it back to the start (2). Walls (3) cannot be entered, bad cells (5)
end the episode. On boards with milestones the goal (4) pays only after cell 6 and then cell 7 were
visited. The observation shows the labels, but not what they mean.

Reward: -1 a step, +n^3 on entering the goal (when it pays), -n^5 on entering a bad cell.

Importing this module makes ``gymnasium.make("promptpo/NoiseWorld-v0", board=1)`` work, and
``make_vec`` for many at once. Without an import of your own: "env_specs.noise_world:promptpo/...".
:func:`solve` gives the exact optimum of a board.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

ENV_ID = "promptpo/NoiseWorld-v0"

#: Row and column steps of the actions up, down, left, right.
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))

_BOARDS = Path(__file__).with_name("noise_world_boards.json")


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
    """One grid. ``labels`` and ``chance`` (that a move succeeds) have shape (n, n)."""

    n: int
    labels: NDArray[np.int64]
    chance: NDArray[np.float64]
    milestones: bool

    @property
    def horizon(self) -> int:
        """Steps of an episode."""
        return self.n**2

    @property
    def phases(self) -> int:
        """How far the milestones can be: 0 none, 1 the first, 2 both; 1 phase without them."""
        return 3 if self.milestones else 1

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
    return Board(data["n"], labels, chance, data["milestones"])


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
    to_row, to_column = row + step[0], column + step[1]
    inside = 0 <= to_row < board.n and 0 <= to_column < board.n
    if not inside or board.labels[to_row, to_column] == Label.WALL:
        to_row, to_column = row, column
    usual = _enter(board, phase, to_row, to_column)
    back = (0, 0) if board.labels[row, column] == Label.MAY_RESET else (row, column)
    other = Outcome(board.state(phase, *back), -1.0, False, False, False)
    return Move(float(board.chance[row, column]), usual, other)


def _enter(board: Board, phase: int, row: int, column: int) -> Outcome:
    label = board.labels[row, column]
    if label == Label.FIRST_MILESTONE and phase == 0:
        phase = 1
    elif label == Label.SECOND_MILESTONE and phase == 1:
        phase = 2
    state = board.state(phase, row, column)
    if label == Label.BAD:
        return Outcome(state, -1.0 - board.n**5, True, False, True)
    if label == Label.GOAL:
        paid = phase == board.phases - 1
        return Outcome(state, -1.0 + board.n**3 * paid, True, paid, False)
    return Outcome(state, -1.0, False, False, False)


@dataclass(frozen=True)
class Solution:
    """The exact optimum of a board from its start.

    ``policy`` has shape (horizon, states): the best action with ``horizon - t`` steps left.
    """

    value: float
    success_probability: float
    expected_steps: float
    policy: NDArray[np.int64]


@lru_cache(maxsize=32)
def solve(board: Board) -> Solution:
    """Solve a board by finite-horizon value iteration with its true probabilities."""
    table = moves_of(board)
    chance = np.array([[move.chance for move in moves] for moves in table])
    outcomes = np.array([[(*m.usual, *m.other) for m in moves] for moves in table])
    usual, other = outcomes[..., :5], outcomes[..., 5:]
    states = np.arange(len(table))
    policy = np.zeros((board.horizon, len(table)), dtype=np.int64)
    # One column for each of: value, probability of success, expected number of steps.
    ahead = np.zeros((len(table), 3))
    for time in reversed(range(board.horizon)):
        total = np.zeros((*chance.shape, 3))
        for weight, outcome in ((chance, usual), (1.0 - chance, other)):
            target, reward, terminated, success = (outcome[..., i] for i in range(4))
            now = np.stack([reward, success, np.ones_like(reward)], axis=-1)
            later = ahead[target.astype(np.int64)] * (1.0 - terminated)[..., None]
            total += weight[..., None] * (now + later)
        policy[time] = total[..., 0].argmax(axis=1)
        ahead = total[states, policy[time]]
    value, success_probability, steps = (float(number) for number in ahead[0])
    return Solution(value, success_probability, steps, policy)


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
        high[4 : 4 + self.board.horizon] = max(Label)
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
        from . import _noise_world_frames as frames

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
        vector_entry_point=f"{__package__}._noise_world_vector:NoiseWorldVector",
    )
