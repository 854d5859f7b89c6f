"""Frames that are turned about the vertical by quarters and shifted, and what texts say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .chance import Chance
from .recipe import Group, Moved, View
from .wording import decimal

#: Order and signs of x, y, z after a quarter turn counterclockwise, two, and three.
_TURNS = (((1, 0, 2), (-1, 1, 1)), ((0, 1, 2), (-1, -1, 1)), ((1, 0, 2), (1, -1, 1)))

#: By how many decimetres x, y and z may be shifted, to either side.
_SHIFTS = (range(2, 10), range(2, 10), range(1, 6))


@dataclass(frozen=True)
class Frame(Group):
    """The x, y, z of a frame with z up; ``fields`` are positions in it, in metres.

    Attributes:
        rotations: fields that hold unit quaternions, and where their w is, 0 or 3. They turn with
            the frame by conjugation, so that what is upright stays (1, 0, 0, 0).
        coordinates: fields that hold positions along one axis, and which.
    """

    size: int = 3
    rotations: Mapping[str, int] = field(default_factory=dict)
    coordinates: Mapping[str, int] = field(default_factory=dict)

    def drawn(self, chance: Chance) -> Moved:
        """Turned by one to three quarters, shifted along each axis."""
        turn = chance.choice(_TURNS)
        shift = (chance.choice((-1, 1)) * chance.choice(steps) / 10 for steps in _SHIFTS)
        return Moved(*turn, tuple(shift))

    def moved(self, name: str, group: Moved) -> Moved | None:
        """The numbers of a position, a quaternion or positions along an axis."""
        order, signs, shifts = group
        if name in self.rotations:
            w = self.rotations[name]
            columns = [index + (w == 0) for index in order]
            turned = list(signs)
            columns.insert(w, w)
            turned.insert(w, 1)
            return Moved(tuple(columns), tuple(turned), (0.0,) * 4)
        if name in self.coordinates:
            at = order.index(self.coordinates[name])
            return Moved((0, 1), (signs[at],) * 2, (shifts[at],) * 2)
        return super().moved(name, group)


class Axes:
    """A frame as a view has it, for texts. Axes are given by their numbers in the original."""

    def __init__(self, view: View, group: str = "frame") -> None:
        self._order, self._signs, self._shifts = view.moved(group)

    def index(self, axis: int) -> int:
        """Which axis of the twin's lies along an axis."""
        return self._order.index(axis)

    def name(self, axis: int) -> str:
        """x, y or z."""
        return "xyz"[self.index(axis)]

    def sign(self, axis: int) -> int:
        """1 where the two point in the same direction, else -1."""
        return self._signs[self.index(axis)]

    def at(self, axis: int, value: float) -> float:
        """A coordinate along an axis, in the twin's frame."""
        return round(self.sign(axis) * value + self._shifts[self.index(axis)], 9) + 0.0

    def point(self, values: Sequence[float]) -> tuple[float, ...]:
        """A position."""
        return tuple(self.at(axis, values[axis]) for axis in self._order)

    def vector(self, values: Sequence[float]) -> tuple[float, ...]:
        """A displacement, which no shift changes."""
        return tuple(self.sign(axis) * values[axis] + 0.0 for axis in self._order)

    def towards(self, axis: int, sign: int) -> str:
        """A direction along an axis: -y, +x."""
        return f"{'+' if sign * self.sign(axis) > 0 else '-'}{self.name(axis)}"

    def region(self, ranges: Mapping[int, tuple[float, float]]) -> str:
        """Ranges by axis: x from -0.1 to 0.1, y from 0.6 to 0.7."""
        parts = []
        for axis in self._order:
            if axis in ranges:
                low, high = sorted(self.at(axis, value) for value in ranges[axis])
                parts.append(f"{self.name(axis)} from {decimal(low)} to {decimal(high)}")
        return ", ".join(parts)

    def axes(self, ways: Mapping[int, tuple[str, str]]) -> str:
        """What the axes are: by axis, where it points to and where its opposite does."""
        return ", ".join(
            f"{self.name(axis)} {ways[axis][0 if self.sign(axis) > 0 else 1]}"
            for axis in self._order
            if axis in ways
        )
