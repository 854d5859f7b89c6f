"""What many runs on many tasks say together, after Agarwal et al. 2021 (arXiv 2108.13264).

The definitions are those of the authors' package ``rliable`` (Apache-2.0), and the tests hold them
against it. It is no dependency: these few formulas over numpy would bring arch, statsmodels,
pandas and seaborn along (and version 1.2.0 fails to import beside pandas 3), its bootstrap is a
loop in Python that takes minutes where this takes a second, and it gives an interval of width zero
where every task has one run, which reads as certainty and is none: here that is None.

Scores are arrays of runs x specs, normalized so that specs can be averaged, the higher the better.
The bootstrap is stratified: within each spec its runs are drawn anew with replacement, the specs
stay what they are. An interval thus speaks of other runs on these specs, not of other specs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from promptpo.stats import Interval

Values: TypeAlias = NDArray[np.float64]

#: Arrays of draws x runs x specs in, a number for each draw out.
Aggregate: TypeAlias = Callable[[Values], Values]

#: Draws of a bootstrap, and how many numbers of them are held at once (16 MB).
DRAWS = 10_000
_CHUNK = 2_000_000


def interquartile_mean(scores: Values) -> Values:
    """The mean of the runs of all specs without the lowest and the highest quarter.

    Of n runs, ``floor(n / 4)`` are left out at each end. ``scores``: ... x runs x specs.
    """
    runs = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = runs.shape[-1] // 4
    return _number(runs[..., cut : runs.shape[-1] - cut].mean(axis=-1))


def median(scores: Values) -> Values:
    """The median over specs of their mean scores. ``scores``: ... x runs x specs."""
    return _number(np.median(scores.mean(axis=-2), axis=-1))


def mean(scores: Values) -> Values:
    """The mean over specs of their mean scores. ``scores``: ... x runs x specs."""
    return _number(scores.mean(axis=-2).mean(axis=-1))


def optimality_gap(scores: Values) -> Values:
    """By how much runs fall short of 1 on average; what lies above 1 makes up for nothing.

    The lower the better. ``scores``: ... x runs x specs.
    """
    return _number(1.0 - np.minimum(scores, 1.0).mean(axis=(-2, -1)))


def improvement(x: Values, y: Values) -> Values:
    """The probability that a run of ``x`` beats a run of ``y`` on a spec, averaged over specs.

    A draw counts half. Shapes: ... x runs x specs; the numbers of runs may differ.
    """
    left, right = x[..., :, None, :], y[..., None, :, :]
    won = (left > right) + 0.5 * (left == right)
    return _number(won.mean(axis=(-3, -2)).mean(axis=-1))


#: The aggregates by the names that readers know, the one to go by first.
AGGREGATES: Mapping[str, Aggregate] = {
    "IQM": interquartile_mean,
    "median": median,
    "mean": mean,
    "optimality gap": optimality_gap,
}


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; None where one run a spec cannot tell."""

    value: float
    interval: Interval | None


def estimate(
    aggregate: Aggregate, scores: Values, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """An aggregate of ``scores`` (runs x specs) with its percentile interval.

    Raises ValueError for scores that are no such array, are empty or not finite.
    """
    _check(scores)
    if len(scores) < 2:
        return Estimate(float(aggregate(scores)), None)
    rng = np.random.default_rng(seed)
    found = [aggregate(drawn) for drawn in _resampled(scores, draws, rng)]
    return Estimate(float(aggregate(scores)), _percentiles(np.concatenate(found), level))


def estimate_improvement(
    x: Values, y: Values, *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> Estimate:
    """The probability of improvement with its interval; both (runs x specs) are drawn anew.

    The interval is None where either has one run a spec. Raises ValueError as ``estimate`` does,
    and where the specs differ in number.
    """
    _check(x)
    _check(y)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"{x.shape[1]} specs against {y.shape[1]}")
    value = float(improvement(x, y))
    if min(len(x), len(y)) < 2:
        return Estimate(value, None)
    rng = np.random.default_rng(seed)
    most = max(1, _CHUNK // (x.size * len(y)))
    found = []
    for start in range(0, draws, most):
        count = min(most, draws - start)
        found.append(improvement(_draw(x, count, rng), _draw(y, count, rng)))
    return Estimate(value, _percentiles(np.concatenate(found), level))


@dataclass(frozen=True)
class Profile:
    """A performance profile, the distribution of scores over runs and specs.

    ``share[i]`` of the runs score above ``thresholds[i]``; ``low`` and ``high`` bound it pointwise
    (nan where there is one run a spec).
    """

    thresholds: Values
    share: Values
    low: Values
    high: Values


def profile(
    scores: Values, thresholds: Values, *, level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Profile:
    """The profile of ``scores`` (runs x specs) at ``thresholds``. Raises ValueError as above."""
    _check(scores)
    share = _shares(scores[None], thresholds)[0]
    if len(scores) < 2:
        nothing = np.full(len(thresholds), np.nan)
        return Profile(thresholds, share, nothing, nothing)
    rng = np.random.default_rng(seed)
    found = np.concatenate([_shares(d, thresholds) for d in _resampled(scores, draws, rng)])
    tail = (1 - level) / 2
    low, high = np.quantile(found, [tail, 1 - tail], axis=0)
    return Profile(thresholds, share, low, high)


def _shares(drawn: Values, thresholds: Values) -> Values:
    """Draws x runs x specs in, draws x thresholds out."""
    runs = drawn.reshape(len(drawn), -1)
    return np.stack([(runs > threshold).mean(axis=1) for threshold in thresholds], axis=1)


def _resampled(scores: Values, draws: int, rng: np.random.Generator) -> Iterator[Values]:
    """All draws, so many at once as are worked on at once."""
    most = max(1, _CHUNK // scores.size)
    for start in range(0, draws, most):
        yield _draw(scores, min(most, draws - start), rng)


def _draw(scores: Values, count: int, rng: np.random.Generator) -> Values:
    """``count`` x runs x specs: in each spec its own runs, drawn with replacement."""
    places = rng.integers(len(scores), size=(count, *scores.shape))
    return np.take_along_axis(scores[None], places, axis=1)


def _percentiles(found: Values, level: float) -> Interval:
    tail = (1 - level) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Interval(float(low), float(high), level)


def _check(scores: Values) -> None:
    if scores.ndim != 2 or not scores.size:
        raise ValueError(f"scores are an array of runs x specs, not of shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError("a score is not finite")


def _number(values: NDArray[np.float64]) -> Values:
    return np.asarray(values, dtype=np.float64)
