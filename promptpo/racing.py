"""Comparing policies on common episodes: more are played until the best is clear.

Two policies that have met the same seeds are compared pair by pair, which takes the luck of the
episodes out of it. Source: O. Maron and A. W. Moore, "The racing algorithm: model selection for
lazy learners", Artificial Intelligence Review 11 (1997); here with Student's t of the differences.

A difference too small to matter makes a tie, where the interval of the mean difference lies within
it. Source: D. J. Schuirmann, "A comparison of the two one-sided tests procedure and the power
approach for assessing the equivalence of average bioavailability", Journal of Pharmacokinetics and
Biopharmaceutics 15 (1987); here with the 95% interval, each side at 2.5%.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from promptpo.common.lives import in_lives
from promptpo.stats import Interval, tail_error, worst_tenth
from promptpo.types import Candidate, Rollout

T = TypeVar("T", bound=Hashable)

#: Two-sided level of "better" and "worse".
LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """The mean of paired differences, its standard error, and how many pairs there are.

    Where the worst tenth of the episodes ranks policies, ``mean`` is one's mean of these less the
    other's, and ``error`` is by ``promptpo.stats.tail_error``; else ``values`` are the differences.
    """

    mean: float
    error: float
    count: int
    values: tuple[float, ...] = ()

    @property
    def sign(self) -> int:
        """1 or -1 where the mean differs from 0 beyond noise, else 0."""
        return self.sign_at(LEVEL)

    def sign_at(self, level: float) -> int:
        """The same at another two-sided level.

        By Student's t with ``count - 1`` degrees of freedom. Differences that are all alike, as of
        tasks without chance, have no noise.
        """
        if not math.isfinite(self.mean) or self.mean == 0:
            return 0
        if abs(self.mean) <= self.error * _quantile(self.count - 1, level):
            return 0
        return 1 if self.mean > 0 else -1

    def within(self, margin: float) -> bool:
        """Return whether the 95% interval lies between ``-margin`` and ``margin``."""
        half = self.error * _quantile(self.count - 1, LEVEL) if self.error else 0.0
        return abs(self.mean) + half <= margin


@dataclass(frozen=True)
class Paired:
    """One policy less another on the episodes that both have played.

    ``successes`` are differences of success (0 or 1); None where the task defines none.
    ``solved``: both succeeded in every episode. ``tail``: returns are those of the worst tenth.
    """

    returns: Difference
    successes: Difference | None = None
    solved: bool = False
    tail: bool = False

    @property
    def sign(self) -> int:
        """1 or -1 where one is better beyond noise: by success, by return where that is equal."""
        return self.sign_at(LEVEL)

    def sign_at(self, level: float) -> int:
        """The same at another two-sided level."""
        return self.deciding.sign_at(level)

    @property
    def deciding(self) -> Difference:
        """The differences of success; of returns where the task defines none, or all are equal."""
        if self.successes is not None and (self.successes.mean or self.successes.error):
            return self.successes
        return self.returns

    @property
    def same(self) -> bool:
        """True where every episode went alike for both, so that more of them tell nothing."""
        return self.tied(0)

    def tied(self, smallest: float) -> bool:
        """Return whether both succeed in the same episodes, and returns are ``smallest`` apart.

        At most, by the 95% interval of their mean difference.
        """
        alike = self.successes is None or self.successes.within(0)
        return alike and self.returns.within(smallest)


def paired(a: Rollout, b: Rollout) -> Paired | None:
    """Return ``a`` less ``b`` on the seeds that both have; None for fewer than two.

    Where a policy object lives through several episodes, its lives are the pairs.
    """
    other = {e.seed: e for e in b.whole}
    pairs = [(e, other[e.seed]) for e in a.whole if e.seed in other]
    lives = in_lives(pairs, a.life, lambda pair: pair[0].seed)
    if len(lives) < 2:
        return None
    returns = _difference([_mean([x.return_ - y.return_ for x, y in life]) for life in lives])
    tail = a.objective == "cvar10"
    if tail:
        ours, theirs = ([_mean([p[i].return_ for p in life]) for life in lives] for i in (0, 1))
        returns = _tail_difference(ours, theirs)
    if pairs[0][0].success is None:
        return Paired(returns, tail=tail)
    hits = [_mean([bool(x.success) - bool(y.success) for x, y in life]) for life in lives]
    solved = all(x.success and y.success for x, y in pairs)
    return Paired(returns, _difference(hits), solved, tail)


def met_before(candidate: Candidate, others: Iterable[Candidate]) -> Candidate | None:
    """Return the best policy of earlier rounds that has played a candidate's episodes, if any."""
    run = candidate.rollout
    if run is None or candidate.error is not None:
        return None
    met = [
        c
        for c in others
        if c.key.round < candidate.key.round
        and c.later
        and c.identity != candidate.identity
        and c.pooled is not None
        and set(run.seeds) <= set(c.pooled.seeds)
    ]
    return max(met, key=lambda c: c.score, default=None)


def undecided(
    runs: Mapping[T, Rollout], *, by_success: bool = False, smallest: float | None = None
) -> list[T]:
    """Return the best of these on their common episodes, and those not beaten beyond noise.

    What does exactly as the best does is left out, and so is what succeeds whenever it does, and
    always: no more episodes are spent on which of them is the quicker. Only where a choice goes by
    success alone (``by_success``) may even equal ones differ on episodes to come; there what is
    tied with the best is left out, given the ``smallest`` difference of return that matters. Failed
    runs are out of the race.
    """
    standing = {key: run for key, run in runs.items() if not run.score.failed}
    if not standing:
        return []
    best = max(standing, key=lambda key: standing[key].score)

    def beaten(run: Rollout) -> bool:
        difference = paired(standing[best], run)
        if difference is None:
            return False
        if smallest is not None and difference.tied(smallest):
            return True
        if by_success and difference.successes is not None:
            return difference.successes.sign > 0
        return difference.sign > 0 or difference.same or difference.solved

    return [best, *(key for key, run in standing.items() if key != best and not beaten(run))]


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; NaN for fewer than two values."""
    import numpy as np

    if len(values) < 2:
        return math.nan
    return float(np.std(values, ddof=1)) / math.sqrt(len(values))


def ranked_error(run: Rollout) -> float:
    """Return the standard error of the return that ranks, over lives; NaN for fewer than two."""
    returns = run.life_returns
    if run.objective == "mean" or len(returns) < 2:
        return standard_error(returns)
    return tail_error(returns)


def _difference(values: Sequence[float]) -> Difference:
    return Difference(_mean(values), standard_error(values), len(values), tuple(values))


def _tail_difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """Return the difference of the worst tenths, with the error that resampled pairs show."""
    mean = worst_tenth(ours) - worst_tenth(theirs)
    return Difference(mean, tail_error(ours, theirs), len(ours))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def error_interval(mean: float, error: float, count: int) -> Interval:
    """Return the 95% interval of a mean of so many values, 2 or more, by its standard error."""
    half = error * _quantile(count - 1, LEVEL)
    return Interval(mean - half, mean + half, LEVEL)


def _quantile(freedom: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))
