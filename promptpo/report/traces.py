"""What the best, the median and the worst episode of a policy looked like, ready to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from promptpo.errors import RunError
from promptpo.report.chart import spread, trace
from promptpo.report.variables import (
    FIELD_LINES,
    FieldColumns,
    Variable,
    fitting,
    number,
    traced,
    variables,
)
from promptpo.store.folder import RunFolder
from promptpo.types import Score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptpo.types import Trajectory

#: Points of one line, at most and at least; between them a page's budget decides.
MOST_POINTS, FEWEST_POINTS = 500, 40

#: Plots of one policy, at most.
PLOTS = 48

#: How far apart lines of the same level are drawn, in levels.
_APART = 0.12


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
class Trace:
    """A variable's plot, its range over all shown episodes, and one line of numbers for each.

    ``levels``: the texts that it is about, from the lowest to the highest.
    """

    name: str
    unit: str
    low: str
    high: str
    svg: Markup
    rows: tuple[tuple[str, ...], ...]
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traces:
    """The plots of one policy; ``constants`` never change, ``omitted`` counts what has no plot.

    ``kept`` is how many episodes were kept to choose from, ``traced`` what the policy showed of
    itself.
    """

    shown: tuple[Shown, ...]
    variables: tuple[Variable, ...]
    constants: tuple[str, ...]
    omitted: int
    kept: int
    traced: tuple[Variable, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines the plots hold."""
        return (len(self.variables) + len(self.traced)) * len(self.shown)

    def plots(self, points: int) -> list[Trace]:
        """The plots with at most ``points`` points to a line."""
        words = [s.word for s in self.shown]
        return [_plot(v, words, points) for v in self.variables]

    def traced_plots(self, points: int) -> list[Trace]:
        """Those of what the policy traced."""
        words = [s.word for s in self.shown]
        return [_plot(v, words, points) for v in self.traced]


def read_traces(folder: RunFolder, name: str, fields: Sequence[FieldColumns]) -> Traces | None:
    """Traces of a candidate's search episodes; None where they are not on disk or not whole."""
    try:
        episodes = folder.read_episodes(name)
    except RunError:
        return None
    shown = _chosen(episodes)
    if not shown:
        return None
    episodes_shown = [s.episode for s in shown]
    seen, inner = variables(episodes_shown, fields), traced(episodes_shown)
    moving = [v for v in seen if not v.constant]
    constants = [f"{v.name} = {v.word(v.lines[0][0])}" for v in [*seen, *inner] if v.constant]
    drawn = moving[:PLOTS]
    size = shown[0].episode.observations.shape[1]
    left_out = size - sum(min(f.stop - f.start, FIELD_LINES) for f in fitting(size, fields))
    omitted = left_out + len(moving) - len(drawn)
    own = tuple(v for v in inner if not v.constant)
    return Traces(shown, tuple(drawn), tuple(constants), omitted, len(episodes), own)


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


def _plot(variable: Variable, words: Sequence[str], points: int) -> Trace:
    values = np.concatenate(variable.lines)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    ends = number(low), number(high)
    if low < high and ends[0] == ends[1]:  # a change too small for four digits
        ends = f"{low:.7g}", f"{high:.7g}"
    about = f"from {ends[0]} to {ends[1]}"
    pairs = list(zip(words, variable.lines, strict=True))
    drawn, bounds = dict(pairs), spread([low, high])
    if variable.levels:
        about = f"from the lowest to the highest {', '.join(variable.levels)}"
        bounds = (-0.5, len(variable.levels) - 0.5)
        drawn = {w: line + _APART * i for i, (w, line) in enumerate(pairs)}
    title = f"{variable.name} over the steps of the episode, {about}"
    svg = trace(title, drawn, bounds, points, steps=bool(variable.levels))
    rows = tuple(_row(variable, word, line) for word, line in pairs)
    return Trace(variable.name, variable.unit, *ends, svg, rows, variable.levels)


def _row(variable: Variable, word: str, line: NDArray[np.float64]) -> tuple[str, ...]:
    """The episode's word, and the line's first, smallest, largest and last value."""
    known = line[~np.isnan(line)]
    middle = ("", "")
    if known.size and not variable.levels:
        middle = (variable.word(float(known.min())), variable.word(float(known.max())))
    return (word, variable.word(float(line[0])), *middle, variable.word(float(line[-1])))
