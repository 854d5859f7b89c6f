"""What a suite's runs come to, as files: a page, figures, a LaTeX table, CSV and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from promptpo.bench.aggregates import Aggregates, aggregates, notes
from promptpo.bench.cells import Played, PlayedCell, read_cells
from promptpo.bench.statistics import Estimate
from promptpo.bench.suite import Suite, read_suite
from promptpo.common.files import write_atomically
from promptpo.comparison.curves import AXES, curve
from promptpo.comparison.records import csv_text
from promptpo.errors import UsageError, file_error
from promptpo.stats import Interval
from promptpo.types import Stream
from promptpo.version import __version__

#: Of ``comparison.json``; a change that readers must know of raises it.
FORMAT = 1

_STREAMS: tuple[Stream, ...] = ("search", "tuning", "selection", "test")

CELLS = (
    "method", "spec", "seed", "state", "reason", "missing", "measure", "score", "low", "high",
    "normalized", "test_return", "test_success", "test_episodes", "search_score", "search_steps",
    "tuning_steps", "selection_steps", "test_steps", "calls", "prompt_tokens",
    "completion_tokens", "cost", "seconds", "replayed", "run",
)  # fmt: skip

CURVES = ("spec", "method", "axis", "measure", "x", "search_score", "low", "high", "runs")


def write_comparison(folder: Path, suite: Suite) -> list[Path]:
    """Write what the runs of a suite's folder come to into that folder; returns the files.

    Runs that are missing, have failed or are still going on are shown as such. Figures and the
    LaTeX table are left out where a package for them is missing, and the page says so. Raises
    RunError where the folder holds no suite, UsageError where it cannot be written to.
    """
    from promptpo.bench.page import render_page

    played = read_cells(folder, suite, read_suite(folder)[1])
    found = aggregates(played)
    remarks = notes(played, found)
    for_paper: dict[str, str | bytes] = {}
    try:
        from promptpo.bench.figures import figures
        from promptpo.bench.table import latex_table

        for_paper["table.tex"] = latex_table(played, found)
        for_paper |= {f"figures/{name}": drawn for name, drawn in figures(played, found).items()}
    except UsageError as e:
        remarks.append(f"Files for a paper are missing: {e}")
    contents: dict[str, str | bytes] = {
        "cells.csv": csv_text(CELLS, map(cell_record, played.cells)),
        "curves.csv": csv_text(CURVES, curve_records(played)),
        "comparison.json": json.dumps(comparison(played, found, remarks), indent=1) + "\n",
        **for_paper,
    }
    contents["index.html"] = render_page(played, found, remarks, sorted(contents))
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
    except OSError as e:
        raise UsageError(str(file_error(e, folder))) from None
    return [folder / name for name in contents]


def cell_record(played: PlayedCell) -> dict[str, object]:
    """A cell as plain values by the names of CELLS; None is what it does not have.

    ``score`` is from held-out episodes, ``low`` and ``high`` bound it over these; ``search_score``
    is the best in search, and optimistic.
    """
    cell, found = played.cell, played.held_out
    values: dict[str, object] = dict.fromkeys(CELLS)
    values |= {
        "method": cell.label, "spec": cell.spec, "seed": cell.seed, "state": played.state,
        "reason": played.reason, "missing": played.why_missing, "measure": played.measure,
        "score": played.score, "normalized": played.normalized,
        "search_score": played.search_score, "run": cell.run or None,
    }  # fmt: skip
    if found is not None:
        values |= bounds(found.interval) | {"test_episodes": found.episodes}
    if played.history is not None:
        values |= _spent(played)
    return values


def _spent(played: PlayedCell) -> dict[str, object]:
    """What the run of a cell has used, and what else its record tells."""
    assert played.history is not None  # noqa: S101 - the caller sees to it
    run, test = played.history.run, played.history.held_out
    usage = run.usage
    return {
        **{f"{name}_steps": usage.steps.get(name, 0) for name in _STREAMS},
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "seconds": round(run.elapsed, 1),
        "replayed": run.replayed,
        "test_return": test.score.mean_return if test else None,
        "test_success": test.score.success_rate if test else None,
    }


def curve_records(played: Played) -> Iterator[dict[str, object]]:
    """Learning curves: the best search score so far, the mean over runs, at each of its steps."""
    for panel in played.panels:
        for group in panel.groups:
            for axis in AXES:
                measure = played.measure(panel.name)
                found = curve(group, axis, measure)
                if found is None:
                    continue
                head = (panel.name, group.label, axis, measure)
                for place in zip(found.x, found.mean, found.low, found.high, strict=True):
                    row = (*head, *map(_plain, place), found.runs)
                    yield dict(zip(CURVES, row, strict=True))


def comparison(played: Played, found: Aggregates, remarks: Sequence[str]) -> dict[str, Any]:
    """All numbers of the comparison but the curves, as JSON has them."""
    return {
        "format": FORMAT,
        "promptpo": __version__,
        "suite": asdict(played.suite),
        "notes": list(remarks),
        "cells": [cell_record(cell) for cell in played.cells],
        "scores": [_score_record(played, s, m) for s in played.suite.specs for m in played.labels],
        "aggregates": {
            "specs": list(found.specs),
            "left_out": dict(found.left_out),
            "methods_left_out": dict(found.absent),
            "runs_per_cell": dict(found.runs),
            "methods": {
                label: {name: estimate_record(e) for name, e in values.items()}
                for label, values in found.methods.items()
            },
            "probability_of_improvement": [
                {"a": i.a, "b": i.b, **estimate_record(i.estimate)} for i in found.improvements
            ],
            "performance_profiles": {
                label: {name: list(map(_plain, x)) for name, x in asdict(curve).items()}
                for label, curve in found.profiles.items()
            },
        },
    }


def _score_record(played: Played, spec: str, label: str) -> dict[str, object]:
    """A method on a spec over its runs; ``unit`` says over what the interval is taken."""
    found, scaled = played.score(spec, label), played.normalized(spec, label)
    cells = played.of(spec, label)
    return {
        "spec": spec,
        "method": label,
        "measure": played.measure(spec),
        "cells": len(cells),
        "runs": found.runs if found else 0,
        "missing": [c.why_missing for c in cells if c.why_missing],
        "score": found.mean if found else None,
        **bounds(found.interval if found else None),
        "unit": found.unit if found else None,
        "normalized": scaled[0] if scaled else None,
    }


def estimate_record(estimate: Estimate) -> dict[str, object]:
    """A number and the ends of its interval."""
    return {"value": estimate.value, **bounds(estimate.interval)}


def bounds(interval: Interval | None) -> dict[str, object]:
    """The ends of an interval by their names."""
    if interval is None:
        return {"low": None, "high": None}
    return {"low": interval.low, "high": interval.high}


def _plain(number: float) -> float | None:
    """A number that JSON and CSV can hold."""
    return float(number) if math.isfinite(number) else None
