"""A task's spaces for the synthesizer: numbers of an observation to read, and actions to return."""

from __future__ import annotations

import math
import random
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from promptpo.policies.parametric import Actions, bounds

if TYPE_CHECKING:
    from promptpo.spec import LayoutField

#: A bound beyond this says nothing of where a number usually lies.
FAR = 1e6

#: The usual size of a number of this unit, where it has no bounds.
TYPICAL = {"rad": 0.5, "rad/s": 3.0, "m": 1.0, "m/s": 2.0, "deg": 30.0}

#: Characters of a line in a source.
_LINE = 70


@dataclass(frozen=True)
class Number:
    """An observed number: its expression, and the middle and half the width of its usual range."""

    text: str
    middle: float
    scale: float


@dataclass(frozen=True)
class Spaces:
    """A task's observation, as its fields in order, and its actions."""

    fields: tuple[LayoutField, ...]
    actions: Actions

    @property
    def actuators(self) -> int:
        """The number of numbers in an action."""
        return len(self.actions.counts) or max(1, math.prod(self.actions.shape))

    @property
    def continuous(self) -> bool:
        """True where actions are real numbers."""
        return not self.actions.counts

    def read(self, most: int, turn: int = 0) -> list[Number]:
        """Return at most so many numbers of an observation, of the smallest fields first.

        ``turn`` begins with a later field where not all of them fit.
        """
        parts = [numbers(field) for field in self.fields]
        order = sorted(parts, key=len)
        if turn and sum(map(len, parts)) > most:
            at = turn % len(order)
            order = order[at:] + order[:at]
        chosen: list[Number] = []
        for part in order:
            if len(chosen) + len(part) <= most:
                chosen += part
        return chosen or order[0][:most]

    def action(self) -> tuple[str, str, int]:
        """Return constants, the action as an expression of ``scores``, and the number of these.

        Continuous actuators have a score each, of which -1 to 1 covers the range; of discrete ones
        every choice has one, or both together where there are two.
        """
        actions = self.actions
        if self.continuous:
            middle, half = [], []
            for low, high in zip(actions.low, actions.high, strict=True):
                bounded = abs(low) < FAR, abs(high) < FAR
                half.append((high - low) / 2 if all(bounded) else 1.0)
                inside = {(True, True): (low + high) / 2, (True, False): low + 1.0}
                middle.append({**inside, (False, True): high - 1.0}.get(bounded, 0.0))
            text = "MIDDLE + HALF * np.clip(scores, -1.0, 1.0)"
            return (
                "# Actions are MIDDLE, and at most HALF to either side.\n"
                f"MIDDLE = np.array({listed(middle)})\nHALF = np.array({listed(half)})\n",
                f"({text}){self.shaped}" if self.shaped else text,
                len(half),
            )
        choices, at = [], 0
        for count, start in zip(actions.counts, actions.starts, strict=True):
            shift = f" {'+' if start > 0 else '-'} {abs(start)}" if start else ""
            if count > 2:
                choices.append(f"int(np.argmax(scores[{at}:{at + count}])){shift}")
            else:
                choices.append(f"int(scores[{at}] > 0){shift}" if count == 2 else str(start))
            at += {1: 0, 2: 1}.get(count, count)
        text = f"np.array([{', '.join(choices)}]){self.shaped}" if actions.shape else choices[0]
        return "", text, max(1, at)

    @property
    def shaped(self) -> str:
        """The call that gives a row of numbers the shape of an action; empty for a row."""
        shape = ", ".join(map(str, self.actions.shape))
        return f".reshape({shape})" if len(self.actions.shape) > 1 else ""


def numbers(field: LayoutField) -> list[Number]:
    """Return the numbers of a field."""
    places = product(*(range(n) for n in field.shape))
    texts = [f"obs.{field.name}[{', '.join(map(str, place))}]" for place in places]
    parts = []
    for text, low, high in zip(
        texts if field.shape else [f"obs.{field.name}"], *bounds(field), strict=True
    ):
        bounded = abs(low) < FAR and abs(high) < FAR and high > low
        middle = (low + high) / 2 if bounded else 0.0
        scale = (high - low) / 2 if bounded else TYPICAL.get(field.field.unit, 1.0)
        parts.append(Number(text, float(f"{middle:.6g}"), float(f"{scale:.6g}")))
    return parts


def drawn(count: int, spread: float, *of: object) -> list[float]:
    """Draw numbers normally, with two digits after the point, within three deviations.

    The same arguments give the same numbers.
    """
    source = random.Random(" ".join(map(str, of)))  # noqa: S311 - nothing is secret
    most = 3 * spread
    return [round(min(max(source.gauss(0.0, spread), -most), most), 2) for _ in range(count)]


def listed(values: Sequence[object]) -> str:
    """Return values as a list in a source; a long one on lines of its own."""
    line = ", ".join(map(str, values))
    if len(line) < _LINE:
        return f"[{line}]"
    rows = textwrap.wrap(line, _LINE, break_long_words=False, break_on_hyphens=False)
    return "[\n" + "".join(f"    {row}\n" for row in rows) + "]"
