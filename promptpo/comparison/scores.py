"""Held-out scores of what is compared, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from promptpo.comparison.measures import Measure, Sample, episode_values
from promptpo.stats import Interval, mean_interval, success_interval


@dataclass(frozen=True)
class SampleScore:
    """Mean held-out score of a sample's runs.

    ``unit`` says over what the interval is taken: "runs" where there are several, else "episodes".
    """

    mean: float
    interval: Interval | None
    runs: int
    episodes: int
    unit: str


def sample_score(sample: Sample, measure: Measure) -> SampleScore | None:
    """The held-out score of a sample; None where no run has one.

    One run: the interval is over its episodes (bootstrap; Wilson's for success) and speaks of its
    policy. Several: it is over the runs' means (bootstrap) and speaks of what another run would
    find; of success rates it is the wider of that and Wilson's over all episodes, because a
    bootstrap sees no doubt where every run scores the same.
    """
    per_run = [episode_values(test, measure) for test in sample.tests]
    if not per_run:
        return None
    means = [sum(values) / len(values) for values in per_run]
    everything = [x for values in per_run for x in values]
    several = len(means) > 1
    interval = mean_interval(means if several else everything)
    if measure == "success":
        wilson = success_interval(round(sum(everything)), len(everything))
        interval = _hull([i for i in (interval if several else None, wilson) if i])
    unit = "runs" if several else "episodes"
    return SampleScore(sum(means) / len(means), interval, len(means), len(everything), unit)


def _hull(intervals: Sequence[Interval]) -> Interval | None:
    if not intervals:
        return None
    return Interval(min(i.low for i in intervals), max(i.high for i in intervals))
