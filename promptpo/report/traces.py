"""The best, the median and the worst episode of a policy: its numbers and texts over time."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

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

#: What stands for a gap in a packed line, and for plus and minus infinity; below them, values.
_GAP, _UP, _DOWN = 65535, 65534, 65533

#: How far apart lines of the same level are drawn, in levels.
_APART = 0.12


@dataclass(frozen=True)
class Variable:
    """One number over time in each of some episodes, in their order.

    NaN: there was none. With ``levels`` a number is the place of a text among them. ``group`` is
    the field that it is a part of, ``low`` and ``high`` are the limits of what can occur, where
    they are known.
    """

    name: str
    unit: str
    lines: tuple[NDArray[np.float64], ...]
    levels: tuple[str, ...] = ()
    group: str = ""
    low: float | None = None
    high: float | None = None

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
        best = self.ranges[0] if self.ranges else 0.0
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
        lines = dict(zip(words, self.lines, strict=False))
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
        for word, line in zip(words, self.lines, strict=False):
            there = line[~np.isnan(line)]
            middle = ["", ""]
            if there.size and not self.levels:
                middle = [self.word(float(v)) for v in (there.min(), there.max())]
            values = [self.word(float(line[0])), *middle, self.word(float(line[-1]))]
            yield (Cell(self.name), Cell(word), *(Cell(v, numeric=True) for v in values))

    def packed(self, every: int) -> dict[str, object]:
        """Return it for the script of the page, with every ``every``-th step of each line."""
        low, high = spread(self.shown)
        return {
            "name": self.name, "unit": self.unit, "group": self.group or self.name,
            "levels": self.levels, "range": [low, high], "limits": [self.low, self.high],
            "lines": [_packed(line[::every]) for line in self.lines],
        }  # fmt: skip


def _packed(line: NDArray[np.float64]) -> list[float | str]:
    """Return the lowest and the highest value of a line, and all of them in 16 bits, in base64."""
    finite = line[np.isfinite(line)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    share = (np.nan_to_num(line, nan=low, posinf=low, neginf=low) - low) / ((high - low) or 1.0)
    codes = np.rint(share * (_DOWN - 1))
    for marked, code in ((np.isnan(line), _GAP), (line == np.inf, _UP), (line == -np.inf, _DOWN)):
        codes[marked] = code
    return [low, high, base64.b64encode(codes.astype("<u2").tobytes()).decode()]


def _number(value: float) -> str:
    return text.number(round(value, 6))


@dataclass(frozen=True)
class Plots:
    """The plots of one policy.

    Attributes:
        episodes: an episode, by the word for it: best, median, worst, or only; then others, which
            only the script of the page draws.
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
    def words(self) -> list[str]:
        """The words for the episodes that every page draws."""
        return [word for word in self.episodes if word in _WORDS]

    @property
    def lines(self) -> int:
        """The number of lines in the plots."""
        return (len(self.drawn) + len(self.traced)) * len(self.words)

    @property
    def values(self) -> int:
        """The number of values of all lines and episodes."""
        steps = sum(len(e.rewards) for e in self.episodes.values())
        return (len(self.drawn) + len(self.traced)) * steps

    @property
    def legend(self) -> list[tuple[str, str, int]]:
        """The word of each episode that every page draws, how it went, and its seed."""
        return [(word, _episode_words(e := self.episodes[word]), e.seed) for word in self.words]

    def packed(self, every: int) -> dict[str, object]:
        """Return all of it for the script of the page."""
        return {
            "every": every,
            "episodes": [
                {"word": word, "about": f"{_episode_words(e)}, seed {e.seed}"}
                for word, e in self.episodes.items()
            ],
            "panels": [v.packed(every) for v in (*self.drawn, *self.traced)],
        }

    @property
    def table(self) -> Table:
        """The plots in numbers."""
        rows = (row for v in (*self.drawn, *self.traced) for row in v.rows(self.words))
        columns = ("Variable", "Episode", "First", "Smallest", "Largest", "Last")
        return Table("First, smallest, largest and last value in each episode", columns, (*rows,))


def _episode_words(episode: Trajectory) -> str:
    words = f"return {text.number(float(episode.rewards.sum()))}"
    if episode.success is not None:
        words += ", success" if episode.success else ", no success"
    return f"{words}, {text.plural(len(episode.rewards), 'step')}"


#: What the episodes are called that every page draws.
_WORDS = ("best", "median", "worst", "only")


def read_plots(
    folder: RunFolder, name: str, header: Mapping[str, Any], further: int = 0
) -> Plots | None:
    """Return plots of a candidate's search episodes; None where they are not on disk or not whole.

    ``header``, the first event of the run, names the fields of an observation. ``further`` is the
    most other episodes that the script of the page may draw.
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
    rest = [(i, e) for i, e in enumerate(ranked, 1) if all(e is not c for c in by_word.values())]
    by_word |= {f"no. {i}": e for i, e in rest[:further]}
    chosen = [*by_word.values()]
    size = chosen[0].observations.shape[1]
    spec = header.get("spec", {})
    fields = _fields(spec, size)
    seen, inner = variables(chosen, fields, spec.get("action") or {}), traced(chosen)
    moving = [v for v in seen if not v.constant]
    constants = [f"{v.name} = {v.word(v.lines[0][0])}" for v in [*seen, *inner] if v.constant]
    left_out = size - sum(min(f.stop - f.start, _FIELD_LINES) for f in fields)
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


class Field(NamedTuple):
    """An observation field, its place in the flat vector, and its limits, one per element."""

    name: str
    unit: str
    start: int
    stop: int
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


def _fields(spec: Mapping[str, Any], size: int) -> list[Field]:
    """Return the fields of an observation of so many numbers; one of all where they do not fit."""
    fields: list[Field] = []
    start = 0
    for item in spec.get("observation", ()):
        stop = start + math.prod(item["shape"])
        ends = (item.get("low") or (), item.get("high") or ())
        fields.append(Field(item["name"], item["unit"], start, stop, *ends))
        start = stop
    return fields if fields and start == size else [Field("observation", "", 0, size)]


def variables(
    episodes: Sequence[Trajectory], fields: Sequence[Field], action: Mapping[str, Any]
) -> list[Variable]:
    """Return the reward, then actions, then the observation field by field."""
    reward = Field("reward", "", 0, 1)
    parts = [(reward, [e.rewards.reshape(-1, 1) for e in episodes])]
    actions = [e.actions.reshape(len(e.actions), -1) for e in episodes]
    limits = (action.get("low") or (), action.get("high") or ())
    parts.append((Field("action", "", 0, actions[0].shape[1], *limits), actions))
    parts += [(f, [e.observations[:, f.start : f.stop] for e in episodes]) for f in fields]
    return [
        Variable(
            field.name if field.stop - field.start == 1 else f"{field.name}[{i}]",
            field.unit,
            tuple(each[:, i].astype(float) for each in values),
            group=field.name,
            low=field.low[i] if i < len(field.low) else None,
            high=field.high[i] if i < len(field.high) else None,
        )
        for field, values in parts
        for i in range(min(field.stop - field.start, _FIELD_LINES))
    ]


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
