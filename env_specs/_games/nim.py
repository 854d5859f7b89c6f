"""Nim against an opponent that plays well, as a Gymnasium environment.

Ten sticks lie on the table. The agent, who begins, and the opponent take 1, 2 or 3 in turn; who
takes the last stick loses. Reward: 1 for a won game, -1 for a lost one, 0 before.

The opponent leaves 1 mod 4 sticks wherever it can, which wins; where it cannot, it takes any legal
number, each as likely as the others. The sizes are those of the R2PO suite. Choices of ours: a move
that asks for more sticks than there are takes all of them, and so loses; the actions are the
numbers 1, 2, 3 themselves.

Importing this module makes ``gymnasium.make("promptpo/Nim-v0")`` work, and without an import
``gymnasium.make("env_specs._games.nim:promptpo/Nim-v0")``. :func:`solve` gives the exact optimum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from .._shared.drawing import BLUE, INK, ORANGE, Colour, blank, box

ENV_ID = "promptpo/Nim-v0"

STICKS = 10
MOST = 3


def opponents_moves(sticks: int) -> tuple[int, ...]:
    """Numbers that the opponent may take, equally likely, with so many sticks before it."""
    winning = (sticks - 1) % (MOST + 1)
    return (winning,) if winning else tuple(range(1, min(MOST, sticks) + 1))


@lru_cache(maxsize=1)
def solve() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Value of the game, and the best number to take, by sticks left at the agent's move.

    Both have shape (11,); with 0 sticks the game is over.
    """
    value, best = np.zeros(STICKS + 1), np.ones(STICKS + 1, dtype=np.int64)
    for sticks in range(1, STICKS + 1):
        values = [_value_of(sticks - taken, value) for taken in range(1, MOST + 1)]
        best[sticks] = 1 + int(np.argmax(values))
        value[sticks] = max(values)
    return value, best


def _value_of(left: int, value: NDArray[np.float64]) -> float:
    """Value for the agent of leaving so many sticks to the opponent."""
    if left <= 0:
        return -1.0
    moves = opponents_moves(left)
    return float(np.mean([1.0 if taken == left else value[left - taken] for taken in moves]))


class Nim(gymnasium.Env[np.int64, np.int64]):
    """Observation: the sticks left, 0 to 10. Action: 1, 2 or 3 sticks to take.

    Attributes:
        sticks: sticks left.
        takers: who took each stick that is gone, in order: ``a`` the agent, ``o`` the opponent.
    """

    metadata = {  # noqa: RUF012 - Gymnasium's API
        "render_modes": ["rgb_array", "ansi"],
        "render_fps": 1,
    }

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(STICKS + 1)
        self.action_space = spaces.Discrete(MOST, start=1)
        self.sticks = 0
        self.takers = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        """Lay ten sticks; ``seed`` decides what the opponent takes where it cannot win."""
        super().reset(seed=seed)
        self.sticks, self.takers = STICKS, ""
        return np.int64(self.sticks), {}

    def step(self, action: int | np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        """Take sticks, and let the opponent take; raises ResetNeeded when the game is over."""
        if not self.sticks:
            raise gymnasium.error.ResetNeeded("the game is over; call reset()")
        self._take(int(action), "a")
        if not self.sticks:
            return np.int64(0), -1.0, True, False, {}
        moves = opponents_moves(self.sticks)
        self._take(moves[self.np_random.integers(len(moves))], "o")
        won = not self.sticks
        return np.int64(self.sticks), 1.0 if won else 0.0, won, False, {}

    def _take(self, number: int, taker: str) -> None:
        number = min(number, self.sticks)
        self.sticks -= number
        self.takers += taker * number

    def render(self) -> NDArray[np.uint8] | str | None:
        """Return the sticks as a picture, uint8 (320, 640, 3), or as text such as ``||||||| oaa``.

        Sticks that the agent took are blue (``a``), those that the opponent took orange (``o``).
        """
        signs = "|" * self.sticks + self.takers[::-1]
        if self.render_mode == "ansi":
            return f"{signs[: self.sticks]} {signs[self.sticks :]}".strip()
        if self.render_mode != "rgb_array":
            return None
        frame = blank(320, 64 * STICKS)
        looks: dict[str, tuple[Colour, int]] = {
            "|": (INK, 60),
            "a": (BLUE, 130),
            "o": (ORANGE, 130),
        }
        for index, sign in enumerate(signs):
            colour, top = looks[sign]
            box(frame, top, 64 * index + 24, 260, 64 * index + 40, colour)
        return frame


if ENV_ID not in gymnasium.registry:
    gymnasium.register(ENV_ID, entry_point=f"{__name__}:Nim")
