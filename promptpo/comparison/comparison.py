"""Runs side by side as one object: what ``promptpo compare`` prints and writes."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.common import text
from promptpo.common.blocks import Cell, Table, num
from promptpo.common.files import write_atomically
from promptpo.common.plaintext import clean_line
from promptpo.common.text import task_words
from promptpo.comparison.curves import Axis, Curve, curve, figures
from promptpo.comparison.groups import Group, Panel, panels
from promptpo.comparison.scores import (
    TENTH,
    Contrast,
    Measure,
    Sample,
    contrasts,
    levels,
    sample_score,
)
from promptpo.errors import UsageError
from promptpo.stats import Interval
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
