"""A task as the synthesizer sees it: the numbers of an observation, and an action space."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from promptpo.policies.parametric import Actions, bounds

if TYPE_CHECKING:
    from promptpo.spec import LayoutField

#: Of a longer array that belongs to no actuators only its ends and its mean are read.
LONG = 12

#: A bound beyond this says nothing of where a number usually lies.
FAR = 1e6

#: How large a number of this unit usually is, where no bound says it.
TYPICAL = {"rad": 0.5, "rad/s": 3.0, "m": 1.0, "m/s": 2.0, "deg": 30.0}


@dataclass(frozen=True)
class Number:
    """One number that a policy reads: the expression, its field, and where it usually lies.

    Minus ``middle`` and divided by ``scale`` it is about from -1 to 1.
    """

    text: str
    field: str
    unit: str
    middle: float
    scale: float


@dataclass(frozen=True)
class Spaces:
    """What is known of a task: its observation's fields, in their order, and its actions."""

    fields: tuple[LayoutField, ...]
    actions: Actions

    @property
    def actuators(self) -> int:
        """How many numbers an action has."""
        return len(self.actions.counts) or max(1, math.prod(self.actions.shape))

    @property
    def continuous(self) -> bool:
        """Whether actions are real numbers."""
        return not self.actions.counts

    def read(self, most: int, turn: int = 0) -> list[Number]:
        """At most so many numbers of an observation, of the smallest fields first.

        ``turn`` begins with a later field where not all of them fit.
        """
        whole = [numbers(f, self._is_long(f)) for f in self.fields]
        order = sorted(whole, key=len)
        if turn and sum(map(len, whole)) > most:
            at = turn % len(order)
            order = order[at:] + order[:at]
        found: list[Number] = []
        for part in order:
            if len(found) + len(part) <= most:
                found += part
        return found or order[0][:most]

    def _is_long(self, field: LayoutField) -> bool:
        size = field.stop - field.start
        return size > LONG and size != self.actuators


def numbers(field: LayoutField, summed_up: bool = False) -> list[Number]:
    """The numbers of a field, or its first, its last and their mean."""
    found = []
    texts = elements(field)
    for text, low, high in zip(texts, *bounds(field), strict=True):
        known = abs(low) < FAR and abs(high) < FAR and high > low
        middle = (low + high) / 2 if known else 0.0
        scale = (high - low) / 2 if known else TYPICAL.get(field.field.unit, 1.0)
        found.append(Number(text, field.name, field.field.unit, _short(middle), _short(scale)))
    if not summed_up:
        return found
    first = found[0]
    mean = Number(f"np.mean(obs.{field.name})", first.field, first.unit, first.middle, first.scale)
    return [first, found[-1], mean]


def elements(field: LayoutField) -> list[str]:
    """The expression for each number of a field."""
    if not field.shape:
        return [f"obs.{field.name}"]
    places = product(*(range(n) for n in field.shape))
    return [f"obs.{field.name}[{', '.join(map(str, place))}]" for place in places]


def generator(*of: object) -> random.Random:
    """Draws that are the same wherever the same thing is written."""
    return random.Random(" ".join(map(str, of)))  # noqa: S311 - nothing is secret


def drawn(count: int, spread: float, *of: object) -> list[float]:
    """Numbers drawn normally, with two digits after the point, within three deviations."""
    source = generator(*of)
    most = 3 * spread
    return [round(min(max(source.gauss(0.0, spread), -most), most), 2) for _ in range(count)]


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def listed(values: Sequence[object]) -> str:
    """Values as a list in a source; one that is long on lines of their own."""
    line = ", ".join(map(str, values))
    if len(line) < _LINE:
        return f"[{line}]"
    return "[\n" + "".join(f"    {row},\n" for row in _rows(values)) + "]"


_LINE = 70


def _rows(values: Sequence[object]) -> Iterator[str]:
    row = ""
    for text in map(str, values):
        if row and len(row) + len(text) > _LINE:
            yield row
            row = ""
        row += f"{', ' if row else ''}{text}"
    if row:
        yield row
