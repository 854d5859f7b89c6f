"""A comparison as numbers: tables of plain values, and the CSV files that hold them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence

from promptpo.comparison.curves import Axis, curve
from promptpo.comparison.groups import Group, History, Panel
from promptpo.comparison.scores import Contrast, contrasts
from promptpo.stats import Interval
from promptpo.types import Score, Stream

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
    """One for each run: what it was, how it stands, what it scored and spent."""
    rows = (_run_values(p, g, h) for p in panels for g in p.groups for h in g.runs)
    return _records("scores", rows)


def _run_values(panel: Panel, group: Group, history: History) -> list[object]:
    run, test = history.run, history.held_out
    search = run.best_trial.score if run.best_trial else None
    held_out = test.score if test else None
    scores = [x for s in (search, held_out) for x in _plain(s)]
    steps = [run.usage.steps.get(name, 0) for name in _STREAMS]
    return [
        *(panel.name, group.label, f"{run.folder.parent.name}/{run.folder.name}"),
        *(run.settings.get("seed"), run.status, run.reason, run.best_name),
        *scores,
        len(test.returns) if test else 0,
        *steps,
        *(run.usage.calls, run.usage.cost),
    ]


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
    rows: list[list[object]] = []
    for panel in panels:
        for group in panel.groups:
            for axis in axes:
                for measure in panel.measures:
                    found = curve(group, axis, measure)
                    if found is None:
                        continue
                    head = [panel.name, group.label, axis, measure]
                    for values in zip(found.x, found.mean, found.low, found.high, strict=True):
                        rows.append([*head, *(_number(v) for v in values), found.runs])
    return _records("curves", rows)


def _plain(score: Score | None) -> tuple[object, object]:
    return (score.mean_return, score.success_rate) if score else (None, None)


def _bounds(interval: Interval | None) -> tuple[object, object]:
    return (interval.low, interval.high) if interval else (None, None)


def _number(value: float) -> float | None:
    """A plain number; None, which CSV leaves empty, for one that is not finite."""
    return float(value) if math.isfinite(value) else None


def _records(name: str, rows: Iterable[Sequence[object]]) -> list[Record]:
    return [dict(zip(COLUMNS[name], row, strict=True)) for row in rows]


def csv_text(columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """Records as the text of a CSV file."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()
