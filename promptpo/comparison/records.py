"""A comparison as numbers: tables of plain values, and the CSV files that hold them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from promptpo.comparison.curves import Axis, Curve, curve
from promptpo.comparison.groups import History, Panel
from promptpo.comparison.scores import Contrast, contrasts
from promptpo.stats import Interval
from promptpo.types import Stream

#: A row of a table: plain values by the names of their columns; None is what a run does not have.
Record = dict[str, object]

_STREAMS: tuple[Stream, ...] = ("search", "tuning", "selection", "test")

#: Columns of the tables.
COLUMNS: Mapping[str, Sequence[str]] = {
    "scores": ("spec", "group", "run", "seed", "status", "reason", "best", "search_return",
               "search_success", "test_return", "test_success", "test_episodes", "search_steps",
               "tuning_steps", "selection_steps", "test_steps", "calls", "cost"),
    "tests": ("spec", "measure", "a", "b", "difference", "low", "high", "p", "p_holm", "unit",
              "paired", "count_a", "count_b"),
    "curves": ("spec", "group", "axis", "measure", "x", "mean", "low", "high", "runs"),
}  # fmt: skip


def csv_files(panels: Sequence[Panel]) -> dict[str, str]:
    """The files by their name."""
    tables = {
        "scores": score_records(panels),
        "tests": contrast_records(panels),
        "curves": curve_records(panels),
    }
    return {f"{name}.csv": csv_text(COLUMNS[name], records) for name, records in tables.items()}


def score_records(panels: Sequence[Panel]) -> list[Record]:
    """Return a record for each run: its settings, status, scores and costs."""
    return [
        {"spec": panel.name, "group": group.label, **run_record(history)}
        for panel in panels
        for group in panel.groups
        for history in group.runs
    ]


def run_record(history: History) -> Record:
    """Return status, scores and costs of a run."""
    run, test, usage = history.run, history.held_out, history.run.usage
    search = run.best_trial.score if run.best_trial else None
    return {
        "run": f"{run.folder.parent.name}/{run.folder.name}",
        "seed": run.settings.get("seed"),
        "status": run.status,
        "reason": run.reason,
        "best": run.best_name,
        "search_return": search.mean_return if search else None,
        "search_success": search.success_rate if search else None,
        "test_return": test.score.mean_return if test else None,
        "test_success": test.score.success_rate if test else None,
        "test_episodes": len(test.returns) if test else 0,
        **{f"{name}_steps": usage.steps.get(name, 0) for name in _STREAMS},
        "calls": usage.calls,
        "cost": usage.cost,
    }


def contrast_records(panels: Sequence[Panel]) -> list[Record]:
    """One for each contrast."""
    return [
        contrast_record(panel.name, c)
        for panel in panels
        for measure in panel.measures
        for c in contrasts(panel.groups, measure)
    ]


def contrast_record(spec: str, c: Contrast) -> Record:
    """A contrast on a task."""
    row = (spec, c.measure, c.a, c.b, c.difference, *_bounds(c.interval), c.p, c.adjusted, c.unit,
           c.paired, *c.counts)  # fmt: skip
    return dict(zip(COLUMNS["tests"], row, strict=True))


def curve_records(panels: Sequence[Panel]) -> list[Record]:
    """One for each step of each learning curve; ``x`` is steps or US dollars."""
    axes: tuple[Axis, ...] = ("steps", "cost")
    return [
        dict(zip(COLUMNS["curves"], (panel.name, group.label, axis, measure, *row), strict=True))
        for panel in panels
        for group in panel.groups
        for axis in axes
        for measure in panel.measures
        if (drawn := curve(group, axis, measure)) is not None
        for row in curve_rows(drawn)
    ]


def curve_rows(drawn: Curve) -> Iterator[tuple[object, ...]]:
    """Yield x, mean, low and high of each step, and the number of runs."""
    for values in zip(drawn.x, drawn.mean, drawn.low, drawn.high, strict=True):
        yield (*map(plain, values), drawn.runs)


def _bounds(interval: Interval | None) -> tuple[object, object]:
    return (interval.low, interval.high) if interval else (None, None)


def plain(value: float) -> float | None:
    """Return a plain number; None, which CSV leaves empty, for one that is not finite."""
    return float(value) if math.isfinite(value) else None


def csv_text(columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """Records as the text of a CSV file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()
