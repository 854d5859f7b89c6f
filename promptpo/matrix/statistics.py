"""Statistics of many runs on many specs, after Agarwal et al. 2021 (arXiv 2108.13264).

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

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from promptpo.stats import Interval

Values: TypeAlias = NDArray[np.float64]

#: Draws of a bootstrap, those of a profile's, and the numbers that are held at once (16 MB).
DRAWS, _PROFILE_DRAWS = 10_000, 2000
_CHUNK = 2_000_000

#: Ends of a 95% interval.
_ENDS = (0.025, 0.975)


def interquartile_mean(scores: Values) -> Values:
    """Return the mean of the runs of all specs without the lowest and the highest quarter.

    Of n runs, ``floor(n / 4)`` are left out at each end. ``scores``: ... x runs x specs.
    """
    runs = np.sort(scores.reshape(*scores.shape[:-2], -1), axis=-1)
    cut = runs.shape[-1] // 4
    return np.asarray(runs[..., cut : runs.shape[-1] - cut].mean(axis=-1))


def median(scores: Values) -> Values:
    """Return the median over specs of their mean scores. ``scores``: ... x runs x specs."""
    return np.asarray(np.median(scores.mean(axis=-2), axis=-1))


def mean(scores: Values) -> Values:
    """Return the mean over specs of their mean scores. ``scores``: ... x runs x specs."""
    return np.asarray(scores.mean(axis=-2).mean(axis=-1))


def optimality_gap(scores: Values) -> Values:
    """Return how much runs fall short of 1 on average; scores above 1 make up for nothing.

    The lower the better. ``scores``: ... x runs x specs.
    """
    return np.asarray(1.0 - np.minimum(scores, 1.0).mean(axis=(-2, -1)))


def improvement(x: Values, y: Values) -> Values:
    """Return the probability that a run of ``x`` beats one of ``y`` on a spec, averaged over specs.

    A draw counts half. Shapes: ... x runs x specs; the numbers of runs may differ.
    """
    left, right = x[..., :, None, :], y[..., None, :, :]
    won = (left > right) + 0.5 * (left == right)
    return np.asarray(won.mean(axis=(-3, -2)).mean(axis=-1))


#: The aggregates by the names that readers know, the one to go by first.
AGGREGATES: Mapping[str, Callable[[Values], Values]] = {
    "IQM": interquartile_mean,
    "median": median,
    "mean": mean,
    "optimality gap": optimality_gap,
}


@dataclass(frozen=True)
class Estimate:
    """A number and its 95% interval; None for one run of each spec."""

    value: float
    interval: Interval | None


def estimate(statistic: Callable[..., Values], *samples: Values) -> Estimate:
    """Return a statistic of one or more samples (runs x specs) with its percentile interval.

    Raises ValueError for samples that are no such arrays, are empty or not finite, or have
    different numbers of specs.
    """
    _check(*samples)
    value = float(statistic(*samples))
    if min(map(len, samples)) < 2:
        return Estimate(value, None)
    low, high = np.quantile(_bootstrap(statistic, samples, DRAWS), _ENDS)
    return Estimate(value, Interval(float(low), float(high)))


@dataclass(frozen=True)
class Profile:
    """A performance profile, the distribution of scores over runs and specs.

    ``share[i]`` of the runs score above ``thresholds[i]``; ``low`` and ``high`` are the ends of its
    pointwise 95% interval (nan for one run of each spec).
    """

    thresholds: Values
    share: Values
    low: Values
    high: Values


def profile(scores: Values, thresholds: Values) -> Profile:
    """Return the profile of ``scores`` (runs x specs). Raises ValueError as ``estimate`` does."""

    def shares(drawn: Values) -> Values:
        runs = drawn.reshape(len(drawn), -1)
        return np.stack([(runs > threshold).mean(axis=1) for threshold in thresholds], axis=1)

    _check(scores)
    share = shares(scores[None])[0]
    if len(scores) < 2:
        unknown = np.full(len(thresholds), np.nan)
        return Profile(thresholds, share, unknown, unknown)
    low, high = np.quantile(_bootstrap(shares, (scores,), _PROFILE_DRAWS), _ENDS, axis=0)
    return Profile(thresholds, share, low, high)


def _bootstrap(statistic: Callable[..., Values], samples: tuple[Values, ...], draws: int) -> Values:
    """Return the statistic of each draw: in each spec, runs are drawn with replacement."""
    rng = np.random.default_rng(0)
    first, *others = samples
    most = max(1, _CHUNK // (first.size * math.prod(map(len, others))))
    values = []
    for start in range(0, draws, most):
        count = min(most, draws - start)
        drawn = []
        for scores in samples:
            places = rng.integers(len(scores), size=(count, *scores.shape))
            drawn.append(np.take_along_axis(scores[None], places, axis=1))
        values.append(statistic(*drawn))
    return np.concatenate(values)


def _check(*samples: Values) -> None:
    for scores in samples:
        if scores.ndim != 2 or not scores.size:
            raise ValueError(f"scores are an array of runs x specs, not of shape {scores.shape}")
        if not np.isfinite(scores).all():
            raise ValueError("a score is not finite")
        if scores.shape[1] != samples[0].shape[1]:
            raise ValueError(f"{samples[0].shape[1]} specs against {scores.shape[1]}")
