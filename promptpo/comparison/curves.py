"""Learning curves of a group of runs: the mean over runs of the best search score so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from promptpo.comparison.groups import Group
from promptpo.comparison.history import History
from promptpo.comparison.measures import Measure, value

#: What a curve runs over: environment steps, calls of the model, or US dollars.
Axis = Literal["steps", "calls", "cost"]
AXES: tuple[Axis, ...] = get_args(Axis)

Values: TypeAlias = NDArray[np.float64]

#: Resamples of a bootstrap, and how many places of a curve are worked on at once (16 MB).
_RESAMPLES = 2000
_COLUMNS = 1000


@dataclass(frozen=True)
class Curve:
    """A step function: from ``x[i]`` on, the mean is ``mean[i]``.

    ``x`` are environment steps of search and tuning, calls or US dollars, ``low`` and ``high``
    bound a 95% interval over runs (nan where a single run gives none), ``runs`` is how many runs
    the mean is taken over.
    """

    x: Values
    mean: Values
    low: Values
    high: Values
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
        (_axis_values(run, axis), np.array([value(p.best, measure) for p in run.points]))
        for run in runs
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


def _axis_values(run: History, axis: Axis) -> Values:
    found = [getattr(p, axis) for p in run.points]
    return np.array(found, dtype=np.float64)


def _band(rows: Values) -> tuple[Values, Values]:
    """Percentile-bootstrap intervals of the columns' means; nan where there is but one row.

    All columns share the resamples, so that a whole curve costs one matrix product.
    """
    count = len(rows)
    if count < 2:
        nothing = np.full(rows.shape[1], np.nan)
        return nothing, nothing
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), _RESAMPLES)
    means = [drawn @ rows[:, i : i + _COLUMNS] / count for i in range(0, rows.shape[1], _COLUMNS)]
    bounds = np.concatenate([np.quantile(m, [0.025, 0.975], axis=0) for m in means], axis=1)
    low, high = np.clip(bounds, rows.min(axis=0), rows.max(axis=0))  # rounding adds no width
    return low, high
