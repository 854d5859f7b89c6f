"""Draws that depend on nothing but a name and a seed, on every machine alike."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: By how much a number of a world may differ, and by how much it has to.
LEAST, MOST = 0.6, 1.6
NOTICEABLE = 1.1


class Chance:
    """A generator of its own for each part of a twin, so that one part's draws move no other's."""

    def __init__(self, *names: object) -> None:
        # Seeding by a text and random() itself are the same in all versions of Python.
        self._random = random.Random("/".join(map(str, names)))  # noqa: S311 - no secret

    def factor(self, low: float = LEAST, high: float = MOST) -> float:
        """A factor between the bounds, even on a logarithmic scale, of two digits; never near 1."""
        span = math.log(high / low)
        for _ in range(1000):
            drawn = low * math.exp(span * self._random.random())
            if max(drawn, 1.0 / drawn) >= NOTICEABLE:
                return round(drawn, 2)
        raise ValueError(f"no factor between {low} and {high} can be told from 1")

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random.random() * len(options))]

    def shuffled(self, items: Sequence[T]) -> tuple[T, ...]:
        """The items in another order, if there is one."""
        if len(set(items)) < 2:
            return tuple(items)
        while True:
            left = list(items)
            drawn = [left.pop(int(self._random.random() * len(left))) for _ in items]
            if drawn != list(items):
                return tuple(drawn)

    def signs(self, count: int) -> tuple[int, ...]:
        """A sign for each of so many numbers; at least one is turned."""
        while True:
            drawn = tuple(-1 if self._random.random() < 0.5 else 1 for _ in range(count))
            if min(drawn, default=-1) < 0:
                return drawn
