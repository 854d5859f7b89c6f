"""Learning curves of a group of runs: the mean over runs of the best search score so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from promptpo.compare.groups import Group
from promptpo.compare.history import History, Measure, value
from promptpo.stats import mean_interval

Axis = Literal["steps", "cost"]


@dataclass(frozen=True)
class Curve:
    """A step function: from ``x[i]`` on, the mean is ``mean[i]``.

    ``x`` are search steps or US dollars, ``low`` and ``high`` bound a 95% interval over runs (nan
    where a single run gives none), ``runs`` is how many runs the mean is taken over.
    """

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    runs: int


def curve(group: Group, axis: Axis, measure: Measure) -> Curve | None:
    """The curve of the runs that have scored; None where there is none, or a price is unknown.

    It begins where every run has a score. A run that is over keeps its last score; one that is
    not (going, killed, interrupted, failed) may still rise, and the curve ends where its record
    does. The score is the best of all candidates' search episodes: it is optimistic, as the
    best of many noisy means is.
    """
    runs = [run for run in group.runs if run.points]
    if not runs or (axis == "cost" and any(p.cost is None for r in runs for p in r.points)):
        return None
    steps = [
        (_places(run, axis), np.array([value(p.best, measure) for p in run.points])) for run in runs
    ]
    begin = max(places[0] for places, _ in steps)
    open_ends = [
        places[-1] for run, (places, _) in zip(runs, steps, strict=True) if not run.is_over
    ]
    grid = np.unique(np.concatenate([places for places, _ in steps]))
    grid = grid[(grid >= begin) & (grid <= min(open_ends, default=np.inf))]
    if not grid.size:
        return None
    rows = np.stack(
        [scores[np.searchsorted(places, grid, side="right") - 1] for places, scores in steps]
    )
    low, high = _band(rows)
    return Curve(grid, rows.mean(axis=0), low, high, len(runs))


def _places(run: History, axis: Axis) -> NDArray[np.float64]:
    found = [p.steps if axis == "steps" else p.cost for p in run.points]
    return np.array(found, dtype=np.float64)


def _band(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bootstrap intervals of the columns' means; columns that repeat are resampled once."""
    bands = np.full((2, rows.shape[1]), np.nan)
    for i in range(rows.shape[1]):
        if i and (rows[:, i] == rows[:, i - 1]).all():
            bands[:, i] = bands[:, i - 1]
        elif interval := mean_interval(rows[:, i].tolist()):
            bands[:, i] = interval.low, interval.high
    return bands[0], bands[1]
