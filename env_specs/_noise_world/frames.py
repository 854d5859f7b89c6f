"""How NoiseWorld looks: one square a cell, coloured by its label, the agent a blue disc."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .._shared.drawing import (
    BLUE,
    GREEN,
    INK,
    PAPER,
    RED,
    WHITE,
    Colour,
    Frame,
    blank,
    border,
    cell,
    cross,
    diamond,
    disc,
)
from .board import Board, Label

#: Pixels of a cell: the smallest board, of 5 cells, is 320 pixels wide; even, as videos need it.
CELL = 64

_VIOLET: Colour = (122, 92, 168)

_COLOURS: dict[int, Colour] = {
    Label.SURE: PAPER,
    Label.MAY_STAY: (190, 214, 236),
    Label.MAY_RESET: (246, 208, 158),
    Label.WALL: INK,
    Label.GOAL: GREEN,
    Label.BAD: RED,
    Label.FIRST_MILESTONE: _VIOLET,
    Label.SECOND_MILESTONE: _VIOLET,
}


def draw(board: Board, state: int) -> Frame:
    """Return the frame of a state: uint8 of shape (64 n, 64 n, 3).

    Goal: a diamond. Bad cells: a cross. Start: a blue border. Milestones: one and two pips, white
    until they are visited, then faded.
    """
    phase, place = divmod(state, board.n**2)
    frame = _background(board, phase).copy()
    agent = cell(frame, *divmod(place, board.n), CELL)
    disc(agent, 0.34, WHITE)
    disc(agent, 0.29, BLUE)
    return frame


@lru_cache(maxsize=32)
def _background(board: Board, phase: int) -> Frame:
    frame = blank(board.n * CELL, board.n * CELL)
    for row in range(board.n):
        for column in range(board.n):
            view = cell(frame, row, column, CELL)
            label = int(board.labels[row, column])
            view[:] = _COLOURS[label]
            _sign(view, label, phase)
            border(view, 1, (226, 222, 213))
    border(cell(frame, 0, 0, CELL), 4, BLUE)
    return frame


def _sign(view: Frame, label: int, phase: int) -> None:
    if label == Label.GOAL:
        diamond(view, 0.26, WHITE)
    elif label == Label.BAD:
        cross(view, 0.26, 0.12, WHITE)
    elif label in (Label.FIRST_MILESTONE, Label.SECOND_MILESTONE):
        pips = label - Label.FIRST_MILESTONE + 1
        if phase >= pips:
            view[:] = np.rint(0.35 * view + 0.65 * np.array(PAPER))
        for number in range(pips):
            disc(view, 0.1, WHITE, at=(0.5, 0.5 + 0.3 * (number - (pips - 1) / 2)))


def text(board: Board, state: int) -> str:
    """Return the labels as lines of text, the agent as ``A``."""
    signs = np.array([[f"{label}" for label in row] for row in board.labels])
    signs[divmod(state % board.n**2, board.n)] = "A"
    return "\n".join(" ".join(row) for row in signs)
