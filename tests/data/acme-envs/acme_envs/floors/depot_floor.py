"""Depot: walk to the end of a long line of cells."""

from dataclasses import replace

from ..aisle import SPEC as AISLE
from ..floor import Floor


def make():
    return Floor(9)


SPEC = replace(AISLE, make=make, reward_tolerance=None, horizon=40)
