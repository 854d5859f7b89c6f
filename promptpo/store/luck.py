"""Search scores without the luck of each round's episodes.

Candidates of different rounds play different episodes, and part of what lies between their scores
is the luck of these. The best so far plays every round's fresh episodes too, which links the
rounds. The model is the additive two-way layout with fixed policies and random episodes (C. R.
Henderson, "Best linear unbiased estimation and prediction under a selection model", Biometrics 31,
1975): policy p returns ``a_p + b_e + noise`` in episode e. The a's and b's minimize::

    sum over all that was played of (return - a_p - b_e)^2 + k * sum over episodes of b_e^2

with k = (1 - r) / r. Here r is the share of the variance of returns that is due to the episodes:
what the variance of paired differences falls short of the sum of both variances, in parts of that
sum; the median over the rounds' best and the best before them. Where r is 1, the a's differ as
pairs do; where it is 0, and where rounds have no policy in common, they are the raw means.

A catastrophe, or a policy that returns the same everywhere, knows no such luck: policies whose
returns scatter more than four times as much as those of the rounds' best, or less than a quarter,
stay as they are. So do success rates, which know no additive luck.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from promptpo.racing import error_interval, met_before
from promptpo.stats import Interval
from promptpo.types import Candidate, by_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: How many times more, or less, the returns of a policy may scatter than is usual.
_ALIKE = 4.0

#: Fewest episodes in common that tell how much luck is shared.
_PAIRS = 3


@dataclass(frozen=True)
class Corrected:
    """The mean return of a policy without the luck of its episodes, and as it was.

    ``interval`` is the 95% one of its difference from the average of all corrected scores, by the
    scatter over episodes. It leaves out what is uncertain of all alike, so that one can compare.
    """

    mean: float
    raw: float
    interval: Interval


def corrected(candidates: Iterable[Candidate]) -> Mapping[str, Corrected]:
    """Return the corrected scores of policies by name; empty where no luck is known."""
    scored = [c for c in candidates if not c.score.failed]
    returns = {c.name: _returns(c) for c in scored}
    scatter = {name: statistics.stdev(r.values()) for name, r in returns.items() if len(r) > 1}
    best: dict[int, Candidate] = {}
    for candidate in sorted((c for c in scored if c.name in scatter), key=by_score):
        best[candidate.key.round] = candidate
    if not best:
        return {}
    usual = statistics.median(scatter[c.name] for c in best.values())
    alike = {
        name: returns[name]
        for name, own in scatter.items()
        if usual / _ALIKE < own < usual * _ALIKE
    }
    links = ((c, met_before(c, scored)) for c in best.values())
    names = [(c.name, before.name) for c, before in links if before is not None]
    shares = [
        share
        for a, b in names
        if a in alike and b in alike and (share := _shared(alike[a], alike[b])) is not None
    ]
    share = statistics.median(shares) if shares else 0.0
    return _fitted(alike, (1 - share) / share + 1e-9) if share > 0 else {}


def _returns(candidate: Candidate) -> dict[int, float]:
    """Return the mean return of each life by its first seed: an episode, for lives of one."""
    lives = candidate.pooled.lives if candidate.pooled is not None else []
    return {lived[0].seed: statistics.fmean(e.return_ for e in lived) for lived in lives}


def _shared(a: Mapping[int, float], b: Mapping[int, float]) -> float | None:
    """Return the share of the variance of two policies' returns that their episodes have in common.

    None for too few common episodes.
    """
    common = [seed for seed in a if seed in b]
    if len(common) < _PAIRS:
        return None
    single = [statistics.variance(r[seed] for seed in common) for r in (a, b)]
    paired = statistics.variance(a[seed] - b[seed] for seed in common)
    return 1 - paired / sum(single) if any(single) else 0.0


def _fitted(returns: Mapping[str, Mapping[int, float]], k: float) -> Mapping[str, Corrected]:
    """Return the scores that minimize the sum of squares."""
    import numpy as np

    seeds = list(dict.fromkeys(seed for played in returns.values() for seed in played))
    raw = np.array([[played.get(seed, np.nan) for seed in seeds] for played in returns.values()])
    mask = np.isfinite(raw)
    counts = mask.sum(axis=0) + k

    def without_luck(values: NDArray[Any]) -> NDArray[Any]:
        played: NDArray[Any] = np.where(mask, values, 0.0)
        return played - np.where(mask, played.sum(axis=0) / counts, 0.0)

    system = np.diag(mask.sum(axis=1)) - (mask / counts) @ mask.T
    means = np.linalg.solve(system, without_luck(raw).sum(axis=1))
    influence = np.linalg.solve(system, without_luck(raw - means[:, None]))
    errors = np.sqrt(((influence - influence.mean(axis=0)) ** 2).sum(axis=1))
    return {
        name: Corrected(
            float(mean),
            statistics.fmean(played.values()),
            error_interval(float(mean), float(error), len(played)),
        )
        for (name, played), mean, error in zip(returns.items(), means, errors, strict=True)
    }
