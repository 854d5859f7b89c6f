"""A comparison as numbers: CSV files, where an empty cell is what a run does not have."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence

from promptpo.comparison.contrasts import contrasts
from promptpo.comparison.curves import Axis, curve
from promptpo.comparison.groups import Group, Panel
from promptpo.comparison.history import History
from promptpo.stats import Interval
from promptpo.types import Score


def csv_files(panels: Sequence[Panel]) -> dict[str, str]:
    """The files by their name."""
    return {
        "scores.csv": scores_csv(panels),
        "tests.csv": contrasts_csv(panels),
        "curves.csv": curves_csv(panels),
    }


def scores_csv(panels: Sequence[Panel]) -> str:
    """One line for each run: what it was, how it stands, what it scored and spent."""
    names = ("spec", "group", "run", "seed", "status", "reason", "best", "search_return",
             "search_success", "test_return", "test_success", "test_episodes", "search_steps",
             "selection_steps", "test_steps", "calls", "cost", "mark")  # fmt: skip
    return _csv(names, (_run_values(p, g, h) for p in panels for g in p.groups for h in g.runs))


def _run_values(panel: Panel, group: Group, history: History) -> list[object]:
    run, test = history.run, history.held_out
    search = run.best_trial.score if run.best_trial else None
    held_out = test.score if test else None
    scores = [x for s in (search, held_out) for x in _plain(s)]
    steps = [run.usage.steps.get(name, 0) for name in ("search", "selection", "test")]
    return [
        *(panel.name, group.label, f"{run.folder.parent.name}/{run.folder.name}"),
        *(run.config.get("seed"), run.status, run.reason, run.best),
        *scores,
        len(test.returns) if test else 0,
        *steps,
        *(run.usage.calls, run.usage.cost, run.mark),
    ]


def contrasts_csv(panels: Sequence[Panel]) -> str:
    """One line for each contrast."""
    names = ("spec", "measure", "a", "b", "difference", "low", "high", "p", "p_holm", "unit",
             "paired", "count_a", "count_b")  # fmt: skip
    found = (
        [panel.name, c.measure, c.a, c.b, c.difference, *_bounds(c.interval), c.p, c.adjusted,
         c.unit, c.paired, *c.counts]
        for panel in panels for measure in panel.measures
        for c in contrasts(panel.groups, measure)
    )  # fmt: skip
    return _csv(names, found)


def curves_csv(panels: Sequence[Panel]) -> str:
    """One line for each step of each learning curve; ``x`` is search steps or US dollars."""
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
    return _csv(("spec", "group", "axis", "measure", "x", "mean", "low", "high", "runs"), rows)


def _plain(score: Score | None) -> tuple[object, object]:
    return (score.mean_return, score.success_rate) if score else (None, None)


def _bounds(interval: Interval | None) -> tuple[object, object]:
    return (interval.low, interval.high) if interval else (None, None)


def _number(value: float) -> float | None:
    """A plain number; None, which CSV leaves empty, for one that is not finite."""
    return float(value) if math.isfinite(value) else None


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return buffer.getvalue()
