"""Results of a suite's runs: scores on held-out episodes, averages over specs, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from promptpo.common import text
from promptpo.common.blocks import Chart
from promptpo.comparison.comparison import curve_rows, plain, run_record
from promptpo.comparison.curves import AXES, Axis, Curve, curve, curves_chart
from promptpo.comparison.groups import Group, Panel
from promptpo.comparison.scores import TENTH, Measure, SampleScore, sample_score, value
from promptpo.errors import PromptPOError
from promptpo.matrix.statistics import (
    AGGREGATES,
    Estimate,
    Profile,
    Values,
    estimate,
    improvement,
    profile,
)
from promptpo.matrix.suite import Scale, Suite
from promptpo.stats import Interval
from promptpo.store.run import Run, load_run
from promptpo.types import Score
from promptpo.version import __version__

#: Format of ``comparison.json``; a change that readers must know of raises it.
FORMAT = 1

#: Columns of ``cells.csv`` and ``curves.csv``.
CELLS = (
    "method", "spec", "seed", "state", "reason", "missing", "measure", "score", "low", "high",
    "normalized", "test_return", "test_success", "test_episodes", "search_score", "search_steps",
    "tuning_steps", "selection_steps", "test_steps", "calls", "prompt_tokens",
    "completion_tokens", "cost", "seconds", "replayed", "run",
)  # fmt: skip
CURVES = ("spec", "method", "axis", "measure", "x", "search_score", "low", "high", "runs")

#: Points of a performance profile.
_POINTS = 101


@dataclass(frozen=True)
class BenchRun:
    """One run of a suite, as it is planned and as its folder records it.

    Attributes:
        label: of its method.
        spec: name of the spec.
        seed: of the run.
        folder: its folder, relative to that of the suite; empty where it has not begun.
        problem: why it was not begun, or why its process failed.
        damage: why its folder cannot be read.
        record: the run as its folder records it; None where none can be read.
    """

    label: str
    spec: str
    seed: int
    folder: str = ""
    problem: str = ""
    damage: str = ""
    record: Run | None = None
    measure: Measure = "return"
    scale: Scale | None = None

    @property
    def state(self) -> str:
        """Status of the run; without a record ``unreadable``, ``not run`` or ``not begun``."""
        if self.record is not None:
            return self.record.status
        return "unreadable" if self.damage else "not run" if self.problem else "not begun"

    @property
    def reason(self) -> str:
        """Reason of its end, or why there is no record; may be empty."""
        recorded = self.record.reason if self.record is not None else ""
        return self.damage or recorded or self.problem

    @property
    def ended(self) -> str:
        """The state and the reason in a phrase."""
        state, reason = self.state, self.reason
        return f"{state}: {reason}" if reason not in ("", state) else state

    @property
    def why_missing(self) -> str:
        """Reason why it has no score, in a phrase; empty where it has one."""
        if self.score is not None:
            return ""
        if self.state in ("finished", "stopped"):
            return f"{self.state} without a policy that was scored on held-out episodes"
        return self.ended

    @cached_property
    def held_out(self) -> SampleScore | None:
        """Held-out score of its policy, with an interval over episodes."""
        runs = () if self.record is None else (self.record,)
        return sample_score(Group(self.label, runs), self.measure)

    @property
    def score(self) -> float | None:
        """Held-out score in one number; None where there is none."""
        return None if self.held_out is None else self.held_out.mean

    @property
    def normalized(self) -> float | None:
        """Held-out score on the scale of its spec."""
        return None if self.score is None or not self.scale else self.scale.normalize(self.score)

    def as_dict(self) -> dict[str, object]:
        """Return plain values by the names of CELLS; None where the run has none.

        ``low`` and ``high`` bound ``score`` over held-out episodes; ``search_score`` is the best in
        search, and optimistic.
        """
        values: dict[str, object] = {}
        if self.record is not None:
            run, usage = self.record, self.record.usage
            values = {
                **run_record(run),
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "seconds": round(run.elapsed, 1),
                "replayed": run.replayed,
            }
            if points := run.points:
                values["search_score"] = value(points[-1].best, self.measure)
        values |= {
            "method": self.label, "spec": self.spec, "seed": self.seed, "state": self.state,
            "reason": self.reason, "missing": self.why_missing, "measure": self.measure,
            "score": self.score, **_ends(self.held_out.interval if self.held_out else None),
            "normalized": self.normalized, "run": self.folder or None,
            "test_episodes": self.held_out.episodes if self.held_out else None,
        }  # fmt: skip
        return {name: values.get(name) for name in CELLS}


def read_results(folder: Path, suite: Suite, runs: Iterable[BenchRun]) -> BenchResults:
    """Read the records of a suite's runs from its folder; a run that cannot be read says so."""
    read = [_read(folder, run) for run in runs]
    begun = {r.spec for r in read if r.record is not None}
    succeed = {r.spec for r in read if r.record is not None and r.record.defines_success}
    scored = [(r.spec, s) for r in read if r.record is not None for s in _scores(r.record)]
    by_mean = {spec for spec, score in scored if score.worst_tenth is None}
    by_tail = {spec for spec, _ in scored} - by_mean
    lacking = {"success": begun - succeed, TENTH: by_mean}
    filled = []
    for run in read:
        scale = suite.scales.get(run.spec)
        if scale and run.spec in lacking.get(scale.measure, ()):
            scale = None  # of another task of this name: no score of this one lies on it
        ranks = TENTH if run.spec in by_tail else "return"
        measure: Measure = "success" if run.spec in succeed else ranks
        filled.append(replace(run, scale=scale, measure=scale.measure if scale else measure))

    def place(run: BenchRun) -> tuple[int, ...]:
        pairs = ((suite.specs, run.spec), (suite.labels, run.label))
        at = [names.index(name) if name in names else len(names) for names, name in pairs]
        return (*at, run.seed)

    return BenchResults(suite, tuple(sorted(filled, key=place)))


def _scores(run: Run) -> list[Score]:
    """Return the best score of search and the held-out one, as far as there are such."""
    scores = [run.best_score, run.held_out.score if run.held_out else None]
    return [score for score in scores if score is not None and not score.failed]


def _read(folder: Path, run: BenchRun) -> BenchRun:
    if not run.folder:
        return run
    try:
        return replace(run, record=load_run(folder / run.folder))
    except (PromptPOError, OSError) as e:
        return replace(run, damage=str(e))


@dataclass(frozen=True)
class Aggregates:
    """Averages over the specs that all methods have been scored on.

    Attributes:
        specs: those that count.
        left_out: the others, with the reason.
        absent: methods that could not be averaged, with the reason.
        scores: normalized scores by method, runs x specs.
        methods: estimates by method and name (``promptpo.matrix.statistics.AGGREGATES``).
        profiles: by method, all at the same thresholds.
        improvements: probability that a run of one method beats one of the other, by ordered pair.
    """

    specs: tuple[str, ...]
    left_out: Mapping[str, str]
    absent: Mapping[str, str]
    scores: Mapping[str, Values]
    methods: Mapping[str, Mapping[str, Estimate]]
    profiles: Mapping[str, Profile]
    improvements: Mapping[tuple[str, str], Estimate]


@dataclass(frozen=True)
class BenchResults:
    """A suite with all its runs, in the order of specs, methods and seeds."""

    suite: Suite
    runs: tuple[BenchRun, ...]

    def of(self, spec: str, label: str) -> list[BenchRun]:
        """Return the runs of a method on a spec."""
        return [run for run in self.runs if (run.spec, run.label) == (spec, label)]

    def measure(self, spec: str) -> Measure:
        """Return the measure by which a spec is scored."""
        return next((run.measure for run in self.runs if run.spec == spec), "return")

    def counts(self, label: str) -> list[int]:
        """Return the number of runs of a method on each spec."""
        return [len(self.of(spec, label)) for spec in self.suite.specs]

    @property
    def missing(self) -> int:
        """Number of runs without a score."""
        return sum(run.score is None for run in self.runs)

    @property
    def runs_words(self) -> str:
        """``3 runs each``: of each method on each spec; ``1 to 3 runs each`` where they differ."""
        counts = {count for label in self.suite.labels for count in self.counts(label)} - {0}
        low, high = min(counts, default=0), max(counts, default=0)
        return f"{text.plural(high, 'run')} each" if low == high else f"{low} to {high} runs each"

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """Specs that a run has begun on, as ``promptpo compare`` draws them."""
        panels = {}
        for spec in self.suite.specs:
            groups = []
            for label in self.suite.labels:
                records = tuple(r.record for r in self.of(spec, label) if r.record is not None)
                if records:
                    groups.append(Group(label, records))
            if groups:
                panels[spec] = Panel(spec, tuple(groups))
        return panels

    @cached_property
    def scores(self) -> dict[tuple[str, str], SampleScore]:
        """Held-out scores by spec and method, over the runs that have one."""
        return {
            (spec, group.label): score
            for spec, panel in self.panels.items()
            for group in panel.groups
            if (score := sample_score(group, self.measure(spec))) is not None
        }

    @cached_property
    def curves(self) -> dict[tuple[str, str, Axis], Curve]:
        """Learning curves by spec, method and axis."""
        return {
            (spec, group.label, axis): drawn
            for spec, panel in self.panels.items()
            for group in panel.groups
            for axis in AXES
            if (drawn := curve(group, axis, self.measure(spec))) is not None
        }

    def chart(self, spec: str, axis: Axis) -> Chart | None:
        """Return the learning curves of a spec as a chart; None where there is none."""
        panel = self.panels.get(spec)
        if panel is None:
            return None
        places = {g.label: (spec, g.label, axis) for g in panel.groups}
        curves = {m: self.curves[place] for m, place in places.items() if place in self.curves}
        return curves_chart(panel, axis, self.measure(spec), curves)

    @cached_property
    def aggregates(self) -> Aggregates:
        """Averages over specs.

        Left out first is a method that has no score at all or that the suite does not have on all
        its specs. Of the others, a spec counts where its scale is known and every method has a
        score in every seed: one that has failed on a hard spec shall not gain by it.
        """
        every = self.suite.labels
        absent = {label: why for label in every if (why := self._why_absent(label))}
        labels = [label for label in every if label not in absent]
        left_out = {s: why for s in self.suite.specs if (why := self._why_left_out(s, labels))}
        specs = tuple(spec for spec in self.suite.specs if spec not in left_out)
        if not specs or not labels:
            return Aggregates((), left_out, absent, {}, {}, {}, {})
        scores: dict[str, Values] = {
            m: np.array([[r.normalized for r in self.of(s, m)] for s in specs], np.float64).T
            for m in labels
        }
        best = max(float(values.max()) for values in scores.values())
        # From 0 to 1, and on to the best; what lies far below random is not drawn.
        thresholds = np.linspace(0.0, min(max(1.0, best * 1.02), 2.0), _POINTS)
        return Aggregates(
            specs,
            left_out,
            absent,
            scores,
            {m: {n: estimate(f, s) for n, f in AGGREGATES.items()} for m, s in scores.items()},
            {m: profile(values, thresholds) for m, values in scores.items()},
            {
                (a, b): estimate(improvement, scores[a], scores[b])
                for a, b in permutations(labels, 2)
            },
        )

    def _why_absent(self, label: str) -> str:
        """Return why a method is not averaged at all; empty where it is."""
        runs = [run for run in self.runs if run.label == label]
        if all(run.score is None for run in runs):
            return "no run has a score"
        begun, every = {r.spec for r in runs if r.state != "not run"}, len(self.suite.specs)
        return f"it is run on {len(begun)} of {every} specs" if len(begun) < every else ""

    def _why_left_out(self, spec: str, labels: Sequence[str]) -> str:
        """Return why a spec does not count; empty where it does."""
        runs = [run for run in self.runs if run.spec == spec and run.label in labels]
        missing = [run for run in runs if run.score is None]
        if missing:
            first = missing[0]
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f"{first.label}, seed {first.seed}: {first.why_missing}{more}"
        for label in labels:
            if len(self.of(spec, label)) < max(self.counts(label)):
                return f"{label} has fewer runs on it than elsewhere"
        if any(run.normalized is None for run in runs):
            return "no score to stand for 0 or for 1 is known"
        return ""

    @cached_property
    def notes(self) -> list[str]:
        """Sentences that a reader of the numbers must know, the weightiest first."""
        return [*self._notes_on_intervals(), *self._notes_on_runs()]

    def _notes_on_intervals(self) -> Iterator[str]:
        counts = {label: max(self.counts(label), default=0) for label in self.suite.labels}
        single = [label for label, count in counts.items() if count == 1]
        if single:
            whose = "Every method has" if len(single) == len(counts) else f"{', '.join(single)}:"
            yield (
                f"{whose} one run on each spec. The interval of such a score is over its held-out"
                " episodes: it tells how well that one policy does, not what another run of the"
                " method would find. A lead on a single spec may be the luck of a run, even where"
                " the intervals lie apart; averages over specs have no interval, because the spread"
                " between runs is not known. What one run can show: that a score is within reach,"
                " and at what price."
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

    def _notes_on_runs(self) -> Iterator[str]:
        if self.missing:
            yield (
                f"{self.missing} of {text.plural(len(self.runs), 'run')} without a held-out score;"
                " each is shown with its reason, and none is counted as a score."
            )
        averages = self.aggregates
        for name, reason in [*averages.absent.items(), *averages.left_out.items()]:
            yield f"{name} is not in the averages over specs: {reason}."
        for task, reason in self.suite.absent.items():
            yield f"{task} is part of what this suite stands for, and is not in it: {reason}."
        read = [(run, run.record) for run in self.runs if run.record is not None]
        replayed = dict.fromkeys(run.label for run, record in read if record.replayed)
        if replayed:
            yield (
                f"{', '.join(replayed)}: replies come from recordings; a spread over seeds is that"
                " of the episodes, not of the model."
            )
        for spec in self.suite.specs:
            files = {r.header.get("spec", {}).get("sha") for run, r in read if run.spec == spec}
            if len(files) > 1:
                yield (
                    f"{spec}: its file has changed between the runs; they are not on the same task."
                )

    def curve_records(self) -> Iterator[dict[str, object]]:
        """Yield the steps of learning curves: the best search score so far, the mean over runs."""
        for (spec, label, axis), c in self.curves.items():
            head = (spec, label, axis, self.measure(spec))
            for row in curve_rows(c):
                yield dict(zip(CURVES, (*head, *row), strict=True))

    def as_dict(self, notes: Sequence[str]) -> dict[str, Any]:
        """Return all numbers but the curves, as ``comparison.json`` has them."""
        averages = self.aggregates
        pairs = [(spec, label) for spec in self.suite.specs for label in self.suite.labels]
        return {
            "format": FORMAT,
            "promptpo": __version__,
            "suite": self.suite.as_dict(),
            "notes": list(notes),
            "cells": [run.as_dict() for run in self.runs],
            "scores": [self._score_record(*pair) for pair in pairs],
            "aggregates": {
                "specs": list(averages.specs),
                "left_out": dict(averages.left_out),
                "methods_left_out": dict(averages.absent),
                "runs_per_cell": {label: len(runs) for label, runs in averages.scores.items()},
                "methods": {
                    label: {name: _estimate(e) for name, e in estimates.items()}
                    for label, estimates in averages.methods.items()
                },
                "probability_of_improvement": [
                    {"a": a, "b": b, **_estimate(e)} for (a, b), e in averages.improvements.items()
                ],
                "performance_profiles": {
                    label: {name: list(map(plain, x)) for name, x in asdict(curve).items()}
                    for label, curve in averages.profiles.items()
                },
            },
        }

    def _score_record(self, spec: str, label: str) -> dict[str, object]:
        """Return a method's score on a spec; ``unit`` is what the interval is taken over."""
        score, runs = self.scores.get((spec, label)), self.of(spec, label)
        scale = runs[0].scale if runs else None
        return {
            "spec": spec,
            "method": label,
            "measure": self.measure(spec),
            "cells": len(runs),
            "runs": score.runs if score else 0,
            "missing": [run.why_missing for run in runs if run.why_missing],
            "score": score.mean if score else None,
            **_ends(score.interval if score else None),
            "unit": score.unit if score else None,
            "normalized": scale.normalize(score.mean) if scale and score else None,
        }


def _estimate(estimate: Estimate) -> dict[str, object]:
    return {"value": estimate.value, **_ends(estimate.interval)}


def _ends(interval: Interval | None) -> dict[str, object]:
    """Return the ends of an interval by their names."""
    if interval is None:
        return {"low": None, "high": None}
    return {"low": interval.low, "high": interval.high}
