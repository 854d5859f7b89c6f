"""What the cells of a suite say of its methods over all specs, and what they cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from promptpo.bench.cells import Played
from promptpo.bench.statistics import (
    AGGREGATES,
    Estimate,
    Profile,
    Values,
    estimate,
    estimate_improvement,
    profile,
)
from promptpo.common import text

#: Points of a performance profile.
_POINTS = 101


@dataclass(frozen=True)
class Improvement:
    """The probability that a run of ``a`` beats one of ``b``, averaged over specs."""

    a: str
    b: str
    estimate: Estimate


@dataclass(frozen=True)
class Aggregates:
    """Over the specs that all methods have been scored on.

    Attributes:
        specs: those that count.
        left_out: the others, with the reason.
        absent: methods that no spec could be averaged for, with the reason.
        scores: normalized scores by method, runs x specs.
        methods: aggregates by method and name (``promptpo.bench.statistics.AGGREGATES``).
        profiles: by method, all at the same thresholds.
        improvements: one for each ordered pair of methods.
    """

    specs: tuple[str, ...]
    left_out: Mapping[str, str]
    absent: Mapping[str, str]
    scores: Mapping[str, Values]
    methods: Mapping[str, Mapping[str, Estimate]]
    profiles: Mapping[str, Profile]
    improvements: tuple[Improvement, ...]

    @property
    def runs(self) -> Mapping[str, int]:
        """How many runs a method has of each spec."""
        return {label: len(scores) for label, scores in self.scores.items()}


def aggregates(played: Played) -> Aggregates:
    """Average over specs what can be averaged.

    Left out first, and said to be, is a method that has no score at all or that the suite does not
    have on all its specs. Of the others, a spec counts where its scale is known and every method
    has a score in every seed: one that has failed on a hard spec shall not gain by it.
    """
    absent = {m: reason for m in played.labels if (reason := _why_absent(played, m))}
    labels = [label for label in played.labels if label not in absent]
    left_out = {
        spec: reason for spec in played.suite.specs if (reason := _why_not(played, spec, labels))
    }
    specs = tuple(spec for spec in played.suite.specs if spec not in left_out)
    if not specs or not labels:
        return Aggregates((), left_out, absent, {}, {}, {}, ())
    scores = {label: _matrix(played, specs, label) for label in labels}
    thresholds = _thresholds(scores)
    return Aggregates(
        specs,
        left_out,
        absent,
        scores,
        {
            label: {name: estimate(function, found) for name, function in AGGREGATES.items()}
            for label, found in scores.items()
        },
        {label: profile(found, thresholds) for label, found in scores.items()},
        tuple(
            Improvement(a, b, estimate_improvement(scores[a], scores[b]))
            for a, b in permutations(labels, 2)
        ),
    )


def _why_absent(played: Played, label: str) -> str:
    """Why a method is not averaged at all; empty where it is."""
    specs = played.suite.specs
    cells = {spec: played.of(spec, label) for spec in specs}
    if not any(cell.score is not None for found in cells.values() for cell in found):
        return "no run has a score"
    run = [spec for spec, found in cells.items() if any(not cell.is_idle for cell in found)]
    return f"it is run on {len(run)} of {len(specs)} specs" if len(run) < len(specs) else ""


def _why_not(played: Played, spec: str, labels: list[str]) -> str:
    """Why a spec does not count; empty where it does."""
    cells = [cell for cell in played.on(spec) if cell.cell.label in labels]
    missing = [cell for cell in cells if cell.score is None]
    if missing:
        first = missing[0]
        more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"{first.cell.label}, seed {first.cell.seed}: {first.why_missing}{more}"
    for label in labels:
        planned = max(len(played.of(s, label)) for s in played.suite.specs)
        if len(played.of(spec, label)) < planned:
            return f"{label} has fewer runs on it than elsewhere"
    if any(cell.normalized is None for cell in cells):
        return "no score to stand for 0 or for 1 is known"
    return ""


def _matrix(played: Played, specs: tuple[str, ...], label: str) -> Values:
    """Normalized scores of a method, runs x specs."""
    columns = [[c.normalized for c in played.of(spec, label)] for spec in specs]
    return np.array(columns, dtype=np.float64).T


def _thresholds(scores: Mapping[str, Values]) -> Values:
    """From 0 to 1, and on to the best; what lies far below random is not drawn."""
    best = max(float(found.max()) for found in scores.values())
    return np.linspace(0.0, min(max(1.0, best * 1.02), 2.0), _POINTS)


def notes(played: Played, found: Aggregates) -> list[str]:
    """What a reader of the numbers must know, the weightiest first."""
    return [*_runs_notes(played), *_missing_notes(played, found), *_run_notes(played)]


def runs_words(played: Played) -> str:
    """``3 runs each``: of each method on each spec; ``1 to 3 runs each`` where methods differ."""
    every = {len(played.of(s, label)) for s in played.suite.specs for label in played.labels}
    counts = every - {0}  # a method may be on some of the specs only
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{text.plural(high, 'run')} each" if low == high else f"{low} to {high} runs each"


def _runs_notes(played: Played) -> Iterator[str]:
    counts = {
        label: max((len(played.of(s, label)) for s in played.suite.specs), default=0)
        for label in played.labels
    }
    single = [label for label, count in counts.items() if count == 1]
    if single:
        whose = "Every method has" if len(single) == len(counts) else f"{', '.join(single)}:"
        yield (
            f"{whose} one run on each spec. The interval of such a score is over its held-out"
            " episodes: it tells how well that one policy does, not what another run of the method"
            " would find. A lead on a single spec may be the luck of a run, even where the"
            " intervals lie apart; averages over specs have no interval, because the spread between"
            " runs is not known. What one run can show: that a score is within reach, and at what"
            " price."
        )
    few = {count for count in counts.values() if 1 < count < 5}
    if few:
        most = text.plural(max(few), "run")
        yield (
            f"With {most} of a method on a spec the intervals are rough: a bootstrap of so few"
            " values comes out too narrow rather than too wide."
        )
    yield (
        "Intervals are 95%. Those of averages over specs draw the runs of each spec anew"
        " (stratified bootstrap): they speak of other runs on these specs, not of other specs."
    )


def _missing_notes(played: Played, found: Aggregates) -> Iterator[str]:
    missing = [c for c in played.cells if c.score is None]
    if missing:
        yield (
            f"{len(missing)} of {text.plural(len(played.cells), 'run')} without a held-out score;"
            " each is shown with its reason, and none is counted as a score."
        )
    for label, reason in found.absent.items():
        yield f"{label} is not in the averages over specs: {reason}."
    for spec, reason in found.left_out.items():
        yield f"{spec} is not in the averages over specs: {reason}."
    for task, reason in played.suite.absent.items():
        yield f"{task} is part of what this suite stands for, and is not in it: {reason}."


def _run_notes(played: Played) -> Iterator[str]:
    runs = [(c, c.history.run) for c in played.cells if c.history is not None]
    replayed = dict.fromkeys(cell.cell.label for cell, run in runs if run.replayed)
    if replayed:
        yield (
            f"{', '.join(replayed)}: replies come from recordings; a spread over seeds is that of"
            " the episodes, not of the model."
        )
    for spec in played.suite.specs:
        if (
            len({run.header.get("spec", {}).get("sha") for c, run in runs if c.cell.spec == spec})
            > 1
        ):
            yield f"{spec}: its file has changed between the runs; they are not on the same task."
