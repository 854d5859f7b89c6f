"""Held-out scores of groups of runs, and tests of their differences, paired where they can be.

Sources: F. Wilcoxon, "Individual comparisons by ranking methods", Biometrics Bulletin 1 (1945);
H. B. Mann & D. R. Whitney, Annals of Mathematical Statistics 18 (1947); Q. McNemar, Psychometrika
12 (1947), in its exact form; R. A. Fisher's exact test of a 2 x 2 table; S. Holm, "A simple
sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from promptpo.common.lives import in_lives
from promptpo.stats import (
    Interval,
    hull,
    mean_interval,
    success_interval,
    tail_differences,
    worst_tenth,
)
from promptpo.types import Rollout, Score

Values = NDArray[np.float64]

#: What a score is read as: "success", the share of episodes that succeed; "return", their mean
#: return; "worst tenth", the mean return of the worst of them; or a metric of the task by its name.
Measure: TypeAlias = str
TENTH: Measure = "worst tenth"

#: Resamples of a bootstrap, as in ``promptpo.stats``.
_RESAMPLES = 10_000


class Sample(Protocol):
    """The runs of a group, or one policy.

    ``tests`` are held-out episodes that were played to their ends, one rollout for each run.
    """

    @property
    def label(self) -> str:
        """A name that tells it from others."""
        ...

    @property
    def tests(self) -> Sequence[Rollout]:
        """The episodes."""
        ...


def value(score: Score, measure: Measure) -> float | None:
    """Return a score as one number; None where it has no such one."""
    numbers = {"return": score.mean_return, TENTH: score.worst_tenth}
    return (numbers | {"success": score.success_rate}).get(measure)


def levels(references: Mapping[str, Score], measure: Measure) -> dict[str, float]:
    """Return the numbers of the scores that have one, by name."""
    numbers = {name: value(score, measure) for name, score in references.items()}
    return {name: number for name, number in numbers.items() if number is not None}


def in_words(measure: Measure) -> str:
    """Return the name of a measure within a phrase."""
    return "return of the worst tenth" if measure == TENTH else measure


def measures_of(tests: Sequence[Rollout]) -> tuple[Measure, ...]:
    """Return the measures of episodes of one task, the one that ranks policies first."""
    readings = [r.name for r in tests[0].readings] if tests else []
    success = any(e.success is not None for test in tests for e in test.whole)
    tail = bool(tests) and all(test.worst_tenth is not None for test in tests)
    return (*["success"] * success, *[TENTH] * tail, "return", *readings)


def episode_values(test: Rollout, measure: Measure) -> list[float]:
    """Return one number per held-out episode: return, metric, or 1 where it succeeded, else 0."""
    if measure in ("return", TENTH):
        return list(test.returns)
    if measure == "success":
        return [float(bool(success)) for success in test.successes]
    return next((list(r.values) for r in test.readings if r.name == measure), [])


@dataclass(frozen=True)
class SampleScore:
    """Mean held-out score of a sample's runs.

    ``unit`` says over what the interval is taken: "runs" where there are several, else "episodes",
    or "lives" where one policy object plays several of them.
    """

    mean: float
    interval: Interval | None
    runs: int
    episodes: int
    unit: str


def sample_score(sample: Sample, measure: Measure) -> SampleScore | None:
    """Return the held-out score of a sample; None where no run has one.

    One run: the interval is over its episodes (bootstrap; Wilson's for success), or its lives, and
    speaks of its policy. Several: it is over the runs' means (bootstrap) and speaks of what another
    run would find; of success rates it is the wider of that and Wilson's over all episodes, because
    a bootstrap sees no doubt where every run scores the same.
    """
    if not sample.tests:
        return None
    per_run = [episode_values(test, measure) for test in sample.tests]
    if not all(per_run):
        return None
    means = [sum(values) / len(values) for values in per_run]
    if measure == TENTH:
        means = [worst_tenth(test.life_returns) for test in sample.tests]
    count = sum(map(len, per_run))
    if len(means) == 1:
        (test,) = sample.tests
        intervals = {r.name: r.interval for r in test.readings}
        intervals |= {
            "success": test.success_interval,
            "return": test.return_interval,
            TENTH: test.worst_tenth_interval,
        }
        interval = intervals.get(measure)
        unit = "episodes" if test.life == 1 else "lives"
        return SampleScore(means[0], interval, 1, count, unit)
    interval = mean_interval(means)
    if measure == "success":
        wilson = success_interval(round(sum(map(sum, per_run))), count)
        interval = hull([i for i in (interval, wilson) if i])
    return SampleScore(sum(means) / len(means), interval, len(means), count, "runs")


@dataclass(frozen=True)
class Contrast:
    """Sample ``a`` against sample ``b``: the difference of mean held-out scores, a minus b.

    ``unit``: "episodes" (or "lives" of several each) where a sample has one run (it speaks of these
    policies), "runs" where both have several (it speaks of what such runs find). ``paired``: both
    met the same held-out seeds. ``counts``: how many units a and b have; where paired, the pairs.
    ``p`` is two-sided, ``adjusted`` is Holm's over all contrasts of the task and measure; None: too
    few to tell.
    """

    a: str
    b: str
    measure: Measure
    difference: float
    interval: Interval | None
    unit: str
    paired: bool
    counts: tuple[int, int]
    p: float | None
    adjusted: float | None = None


def contrasts(samples: Sequence[Sample], measure: Measure) -> tuple[Contrast, ...]:
    """Return all pairs of samples with held-out episodes, their p-values adjusted by Holm."""
    tested = [s for s in samples if s.tests and all(episode_values(t, measure) for t in s.tests)]
    pairs = [contrast(a, b, measure) for a, b in itertools.combinations(tested, 2)]
    adjusted = iter(holm([c.p for c in pairs if c.p is not None]))
    return tuple(replace(c, adjusted=None if c.p is None else next(adjusted)) for c in pairs)


def contrast(a: Sample, b: Sample, measure: Measure) -> Contrast:
    """Compare two samples that both have held-out episodes.

    Of policies, not of several runs, the worst tenths have an interval by the bootstrap over pairs,
    and no p-value.
    """
    by_run = len(a.tests) > 1 and len(b.tests) > 1
    left, right = (_units(sample, measure, by_run=by_run) for sample in (a, b))
    shared = [key for key in left if key in right]
    paired = len(shared) > 1 and (not by_run or left.keys() == right.keys())
    if paired:  # what met the same seeds counts once
        x, y = (np.array([np.mean(units[key]) for key in shared]) for units in (left, right))
    else:
        x, y = (np.concatenate(list(units.values())) for units in (left, right))
    tail = measure == TENTH and not by_run
    if tail:
        interval = _tail_interval(x, y, paired=paired)
    else:
        interval = mean_interval((x - y).tolist()) if paired else _unpaired_interval(x, y)
    return Contrast(
        a=a.label,
        b=b.label,
        measure=measure,
        difference=worst_tenth(x.tolist()) - worst_tenth(y.tolist())
        if tail
        else float(x.mean() - y.mean()),
        interval=interval,
        unit="runs" if by_run else "lives" if a.tests[0].life > 1 else "episodes",
        paired=paired,
        counts=(len(x), len(y)),
        p=None if tail else _paired_p(x, y) if paired else _unpaired_p(x, y),
    )


def _tail_interval(x: Values, y: Values, *, paired: bool) -> Interval | None:
    """Return the bootstrap interval of the difference of worst tenths; None where unpaired."""
    if not paired:
        return None
    low, high = np.quantile(tail_differences(x.tolist(), y.tolist()), [0.025, 0.975])
    return Interval(float(low), float(high))


def _units(sample: Sample, measure: Measure, *, by_run: bool) -> dict[Hashable, list[float]]:
    """Return scores by what they can be paired by: the held-out seed, or all of a run's seeds.

    Where a policy object lives through several episodes, a life counts once, by its first seed.
    """
    units: dict[Hashable, list[float]] = defaultdict(list)
    for test in sample.tests:
        values = episode_values(test, measure)
        if by_run:
            whole = worst_tenth(test.life_returns) if measure == TENTH else float(np.mean(values))
            units[test.seeds].append(whole)
        else:
            pairs = in_lives(zip(test.seeds, values, strict=False), test.life, lambda pair: pair[0])
            for lived in pairs:
                units[lived[0][0]].append(float(np.mean([x for _, x in lived])))
    return units


def holm(values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: the smallest level at which each would be rejected."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    adjusted, highest = [0.0] * len(values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[i]))
        adjusted[i] = highest
    return adjusted


def _paired_p(x: Values, y: Values) -> float | None:
    """Return the p-value of Wilcoxon's signed-rank test, of McNemar's exact one for successes."""
    from scipy import stats

    difference = x - y
    changed = difference[difference != 0]
    if len(x) < 2:
        return None
    if not changed.size:
        return 1.0
    if _is_binary(x) and _is_binary(y):
        return float(stats.binomtest(int((changed > 0).sum()), changed.size).pvalue)
    return float(stats.wilcoxon(difference, method=_method(len(difference))).pvalue)


def _unpaired_p(x: Values, y: Values) -> float | None:
    """Return the p-value of Mann and Whitney's test, of Fisher's exact one for successes."""
    from scipy import stats

    if min(len(x), len(y)) < 2:
        return None
    if len(np.unique(np.concatenate([x, y]))) == 1:
        return 1.0
    if _is_binary(x) and _is_binary(y):
        table = [[int(v.sum()), int(len(v) - v.sum())] for v in (x, y)]
        return float(stats.fisher_exact(table).pvalue)
    return float(stats.mannwhitneyu(x, y, method=_method(len(x) + len(y))).pvalue)


def _method(count: int) -> Any:  # noqa: ANN401 - SciPy takes a word or an object
    """Return SciPy's method: all arrangements of up to 13 values, so that ties do no harm."""
    from scipy import stats

    return stats.PermutationMethod() if count <= 13 else "auto"


def _unpaired_interval(x: Values, y: Values) -> Interval | None:
    """Return the percentile-bootstrap interval of the difference of two samples' means."""
    if min(len(x), len(y)) < 2:
        return None
    rng = np.random.default_rng(0)
    means = [rng.choice(v, (_RESAMPLES, len(v))).mean(axis=1) for v in (x, y)]
    low, high = np.quantile(means[0] - means[1], [0.025, 0.975])
    return Interval(float(low), float(high))


def _is_binary(values: Values) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())
