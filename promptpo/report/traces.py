"""The best, the median and the worst episode of a policy: its numbers and texts over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from promptpo.common import text
from promptpo.common.blocks import Cell, Table
from promptpo.errors import RunError
from promptpo.report.axis import compared, short_range, spread
from promptpo.report.chart import trace
from promptpo.store.folder import RunFolder
from promptpo.types import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.types import Trajectory

#: Lines of one observation field that are drawn (a field may be an image), plots of one policy, and
#: texts of a variable that have a level of their own in its plot.
_FIELD_LINES, _PLOTS, MOST_LEVELS = 12, 48, 12

#: How far apart lines of the same level are drawn, in levels.
_APART = 0.12


@dataclass(frozen=True)
class Variable:
    """One number over time in each of some episodes, in their order.

    NaN: there was none. With ``levels`` a number is the place of a text among them.
    """

    name: str
    unit: str
    lines: tuple[NDArray[np.float64], ...]
    levels: tuple[str, ...] = ()

    @property
    def constant(self) -> bool:
        """True where it never changes in any of the episodes."""
        values = np.concatenate([line.ravel() for line in self.lines])
        same = (values == values[:1]) | (np.isnan(values) & np.isnan(values[:1]))
        return bool(same.all())

    @cached_property
    def ranges(self) -> list[tuple[float, float]]:
        """The smallest and the largest finite value of each episode that has one."""
        finite = [line[np.isfinite(line)] for line in self.lines]
        return [(float(v.min()), float(v.max())) for v in finite if v.size]

    @cached_property
    def shown(self) -> tuple[float, float]:
        """The range that is drawn: of the best episode, and of others that are near."""
        best = self.ranges[0][0] if self.ranges else 0.0
        return compared([v for ends in self.ranges for v in ends], best)

    @property
    def ends(self) -> tuple[str, str]:
        """The same in words."""
        low, high = self.shown
        words = _number(low), _number(high)
        if low < high and words[0] == words[1]:  # a change too small for four digits
            return f"{low:.7g}", f"{high:.7g}"
        return words

    @property
    def beyond(self) -> str:
        """The values that lie beyond the range that is drawn, in words; empty for none."""
        low, high = self.shown
        rest = [v for ends in self.ranges for v in ends if not low <= v <= high]
        return f"beyond: {short_range(rest)}" if rest else ""

    def word(self, value: float) -> str:
        """Return a value of it in words."""
        if math.isnan(value):
            return "nothing"
        return self.levels[int(value)] if self.levels else _number(value)

    def svg(self, words: Sequence[str], points: int) -> Markup:
        """Return a plot of the episodes, which are called so, with so many points to a line."""
        lines = dict(zip(words, self.lines, strict=True))
        about, bounds = "from {} to {}".format(*self.ends), spread(self.shown)
        about = ", ".join(filter(None, (about, self.beyond)))
        if self.levels:
            about = f"from the lowest to the highest {', '.join(self.levels)}"
            bounds = (-0.5, len(self.levels) - 0.5)
            lines = {word: line + _APART * i for i, (word, line) in enumerate(lines.items())}
        title = f"{self.name} over the steps of the episode, {about}"
        return trace(title, lines, bounds, points, steps=bool(self.levels))

    def rows(self, words: Sequence[str]) -> Iterator[tuple[Cell, ...]]:
        """Yield the first, smallest, largest and last value of each episode."""
        for word, line in zip(words, self.lines, strict=True):
            there = line[~np.isnan(line)]
            middle = ["", ""]
            if there.size and not self.levels:
                middle = [self.word(float(v)) for v in (there.min(), there.max())]
            values = [self.word(float(line[0])), *middle, self.word(float(line[-1]))]
            yield (Cell(self.name), Cell(word), *(Cell(v, numeric=True) for v in values))


def _number(value: float) -> str:
    return text.number(round(value, 6))


@dataclass(frozen=True)
class Plots:
    """The plots of one policy.

    Attributes:
        episodes: an episode, by the word for it: best, median, worst, or only.
        drawn: what the environment showed and the policy did.
        traced: what the policy showed of itself.
        constants: what never changes, in words.
        omitted: how many numbers have no plot; ``file`` has them.
        count: how many episodes there were to choose from.
    """

    episodes: Mapping[str, Trajectory]
    drawn: tuple[Variable, ...]
    traced: tuple[Variable, ...]
    constants: tuple[str, ...]
    omitted: int
    file: str
    count: int

    @property
    def lines(self) -> int:
        """The number of lines in the plots."""
        return (len(self.drawn) + len(self.traced)) * len(self.episodes)

    @property
    def legend(self) -> list[tuple[str, str, int]]:
        """Each episode's word, how it went, and its seed."""
        return [(word, _episode_words(e), e.seed) for word, e in self.episodes.items()]

    @property
    def table(self) -> Table:
        """The plots in numbers."""
        rows = (row for v in (*self.drawn, *self.traced) for row in v.rows([*self.episodes]))
        columns = ("Variable", "Episode", "First", "Smallest", "Largest", "Last")
        return Table("First, smallest, largest and last value in each episode", columns, (*rows,))


def _episode_words(episode: Trajectory) -> str:
    words = f"return {text.number(float(episode.rewards.sum()))}"
    if episode.success is not None:
        words += ", success" if episode.success else ", no success"
    return f"{words}, {text.plural(len(episode.rewards), 'step')}"


def read_plots(folder: RunFolder, name: str, header: Mapping[str, Any]) -> Plots | None:
    """Return plots of a candidate's search episodes; None where they are not on disk or not whole.

    ``header``, the first event of the run, names the fields of an observation.
    """
    try:
        episodes = folder.read_episodes(name)
    except RunError:
        return None
    if not episodes:
        return None
    ranked = sorted(episodes, key=_score, reverse=True)
    by_word = {"best": ranked[0], "median": ranked[len(ranked) // 2], "worst": ranked[-1]}
    if len(ranked) < 3:
        by_word = (
            {"best": ranked[0], "worst": ranked[-1]} if len(ranked) == 2 else {"only": ranked[0]}
        )
    chosen = [*by_word.values()]
    size = chosen[0].observations.shape[1]
    fields = _fields(header, size)
    seen, inner = variables(chosen, fields), traced(chosen)
    moving = [v for v in seen if not v.constant]
    constants = [f"{v.name} = {v.word(v.lines[0][0])}" for v in [*seen, *inner] if v.constant]
    left_out = size - sum(min(stop - start, _FIELD_LINES) for _, _, start, stop in fields)
    return Plots(
        by_word,
        tuple(moving[:_PLOTS]),
        tuple(v for v in inner if not v.constant),
        tuple(constants),
        left_out + max(len(moving) - _PLOTS, 0),
        f"candidates/{name}/episodes.npz",
        len(episodes),
    )


def _score(episode: Trajectory) -> Score:
    return Score(float(episode.rewards.sum()), float(bool(episode.success)))


#: Name and unit of an observation field, and its place in the flat vector.
Field = tuple[str, str, int, int]


def _fields(header: Mapping[str, Any], size: int) -> list[Field]:
    """Return the fields of an observation of so many numbers; one of all where they do not fit."""
    fields: list[Field] = []
    start = 0
    for item in header.get("spec", {}).get("observation", ()):
        stop = start + math.prod(item["shape"])
        fields.append((item["name"], item["unit"], start, stop))
        start = stop
    return fields if fields and start == size else [("observation", "", 0, size)]


def variables(episodes: Sequence[Trajectory], fields: Sequence[Field]) -> list[Variable]:
    """Return the reward, then actions, then the observation field by field."""
    numbers = [Variable("reward", "", tuple(e.rewards.astype(float) for e in episodes))]
    actions = [e.actions.reshape(len(e.actions), -1) for e in episodes]
    count = min(actions[0].shape[1], _FIELD_LINES)
    for i in range(count):
        name = "action" if count == 1 else f"action[{i}]"
        numbers.append(Variable(name, "", tuple(a[:, i].astype(float) for a in actions)))
    for field, unit, start, stop in fields:
        for i in range(min(stop - start, _FIELD_LINES)):
            name = field if stop - start == 1 else f"{field}[{i}]"
            lines = tuple(e.observations[:, start + i] for e in episodes)
            numbers.append(Variable(name, unit, lines))
    return numbers


def traced(episodes: Sequence[Trajectory]) -> list[Variable]:
    """Return what the policy traced of itself, in the order in which it names it.

    A column with any text in it has levels, in the order in which they appear.
    """
    inner = []
    for name in dict.fromkeys(name for e in episodes for name in e.trace):
        columns = [e.trace.get(name, (None,) * len(e.rewards)) for e in episodes]
        values = [v for column in columns for v in column if v is not None]
        words = dict.fromkeys(v if isinstance(v, str) else _number(float(v)) for v in values)
        if not any(isinstance(v, str) for v in values):
            lines = [np.array(column, dtype=np.float64) for column in columns]  # None becomes NaN
            inner.append(Variable(name, "", tuple(lines)))
            continue
        levels = {word: float(place) for place, word in enumerate([*words][:MOST_LEVELS])}
        lines = [np.array([_level(v, levels) for v in column]) for column in columns]
        inner.append(Variable(name, "", tuple(lines), tuple(levels)))
    return inner


def _level(value: float | bool | str | None, levels: Mapping[str, float]) -> float:
    if value is None:
        return math.nan
    return levels.get(value if isinstance(value, str) else _number(float(value)), math.nan)
