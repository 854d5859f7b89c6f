"""What the best, the median and the worst episode of a policy looked like, ready to draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from promptpo.common import text
from promptpo.errors import RunError
from promptpo.report.svg import Scale, spread, tag
from promptpo.store.folder import RunFolder
from promptpo.types import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.types import Trajectory

#: Points of one line, at most and at least; between them a page's budget decides.
MOST_POINTS, FEWEST_POINTS = 500, 40

#: Lines of one observation field that are drawn; a field may be a whole image.
FIELD_LINES = 12

#: Plots of one policy, at most.
PLOTS = 48

_WIDTH, _HEIGHT = 600, 180


@dataclass(frozen=True)
class FieldColumns:
    """Name and unit of an observation field, and its place in the flat vector."""

    name: str
    unit: str
    start: int
    stop: int


@dataclass(frozen=True)
class Shown:
    """An episode and the word for it: best, median, worst, or only."""

    word: str
    episode: Trajectory

    @property
    def total(self) -> float:
        """Its return."""
        return float(self.episode.rewards.sum())


@dataclass(frozen=True)
class Variable:
    """One number over time in each shown episode, in the order of the episodes."""

    name: str
    unit: str
    lines: tuple[NDArray[np.float64], ...]

    @property
    def constant(self) -> bool:
        """Whether it never changes in any of the episodes."""
        finite = np.concatenate([line.ravel() for line in self.lines])
        return finite.size == 0 or bool((finite == finite[0]).all())


@dataclass(frozen=True)
class Trace:
    """A variable's plot, its range over all shown episodes, and one line of numbers for each."""

    name: str
    unit: str
    low: str
    high: str
    svg: Markup
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Traces:
    """The plots of one policy; ``constants`` never change, ``omitted`` counts what has no plot.

    ``kept`` is how many episodes were kept to choose from.
    """

    shown: tuple[Shown, ...]
    variables: tuple[Variable, ...]
    constants: tuple[str, ...]
    omitted: int
    kept: int

    @property
    def lines(self) -> int:
        """How many lines the plots hold."""
        return len(self.variables) * len(self.shown)

    def plots(self, points: int) -> list[Trace]:
        """The plots with at most ``points`` points to a line."""
        words = [s.word for s in self.shown]
        return [_plot(v, words, points) for v in self.variables]


def field_columns(run: Mapping[str, Any]) -> tuple[FieldColumns, ...]:
    """The fields that the first event of a run names; empty in logs of older versions."""
    columns: list[FieldColumns] = []
    start = 0
    for item in run.get("spec", {}).get("observation", ()):
        stop = start + math.prod(item["shape"])
        columns.append(FieldColumns(item["name"], item["unit"], start, stop))
        start = stop
    return tuple(columns)


def read_traces(folder: RunFolder, name: str, fields: Sequence[FieldColumns]) -> Traces | None:
    """Traces of a candidate's search episodes; None where they are not on disk or not whole."""
    try:
        episodes = folder.read_episodes(name)
    except RunError:
        return None
    shown = _chosen(episodes)
    if not shown:
        return None
    variables = _variables([s.episode for s in shown], fields)
    moving = [v for v in variables if not v.constant]
    constants = [f"{v.name} = {_number(v.lines[0][0])}" for v in variables if v.constant]
    drawn = moving[:PLOTS]
    size = shown[0].episode.observations.shape[1]
    left_out = size - sum(min(f.stop - f.start, FIELD_LINES) for f in _columns(size, fields))
    omitted = left_out + len(moving) - len(drawn)
    return Traces(shown, tuple(drawn), tuple(constants), omitted, len(episodes))


def decimated(values: NDArray[np.float64], points: int) -> NDArray[np.intp]:
    """Indices of at most ``points`` values that keep the smallest and largest of each stretch."""
    count = len(values)
    if count <= points:
        return np.arange(count)
    stretch = math.ceil(count / max(points // 2 - 1, 1))
    padded = np.pad(values, (0, -count % stretch), mode="edge").reshape(-1, stretch)
    start = np.arange(len(padded)) * stretch
    picked = [[0, count - 1], start + padded.argmin(axis=1), start + padded.argmax(axis=1)]
    return np.unique(np.minimum(np.concatenate(picked), count - 1))


def _chosen(episodes: Sequence[Trajectory]) -> tuple[Shown, ...]:
    ranked = sorted(episodes, key=_score, reverse=True)
    if len(ranked) < 2:
        return tuple(Shown("only", e) for e in ranked)
    best, worst = Shown("best", ranked[0]), Shown("worst", ranked[-1])
    if len(ranked) == 2:
        return (best, worst)
    return (best, Shown("median", ranked[len(ranked) // 2]), worst)


def _score(episode: Trajectory) -> Score:
    return Score(float(episode.rewards.sum()), float(bool(episode.success)))


def _columns(size: int, fields: Sequence[FieldColumns]) -> Sequence[FieldColumns]:
    if fields and fields[-1].stop == size:
        return fields
    return [FieldColumns("observation", "", 0, size)]


def _variables(episodes: Sequence[Trajectory], fields: Sequence[FieldColumns]) -> list[Variable]:
    """Reward first, then actions, then the observation field by field."""
    found = [Variable("reward", "", tuple(e.rewards.astype(float) for e in episodes))]
    actions = [e.actions.reshape(len(e.actions), -1) for e in episodes]
    count = min(actions[0].shape[1], FIELD_LINES)
    for i in range(count):
        name = "action" if count == 1 else f"action[{i}]"
        found.append(Variable(name, "", tuple(a[:, i].astype(float) for a in actions)))
    for item in _columns(episodes[0].observations.shape[1], fields):
        for i in range(min(item.stop - item.start, FIELD_LINES)):
            name = item.name if item.stop - item.start == 1 else f"{item.name}[{i}]"
            lines = tuple(e.observations[:, item.start + i] for e in episodes)
            found.append(Variable(name, item.unit, lines))
    return found


def _plot(variable: Variable, words: Sequence[str], points: int) -> Trace:
    values = np.concatenate(variable.lines)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    x = Scale(0, max(max(len(line) for line in variable.lines) - 1, 1), 0, _WIDTH)
    y = Scale(*spread([low, high]), _HEIGHT, 0)
    pairs = list(zip(words, variable.lines, strict=True))
    drawn = [  # the best last, on top
        tag("path", class_=f"trace {word}", d=_path(line, x, y, points))
        for word, line in reversed(pairs)
    ]
    title = f"{variable.name} over the steps of the episode, from {_number(low)} to {_number(high)}"
    svg = tag(
        "svg",
        tag("title", title),
        *drawn,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
    )
    rows = tuple(_row(word, line) for word, line in pairs)
    ends = _number(low), _number(high)
    if low < high and ends[0] == ends[1]:  # a change too small for four digits
        ends = f"{low:.7g}", f"{high:.7g}"
    return Trace(variable.name, variable.unit, *ends, svg, rows)


def _row(word: str, line: NDArray[np.float64]) -> tuple[str, ...]:
    """The episode's word, and the line's first, smallest, largest and last value."""
    numbers = (line[0], line.min(), line.max(), line[-1])
    return (word, *(_number(float(v)) for v in numbers))


def _path(line: NDArray[np.float64], x: Scale, y: Scale, points: int) -> str:
    """Path data in whole units, each point relative to the one before: the shortest way."""
    finite = np.nan_to_num(line, nan=y.low, posinf=y.high, neginf=y.low)
    index = decimated(finite, points)
    px = np.rint(x.start + (index - x.low) / (x.high - x.low) * (x.stop - x.start))
    share = np.clip((finite[index] - y.low) / (y.high - y.low), 0, 1)
    py = np.rint(y.start + share * (y.stop - y.start))
    steps = np.stack([np.diff(px), np.diff(py)], axis=1).astype(int)
    pairs = " ".join(f"{dx} {dy}" for dx, dy in steps.tolist())
    return f"M{int(px[0])} {int(py[0])}" + (f"l{pairs}" if pairs else "")


def _number(value: float) -> str:
    return text.number(round(value, 6))
