"""Held-out scores of what is compared, with their intervals."""

from __future__ import annotations

from dataclasses import dataclass

from promptpo.comparison.measures import Measure, Sample, episode_values
from promptpo.stats import Interval, hull, mean_interval, success_interval


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
    """The held-out score of a sample; None where no run has one.

    One run: the interval is over its episodes (bootstrap; Wilson's for success), or its lives, and
    speaks of its policy. Several: it is over the runs' means (bootstrap) and speaks of what another
    run would find; of success rates it is the wider of that and Wilson's over all episodes, because
    a bootstrap sees no doubt where every run scores the same.
    """
    if not sample.tests:
        return None
    per_run = [episode_values(test, measure) for test in sample.tests]
    means = [sum(values) / len(values) for values in per_run]
    count = sum(map(len, per_run))
    if len(means) == 1:
        (test,) = sample.tests
        interval = test.success_interval if measure == "success" else test.return_interval
        unit = "episodes" if test.life == 1 else "lives"
        return SampleScore(means[0], interval, 1, count, unit)
    interval = mean_interval(means)
    if measure == "success":
        wilson = success_interval(round(sum(map(sum, per_run))), count)
        interval = hull([i for i in (interval, wilson) if i])
    return SampleScore(sum(means) / len(means), interval, len(means), count, "runs")
