"""The tables of a comparison: held-out scores, metrics, tests of the differences, runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from promptpo.common import text
from promptpo.common.blocks import Cell, Table, num
from promptpo.comparison.groups import Panel
from promptpo.comparison.scores import (
    TENTH,
    Contrast,
    Measure,
    Sample,
    contrasts,
    levels,
    sample_score,
)
from promptpo.stats import Interval
from promptpo.store.run import Run


def tables(panel: Panel) -> list[Table]:
    """Return the tables of a task: scores and references, metrics and tests if any, runs."""
    further = (*metrics_table(panel.groups), *contrasts_table(panel.groups, panel.measures))
    return [scores_table(panel), *further, runs_table(panel)]


def letter(number: int) -> str:
    """Return how tables call the first, second, ... of what they compare: A, B, ..."""
    return chr(ord("A") + number) if number < 26 else f"#{number + 1}"


def scores_table(panel: Panel) -> Table:
    """Return held-out scores: a row for each group, then for each known behaviour."""
    rows, shown = [], score_columns(panel.measures)
    for number, group in enumerate(panel.groups):
        steps = [run.usage.searched for run in group.runs]
        statuses = Counter(run.status for run in group.runs)
        states = [f"{count} {status}" for status, count in statuses.items()]
        rows.append((
            Cell(letter(number) if len(panel.groups) > 1 else ""),
            Cell(group.label),
            num(len(group.runs)),
            *score_cells(group, panel.measures),
            num(round(sum(steps) / len(steps))),
            _cost_cell(group.runs),
            Cell("" if statuses.keys() == {"finished"} else ", ".join(states)),
        ))  # fmt: skip
    for name, score in panel.references.items():
        values = {m: levels({name: score}, m).get(name) for m in ("success", TENTH, "return")}
        cells = [
            _mean_cell(v, None, m)
            if m in panel.measures and (v := values.get(m)) is not None
            else Cell()
            for m in shown
        ]
        blank = Cell()
        rows.append((Cell(kind="faint"), Cell(name), blank, *cells, blank, blank, blank))
    columns = ("", "", "runs", *shown, "steps", "cost", "state")
    return Table("Held-out scores", columns, tuple(rows))


def score_columns(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """Return the heads of the columns of ``score_cells``: metrics are not among them."""
    return ("success", *(m for m in measures if m in (TENTH, "return")))


def metrics_table(samples: Sequence[Sample]) -> list[Table]:
    """Return a table with a row for each metric of each sample; none where the task has none."""
    tests = [test for sample in samples for test in sample.tests]
    rows = []
    for first in tests[0].readings if tests else ():
        for number, sample in enumerate(samples):
            score = sample_score(sample, first.name)
            readings = [r for t in sample.tests for r in t.readings if r.name == first.name]
            if score is None:
                continue
            every = replace(first, values=tuple(v for r in readings for v in r.values))
            row = (
                Cell("" if number else first.name),
                Cell(letter(number) if len(samples) > 1 else ""),
                _mean_cell(score.mean, score.interval, first.name),
                Cell(first.gauge.unit),
                Cell(text.held_words(every)),
                Cell("" if number else text.bound_words(first.gauge) or first.gauge.better),
            )
            rows.append(row)
    columns = ("", "", "mean, 95% interval", "unit", "constraint", "wanted")
    return [Table("What else was measured", columns, tuple(rows))] if rows else []


def score_cells(sample: Sample, measures: Sequence[Measure]) -> tuple[Cell, ...]:
    """Return cells of a sample's scores; blank for what it does not have."""
    scores = {m: sample_score(sample, m) for m in score_columns(measures) if m in measures}
    cells = {m: _mean_cell(s.mean, s.interval, m) for m, s in scores.items() if s}
    return tuple(cells.get(m, Cell()) for m in score_columns(measures))


def contrasts_table(samples: Sequence[Sample], measures: Sequence[Measure]) -> list[Table]:
    """Return a table of each pair of samples with held-out episodes; none where there is no pair.

    A pair has a row for each measure.
    """
    letters = {sample.label: letter(i) for i, sample in enumerate(samples)}
    rows = tuple(
        (
            Cell(f"{letters[c.a]} - {letters[c.b]}"),
            Cell(measure),
            _mean_cell(c.difference, c.interval, measure, sign="+"),
            *(num(-1.0 if p is None else p, text.p_value(p)) for p in (c.p, c.adjusted)),
            Cell(over_words(c)),
        )
        for measure in measures
        for c in contrasts(samples, measure)
    )
    columns = ("", "", "a - b, 95% interval", "p", "p (Holm)", "over")
    return [Table("Tests", columns, rows)] if rows else []


def runs_table(panel: Panel) -> Table:
    """Return a row for each run: what it has, whether or not it came to its end."""
    rows = []
    for number, group in enumerate(panel.groups):
        for run in group.runs:
            test = run.held_out
            score = "none yet" if run.status == "running" else "none"
            if test is not None:
                score = str(test.score)
            elif run.evidence is not None:
                score = f"{run.evidence.score} in {run.evidence.stream}"
            rows.append((
                Cell(f"{run.folder.name} {run.name}".rstrip()),
                Cell(letter(number) if len(panel.groups) > 1 else ""),
                num(run.settings.get("seed"), str(run.settings.get("seed", ""))),
                Cell(run.status),
                Cell(score),
                num(run.usage.searched),
                _cost_cell([run]),
            ))  # fmt: skip
    columns = ("run", "", "seed", "state", "score", "steps", "cost")
    return Table("Runs", columns, tuple(rows))


def _cost_cell(runs: Sequence[Run]) -> Cell:
    """Return the mean cost of runs, unknown where one price is; blank where no model is asked."""
    if not any(run.asks_model for run in runs):
        return Cell()
    costs = [cost for run in runs if (cost := run.usage.cost) is not None]
    if len(costs) < len(runs):
        return num(-1.0, "unknown")
    return num(sum(costs) / len(costs), text.money(sum(costs) / len(costs)))


def over_words(c: Contrast) -> str:
    """Return ``50 paired episodes``; ``3 and 4 runs, unpaired``."""
    if c.paired:
        return f"{c.counts[0]} paired {c.unit}"
    return f"{c.counts[0]} and {c.counts[1]} {c.unit}, unpaired"


def _mean_cell(mean: float, interval: Interval | None, measure: Measure, sign: str = "") -> Cell:
    """Return ``0.50 (0.09 to 0.91)``; with a sign ``+58 (40 to 70)``."""

    def words(x: float) -> str:
        number = f"{x:.2f}" if measure == "success" else text.number(x)
        return f"{sign if x > 0 else ''}{number}"

    number = words(mean)
    if interval is not None:
        number += f" ({words(interval.low)} to {words(interval.high)})"
    return num(mean, number)
