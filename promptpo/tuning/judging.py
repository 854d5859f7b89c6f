"""Comparison of vectors of constants: ranks of samples, and the choice of the incumbent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from promptpo.outcomes import Rollout, Score
from promptpo.racing import LEVEL, paired, ranked_error
from promptpo.tuning.optimizer import Values

#: Choices of signs in a randomization test; all of them up to thirteen pairs, else drawn ones.
RESAMPLES = 9_999

#: The rollout of each of several vectors of values.
Met = Mapping[Values, Rollout]


@dataclass(frozen=True)
class Bar:
    """The mean return below which a sample is given up, and the most that a step may yet bring."""

    mean: float
    pace: float


@dataclass(frozen=True)
class Played:
    """The rollout of one vector of values.

    ``bound``: the best mean return that it could still reach when it was given up, below a bar;
    None where it was played to the end. ``pace``: the highest mean reward of a few steps in a row.
    """

    run: Rollout
    bound: float | None = None
    pace: float = -math.inf


def ranked(played: Sequence[Played]) -> list[float]:
    """Return how many others each beats, ties as half; NaN for one that failed.

    Samples that were given up rank below all others, by their bounds.
    """
    keys = [(0, Score(p.bound)) if p.bound is not None else (1, p.run.score) for p in played]
    return [
        math.nan
        if p.run.error is not None
        else sum(key > other for other in keys) + 0.5 * (sum(key == other for other in keys) - 1)
        for p, key in zip(played, keys, strict=True)
    ]


def better(met: Met, one: Values, other: Values, level: float = LEVEL) -> bool:
    """Return whether one is better than another beyond noise on their common episodes."""
    if met[one].score.failed:
        return False
    pairs = paired(met[one], met[other])
    return met[other].score.failed or (pairs is not None and pairs.sign_at(level) > 0)


def beaten(met: Met, one: Values, other: Values, level: float = LEVEL) -> bool:
    """Return whether one is out of the contest: worse beyond noise, alike throughout, or failed."""
    pairs = paired(met[one], met[other])
    worse = pairs is not None and (pairs.sign_at(level) < 0 or pairs.same)
    return met[one].score.failed or worse


def verdict(met: Met, one: Values, other: Values, level: float) -> int:
    """Return 1 or -1 where one is better or worse than another at a two-sided level, else 0.

    By the randomization test of R. A. Fisher ("The Design of Experiments", 1935, section 21): the
    share of all choices of signs of the paired differences whose mean is as far from 0. It is exact
    for any symmetric noise, however heavy its tails. Where even equal signs of all pairs would be
    too likely (fewer than eight pairs), where all differences are alike, and of worst tenths, by
    Student's t.
    """
    if met[one].score.failed or met[other].score.failed:
        return met[other].score.failed - met[one].score.failed
    pairs = paired(met[one], met[other])
    if pairs is None:
        return 0
    difference = pairs.deciding
    if not difference.values or difference.error == 0 or 2.0 ** (1 - difference.count) > 1 - level:
        return difference.sign_at(level)
    from scipy.stats import permutation_test

    test = permutation_test(
        (difference.values,),
        np.mean,
        permutation_type="samples",
        n_resamples=RESAMPLES,
        random_state=0,
    )
    return int(np.sign(difference.mean)) if test.pvalue <= 1 - level else 0


class Incumbents:
    """All values that were ever the incumbent, with their pooled judgements; ``values`` are now."""

    def __init__(self, written: Values) -> None:
        self.values = written
        self._pooled: dict[Values, Rollout] = {}
        self._drop = 0.0

    @property
    def run(self) -> Rollout | None:
        """The incumbent's episodes in judgements; None before the first."""
        return self._pooled.get(self.values)

    def loses_to(self, one: Values, met: Met) -> bool:
        """Return whether a challenger is better beyond noise, and would be with one fall more.

        The fall is the worst drop that a pair of episodes has shown so far: most judgements are
        too short to show a fall that happens in one of ten episodes.
        """
        challenger, incumbent = met[one], met[self.values]
        # The worst tenth is made of falls already.
        by_tail = incumbent.objective == "cvar10"
        if by_tail or challenger.score.success_rate != incumbent.score.success_rate:
            return better(met, one, self.values)
        returns = {e.seed: e.return_ for e in incumbent.whole}
        gains = [e.return_ - returns[e.seed] for e in challenger.whole if e.seed in returns]
        if len(gains) > 1:
            self._drop = min(self._drop, min(gains) - median(gains))
        with_fall = sum(gains) + median(gains or [0.0]) + self._drop
        return better(met, one, self.values) and (not gains or with_fall > 0)

    def settle(self, met: Met, winner: Values | None) -> None:
        """Make incumbent the best of all that ever were, by a cautious estimate of its episodes.

        Values that took over by luck fall behind again as they play on.
        """
        for values in (self.values, winner):
            if values is not None:
                earlier = [self._pooled[values]] if values in self._pooled else []
                self._pooled[values] = Rollout.pooled([*earlier, met[values]])
        self.values = max(self._pooled, key=lambda values: _cautious(self._pooled[values]))


def _cautious(run: Rollout) -> tuple[float, float]:
    """Return success rate (0 without one) and return that ranks, each less its standard error."""
    if run.score.failed:
        return -math.inf, -math.inf
    rate, count = run.score.success_rate or 0.0, len(run.whole)
    error = ranked_error(run)
    low = run.score.ranked - (error if math.isfinite(error) else 0.0)
    return rate - math.sqrt(rate * (1 - rate) / count), low
