"""What the best and the random way of playing a NoiseWorld board get, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .board import Board, moves_of


@dataclass(frozen=True)
class Play:
    """What a way of playing gets on a board from its start, exactly.

    ``deviation`` is the standard deviation of an episode's return.
    """

    value: float
    deviation: float
    success_probability: float
    expected_steps: float


@dataclass(frozen=True)
class Solution(Play):
    """The exact optimum of a board from its start.

    ``policy`` has shape (horizon, states): the best action with ``horizon - t`` steps left.
    """

    policy: NDArray[np.int64]


@lru_cache(maxsize=32)
def solve(board: Board) -> Solution:
    """Solve a board by finite-horizon value iteration with its true probabilities."""
    policy = np.zeros((board.horizon, board.phases * board.n**2), dtype=np.int64)

    def best(time: int, ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        policy[time] = ahead[..., 0].argmax(axis=1)
        return np.take_along_axis(ahead, policy[time][:, None, None], axis=1)[:, 0]

    return Solution(*_played(board, best), policy)


@lru_cache(maxsize=32)
def random_play(board: Board) -> Play:
    """Return what uniformly random actions get, exactly."""
    return Play(*_played(board, lambda time, ahead: np.asarray(ahead.mean(axis=1))))


def planned_play(board: Board, plan: NDArray[np.int64]) -> Play:
    """Return what a plan gets, exactly; ``plan`` has a move for each (step, state)."""

    def choose(time: int, ahead: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.take_along_axis(ahead, plan[time][:, None, None], axis=1)[:, 0]

    return Play(*_played(board, choose))


def _played(
    board: Board, choose: Callable[[int, NDArray[np.float64]], NDArray[np.float64]]
) -> tuple[float, float, float, float]:
    """Return the numbers of :class:`Play`, from the last step of an episode back to its first.

    ``choose(time, ahead)`` makes (states, 4) of what each action brings, (states, actions, 4).
    """
    table = moves_of(board)
    chance = np.array([[move.chance for move in moves] for moves in table])
    outcomes = np.array([[(*m.usual, *m.other) for m in moves] for moves in table])
    # One column for each of: return, its square, success, number of steps.
    ahead = np.zeros((len(table), 4))
    for time in reversed(range(board.horizon)):
        total = np.zeros((*chance.shape, 4))
        for weight, outcome in ((chance, outcomes[..., :5]), (1.0 - chance, outcomes[..., 5:])):
            target, reward, terminated, success = (outcome[..., i] for i in range(4))
            later = ahead[target.astype(np.int64)] * (1.0 - terminated)[..., None]
            squared = reward**2 + 2.0 * reward * later[..., 0]
            now = np.stack([reward, squared, success, np.ones_like(reward)], axis=-1)
            total += weight[..., None] * (now + later)
        ahead = choose(time, total)
    value, square, success_probability, steps = (float(number) for number in ahead[0])
    return value, math.sqrt(max(0.0, square - value**2)), success_probability, steps
