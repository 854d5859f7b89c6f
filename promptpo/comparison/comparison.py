"""Runs side by side as one object: what ``promptpo compare`` prints and writes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.plaintext import clean_line
from promptpo.common.text import task_words
from promptpo.comparison.curves import Axis, Curve, curve, figures
from promptpo.comparison.groups import Group, Panel, panels
from promptpo.comparison.scores import TENTH, Contrast, contrasts
from promptpo.comparison.tables import tables
from promptpo.errors import UsageError
from promptpo.store.run import Run, load_run
from promptpo.types import Rollout, Stream
from promptpo.ui.tables import html_heading, html_remarks, html_table, print_table, printed

if TYPE_CHECKING:
    from rich.console import Console

#: What can be written of a comparison.
FORMATS = ("csv", "png", "svg")

#: A row of a file: plain values by the names of their columns; None is what a run does not have.
Record = dict[str, object]

_STREAMS: Sequence[Stream] = ("search", "tuning", "selection", "test")

#: Columns of the files.
_COLUMNS: Mapping[str, Sequence[str]] = {
    "scores": ("spec", "group", "run", "seed", "status", "reason", "best", "search_return",
               "search_success", "test_return", "test_success", "test_episodes", "search_steps",
               "tuning_steps", "selection_steps", "test_steps", "calls", "cost"),
    "tests": ("spec", "measure", "a", "b", "difference", "low", "high", "p", "p_holm", "unit",
              "paired", "count_a", "count_b"),
    "curves": ("spec", "group", "axis", "measure", "x", "mean", "low", "high", "runs"),
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class Comparison:
    """Runs side by side: a panel for each task, a group for all runs that differ in seed only.

    ``print(comparison)`` shows the tables of ``promptpo compare``. ``scores``, ``tests`` and
    ``curves`` are the same numbers as lists of plain dicts, as ``pandas.DataFrame`` takes them.
    """

    panels: tuple[Panel, ...]

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Comparison:
        """Compare the runs in these folders, each once. Raises RunError where one is no run."""
        unique = {folder.resolve(): folder for folder in folders}
        if not unique:
            raise UsageError("no runs to compare; name at least one")
        return cls(panels([load_run(folder) for folder in unique.values()]))

    @property
    def scores(self) -> list[Record]:
        """One dict for each run: its settings, status, scores and costs."""
        return [
            {"spec": panel.name, "group": group.label, **run_record(run)}
            for panel in self.panels
            for group in panel.groups
            for run in group.runs
        ]

    @property
    def tests(self) -> list[Record]:
        """One dict for each pair of groups and measure: difference, interval and p-values."""
        return [
            contrast_record(panel.name, c)
            for panel in self.panels
            for measure in panel.measures
            for c in contrasts(panel.groups, measure)
        ]

    @property
    def curves(self) -> list[Record]:
        """One dict for each step of each learning curve; ``x`` is steps or US dollars."""
        axes: tuple[Axis, ...] = ("steps", "cost")
        return [
            dict(
                zip(_COLUMNS["curves"], (panel.name, group.label, axis, measure, *row), strict=True)
            )
            for panel in self.panels
            for group in panel.groups
            for axis in axes
            for measure in panel.measures
            if (drawn := curve(group, axis, measure)) is not None
            for row in curve_rows(drawn)
        ]

    @property
    def notes(self) -> list[str]:
        """Remarks that a reader of the numbers must know."""
        return [*_notes([group for panel in self.panels for group in panel.groups])]

    def files(self, formats: Sequence[str] = FORMATS) -> dict[str, str | bytes]:
        """Return the content of what ``save`` writes, by the files' names.

        Raises UsageError for a format that is none of FORMATS, and for a figure where matplotlib
        is missing.
        """
        unknown = [name for name in formats if name not in FORMATS]
        if unknown:
            raise UsageError(f"{unknown[0]}: no such format; choose from {', '.join(FORMATS)}")
        contents: dict[str, str | bytes] = {}
        if "csv" in formats:
            for name, columns in _COLUMNS.items():
                contents[f"{name}.csv"] = csv_text(columns, getattr(self, name))
        if drawn := [name for name in formats if name != "csv"]:
            contents |= figures(self.panels, drawn)
        return contents

    def save(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write CSV files and figures of the learning curves into a folder; return their paths.

        Raises UsageError as ``files`` does, and OSError where the folder cannot be written.
        """
        contents = self.files(formats)
        for name, content in contents.items():
            write_atomically(Path(folder) / name, content)
        return [Path(folder) / name for name in contents]

    def html(self, file: str | Path) -> Path:
        """Write one self-contained page of the runs into a file; return its path.

        Raises UsageError where it cannot be written.
        """
        from promptpo.comparison.page import write_comparison_page

        write_comparison_page(self, Path(file))
        return Path(file)

    def print(self, console: Console) -> None:
        """Print the tables of each task, then what must be known to read them."""
        for panel in self.panels:
            console.print(_title(panel), style="bold")
            for table in tables(panel):
                print_table(console, table)
        for note in self.notes:
            console.print(f"- {clean_line(note)}", style="dim")

    def __str__(self) -> str:
        return printed(self.print)

    def __repr__(self) -> str:
        groups = [group for panel in self.panels for group in panel.groups]
        runs = sum(len(group.runs) for group in groups)
        size = f"{text.plural(runs, 'run')} in {text.plural(len(groups), 'group')}"
        return f"<Comparison of {size}: {', '.join(panel.name for panel in self.panels)}>"

    def _repr_html_(self) -> str:
        parts = []
        for panel in self.panels:
            parts.append(html_heading(_title(panel)))
            parts += [html_table(table) for table in tables(panel)]
        return "".join([*parts, html_remarks(self.notes)])


def _title(panel: Panel) -> str:
    task = task_words((panel.name, panel.twin_of))
    return f"{clean_line(task)}: held-out scores, mean and 95% interval"


def run_record(run: Run) -> Record:
    """Return status, scores and costs of a run as plain values."""
    test, usage = run.held_out, run.usage
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
        **{f"test {name}": number for name, number in _further(test)},
        "test_episodes": len(test.returns) if test else 0,
        **{f"{name}_steps": usage.steps.get(name, 0) for name in _STREAMS},
        "calls": usage.calls,
        "cost": usage.cost,
    }


def _further(test: Rollout | None) -> Iterator[tuple[str, float]]:
    """Yield worst tenth and metrics, by name, where the task has them."""
    if test is not None and test.worst_tenth is not None:
        yield TENTH, test.worst_tenth
    yield from ((r.name, r.mean) for r in (test.readings if test else ()))


def curve_rows(drawn: Curve) -> Iterator[tuple[object, ...]]:
    """Yield x, mean, low and high of each step, and the number of runs."""
    for values in zip(drawn.x, drawn.mean, drawn.low, drawn.high, strict=True):
        yield (*map(plain, values), drawn.runs)


def plain(value: float) -> float | None:
    """Return a plain number; None, which CSV leaves empty, for one that is not finite."""
    return float(value) if math.isfinite(value) else None


def contrast_record(spec: str, c: Contrast) -> Record:
    """Return a contrast on a task as plain values."""
    bounds = (c.interval.low, c.interval.high) if c.interval else (None, None)
    row = (spec, c.measure, c.a, c.b, c.difference, *bounds, c.p, c.adjusted, c.unit, c.paired,
           *c.counts)  # fmt: skip
    return dict(zip(_COLUMNS["tests"], row, strict=True))


def csv_text(columns: Sequence[str], records: Iterable[Mapping[str, object]]) -> str:
    """Return records as the text of a CSV file."""
    buffer, rows = io.StringIO(), list(records)
    names = dict.fromkeys([*columns, *(name for row in rows for name in row)])
    writer = csv.DictWriter(buffer, list(names), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def _notes(groups: Sequence[Group]) -> Iterator[str]:
    runs = [run for group in groups for run in group.runs]
    for run in runs:
        yield from (f"{run.spec}/{run.folder.name}: {problem}." for problem in run.unread)
    if any(run.replayed for run in runs):
        yield "Replayed replies: the spread over seeds is that of the episodes, not of the model."
    if any(run.corrected for run in runs):
        yield "Learning curves: returns are corrected for the luck of each round's episodes."
    seeds = [[run.settings.get("seed") for run in group.runs] for group in groups]
    if any(len(set(s)) < len(s) for s in seeds):
        yield "Runs of one group share a seed: they met the same episodes."
    if any(1 < len(group.tests) < 5 for group in groups):
        yield "Fewer than 5 runs in a group: its interval and its p-values are rough."
    if any(len(group.tests) == 1 for group in groups):
        yield "A group of one run: its interval is over episodes and speaks of that policy alone."
