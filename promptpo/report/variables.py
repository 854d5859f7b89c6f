"""The numbers and texts of episodes over time, named and ready to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from promptpo.common import text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.types import Trajectory

#: Lines of one observation field that are drawn; a field may be a whole image.
FIELD_LINES = 12

#: Texts of a variable that have a level of their own in its plot.
MOST_LEVELS = 12


@dataclass(frozen=True)
class FieldColumns:
    """Name and unit of an observation field, and its place in the flat vector."""

    name: str
    unit: str
    start: int
    stop: int


@dataclass(frozen=True)
class Variable:
    """One number over time in each shown episode, in the order of the episodes.

    NaN: there was none. With ``levels`` a number is the place of a text among them.
    """

    name: str
    unit: str
    lines: tuple[NDArray[np.float64], ...]
    levels: tuple[str, ...] = ()

    @property
    def constant(self) -> bool:
        """Whether it never changes in any of the episodes."""
        values = np.concatenate([line.ravel() for line in self.lines])
        same = (values == values[:1]) | (np.isnan(values) & np.isnan(values[:1]))
        return bool(same.all())

    def word(self, value: float) -> str:
        """A value of it in words."""
        if math.isnan(value):
            return "nothing"
        return self.levels[int(value)] if self.levels else number(value)


def number(value: float) -> str:
    """A number for a page."""
    return text.number(round(value, 6))


def field_columns(run: Mapping[str, Any]) -> tuple[FieldColumns, ...]:
    """The fields that the first event of a run names; empty in logs of older versions."""
    columns: list[FieldColumns] = []
    start = 0
    for item in run.get("spec", {}).get("observation", ()):
        stop = start + math.prod(item["shape"])
        columns.append(FieldColumns(item["name"], item["unit"], start, stop))
        start = stop
    return tuple(columns)


def fitting(size: int, fields: Sequence[FieldColumns]) -> Sequence[FieldColumns]:
    """The fields of an observation of so many numbers; one of all where they do not fit."""
    if fields and fields[-1].stop == size:
        return fields
    return [FieldColumns("observation", "", 0, size)]


def variables(episodes: Sequence[Trajectory], fields: Sequence[FieldColumns]) -> list[Variable]:
    """Reward first, then actions, then the observation field by field."""
    found = [Variable("reward", "", tuple(e.rewards.astype(float) for e in episodes))]
    actions = [e.actions.reshape(len(e.actions), -1) for e in episodes]
    count = min(actions[0].shape[1], FIELD_LINES)
    for i in range(count):
        name = "action" if count == 1 else f"action[{i}]"
        found.append(Variable(name, "", tuple(a[:, i].astype(float) for a in actions)))
    for item in fitting(episodes[0].observations.shape[1], fields):
        for i in range(min(item.stop - item.start, FIELD_LINES)):
            name = item.name if item.stop - item.start == 1 else f"{item.name}[{i}]"
            lines = tuple(e.observations[:, item.start + i] for e in episodes)
            found.append(Variable(name, item.unit, lines))
    return found


def traced(episodes: Sequence[Trajectory]) -> list[Variable]:
    """What the policy traced of itself, in the order in which it names it."""
    names = dict.fromkeys(name for e in episodes for name in e.trace)
    return [
        _traced(name, [e.trace.get(name, (None,) * len(e.rewards)) for e in episodes])
        for name in names
    ]


def _traced(name: str, columns: Sequence[Sequence[float | bool | str | None]]) -> Variable:
    """A column with any text in it has levels, in the order in which they appear."""
    values = [value for column in columns for value in column]
    if not any(isinstance(value, str) for value in values):
        lines = [np.array(column, dtype=np.float64) for column in columns]  # None becomes NaN
        return Variable(name, "", tuple(lines))
    words = dict.fromkeys(_word(value) for value in values if value is not None)
    levels = {word: float(place) for place, word in enumerate([*words][:MOST_LEVELS])}
    lines = [
        np.array([levels.get(_word(v), np.nan) if v is not None else np.nan for v in column])
        for column in columns
    ]
    return Variable(name, "", tuple(lines), tuple(levels))


def _word(value: float | bool | str) -> str:
    return value if isinstance(value, str) else number(float(value))
