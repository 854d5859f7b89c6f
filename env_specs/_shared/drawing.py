"""Draws frames of our own environments with numpy alone; edges are smoothed.

A frame is uint8 of shape (height, width, 3). Shapes are drawn into a view of it, such as one cell
of a grid; their sizes are shares of the view's height, so that they are crisp at any size.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Frame: TypeAlias = NDArray[np.uint8]
Distance: TypeAlias = NDArray[np.floating[Any]]
Colour: TypeAlias = tuple[int, int, int]

INK: Colour = (44, 48, 56)
PAPER: Colour = (250, 248, 243)
WHITE: Colour = (255, 255, 255)
BLUE: Colour = (30, 80, 150)
ORANGE: Colour = (224, 122, 47)
GREEN: Colour = (72, 158, 96)
RED: Colour = (200, 66, 58)


def blank(height: int, width: int, colour: Colour = PAPER) -> Frame:
    """A frame of one colour."""
    return np.full((height, width, 3), colour, dtype=np.uint8)


def cell(frame: Frame, row: int, column: int, size: int) -> Frame:
    """The view of one cell of a grid of square cells, ``size`` pixels wide."""
    return frame[row * size : (row + 1) * size, column * size : (column + 1) * size]


def box(frame: Frame, top: float, left: float, bottom: float, right: float, colour: Colour) -> None:
    """Fill a rectangle, given in pixels; what lies outside the frame is cut off."""
    rows = slice(max(round(top), 0), max(round(bottom), 0))
    columns = slice(max(round(left), 0), max(round(right), 0))
    frame[rows, columns] = colour


def border(view: Frame, width: int, colour: Colour) -> None:
    """Draw a frame of ``width`` pixels along the inside of a view's edges."""
    for side in (view[:width], view[-width:], view[:, :width], view[:, -width:]):
        side[:] = colour


def disc(view: Frame, radius: float, colour: Colour, at: tuple[float, float] = (0.5, 0.5)) -> None:
    """Fill a disc; ``at`` is its (row, column), ``radius`` and both as shares of the height."""
    rows, columns = _offsets(view, at)
    _paint(view, np.hypot(rows, columns) - radius * len(view), colour)


def diamond(view: Frame, radius: float, colour: Colour) -> None:
    """Fill a square that stands on a corner, in the middle."""
    rows, columns = _offsets(view, (0.5, 0.5))
    _paint(view, (np.abs(rows) + np.abs(columns) - radius * len(view)) / np.sqrt(2), colour)


def cross(view: Frame, radius: float, width: float, colour: Colour) -> None:
    """Draw two crossing diagonals, in the middle."""
    rows, columns = _offsets(view, (0.5, 0.5))
    along, across = np.abs(rows + columns) / np.sqrt(2), np.abs(rows - columns) / np.sqrt(2)
    arm = np.maximum(along, across) - radius * len(view)
    _paint(view, np.maximum(np.minimum(along, across) - width * len(view) / 2, arm), colour)


def _offsets(view: Frame, at: tuple[float, float]) -> tuple[Distance, Distance]:
    """Distances in pixels of all pixels' middles from a point, along rows and columns."""
    size = len(view)
    rows = np.arange(0.5, size)[:, None] - at[0] * size
    columns = np.arange(0.5, view.shape[1])[None, :] - at[1] * size
    return rows, columns


def _paint(view: Frame, distance: Distance, colour: Colour) -> None:
    """Blend a colour in where the signed distance to the shape's edge is below half a pixel."""
    share = np.clip(0.5 - distance, 0.0, 1.0)[..., None]
    view[:] = np.rint(view * (1.0 - share) + np.array(colour) * share)
