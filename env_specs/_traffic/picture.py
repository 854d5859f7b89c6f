"""Pictures of the highway merge, from above: roads in grey, people coloured by how fast they drive.

A controlled vehicle has a white frame. The traffic drives to the right, the ramp comes from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Metres of the picture's edges (the merge is at 0, 0), and pixels a metre.
LEFT, RIGHT, BOTTOM, TOP = -204.0, 80.0, -112.0, 12.0
SCALE = 4.0

#: Where lanes run: SUMO lays them to the right of the line between their ends.
_ROADS = (((-200.0, -1.6), (75.0, -1.6)), ((-104.93, -107.2), (0.6, -1.6)))
_GROUND, _ROAD, _FRAME = (34, 40, 49), (88, 94, 104), (255, 255, 255)
_SLOW, _FAST = np.array([230.0, 80.0, 60.0]), np.array([80.0, 200.0, 120.0])
#: Metres: half a lane; half the length and the width of a vehicle; the frame around it.
_LANE, _LENGTH, _WIDTH, _RIM = 1.8, 2.5, 0.95, 0.55

Picture = NDArray[np.uint8]


class Vehicle(NamedTuple):
    """Its front bumper (m), direction (degrees, 0 up, clockwise), speed (m/s), controlled or not.

    All are floats, for they come as rows of numbers.
    """

    x: float
    y: float
    angle: float
    speed: float
    controlled: float


def draw(vehicles: Sequence[Vehicle], target_speed: float) -> Picture:
    """The picture, shape (height, width, 3); green is ``target_speed`` and more, red standing."""
    picture = _roads().copy()
    for vehicle in vehicles:
        share = min(vehicle.speed / target_speed, 1.0)
        if vehicle.controlled:
            _paint(picture, vehicle, _RIM, np.array(_FRAME))
        _paint(picture, vehicle, 0.0, _SLOW + share * (_FAST - _SLOW))
    return picture


def _paint(picture: Picture, v: Vehicle, rim: float, colour: NDArray[np.generic]) -> None:
    """Fill the vehicle's outline, ``rim`` metres wider on each side."""
    ahead = np.array([np.sin(np.radians(v.angle)), np.cos(np.radians(v.angle))])
    centre = np.array([v.x, v.y]) - _LENGTH * ahead
    row, column = _pixel(*centre)
    reach = int((_LENGTH + rim + 1.0) * SCALE)
    rows = slice(max(row - reach, 0), row + reach)
    columns = slice(max(column - reach, 0), column + reach)
    x, y = (grid[rows, columns] - at for grid, at in zip(_grid(), centre, strict=True))
    along, across = x * ahead[0] + y * ahead[1], x * ahead[1] - y * ahead[0]
    inside = (np.abs(along) <= _LENGTH + rim) & (np.abs(across) <= _WIDTH + rim)
    picture[rows, columns][inside] = colour.astype(np.uint8)


def _pixel(x: float, y: float) -> tuple[int, int]:
    return round((TOP - y) * SCALE), round((x - LEFT) * SCALE)


@lru_cache(maxsize=1)
def _grid() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The x and the y of every pixel, in metres."""
    x = LEFT + (np.arange(int((RIGHT - LEFT) * SCALE)) + 0.5) / SCALE
    y = TOP - (np.arange(int((TOP - BOTTOM) * SCALE)) + 0.5) / SCALE
    across, up = np.meshgrid(x, y)
    return across, up


@lru_cache(maxsize=1)
def _roads() -> Picture:
    x, y = _grid()
    picture = np.full((*x.shape, 3), _GROUND, dtype=np.uint8)
    for start, end in _ROADS:
        way = np.subtract(end, start)
        share = ((x - start[0]) * way[0] + (y - start[1]) * way[1]) / (way @ way)
        share = np.clip(share, 0.0, 1.0)
        distance = np.hypot(x - start[0] - share * way[0], y - start[1] - share * way[1])
        picture[distance <= _LANE] = _ROAD
    return picture
