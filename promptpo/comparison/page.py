"""Several runs on one self-contained page: all of them in a table, then task by task.

The same page shows the runs of a comparison, of a sweep and of a benchmark, and lists those that
``promptpo view`` serves.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from promptpo.common import text
from promptpo.common.blocks import (
    Block,
    Cell,
    Chart,
    Details,
    Figure,
    Items,
    Line,
    Links,
    Mark,
    Prose,
    Scores,
    Section,
    Table,
    num,
)
from promptpo.common.text import side_by_side, task_words
from promptpo.comparison.curves import AXES, AXIS_WORDS, Axis, Curve, curve, curves_chart
from promptpo.comparison.groups import Panel
from promptpo.comparison.scores import Measure, in_words, levels, sample_score
from promptpo.comparison.tables import contrasts_table, metrics_table, scores_table
from promptpo.report import write_page
from promptpo.report.overview import Fact
from promptpo.report.page import Page
from promptpo.report.tables import cost_cell
from promptpo.store.summary import Summary

if TYPE_CHECKING:
    from promptpo.comparison.comparison import Comparison

#: Runs of a group whose own curves are drawn, thin, below their mean; and of a chart.
_OWN, _OWN_IN_ALL = 8, 24

#: How many lines look different.
_LOOKS = 8


class Row(NamedTuple):
    """A run in the table of all runs.

    ``href`` is the address of its page, ``group`` what it is compared as, ``normalized`` its score
    on the scale of its spec, ``ended`` why it has no score.
    """

    run: Summary
    name: str
    href: str = ""
    group: str = ""
    normalized: float | None = None
    ended: str = ""


def runs_table(rows: Iterable[Row], caption: str) -> Table:
    """Return a row for each run; those of twins stand after the original's."""
    columns = ("Run", "Group", "Spec", "Method", "Model", "Seed", "Name", "Status", "Success",
               "Mean return", "Normalized", "Score from", "Search steps", "Calls",
               "Cost")  # fmt: skip
    cells = []
    rows = [*rows]
    grouped = any(
        row.group not in (row.run.model, row.run.method, f"{row.run.method}, {row.run.model}")
        for row in rows
    )
    for row in side_by_side(rows, lambda row: (row.run.spec, row.run.twin_of)):
        run = row.run
        cells.append((
            Cell(row.name, href=row.href),
            Cell(row.group * grouped),
            Cell(run.spec),
            Cell(run.method),
            Cell(run.model),
            Cell() if run.seed is None else num(run.seed, str(run.seed)),
            Cell(run.name),
            Cell(run.status, kind=run.status, wrong=(row.ended,) if row.ended else ()),
            _score_cell(run, run.score.success_rate, ".2f"),
            _score_cell(run, run.score.mean_return, ""),
            num(row.normalized, f"{row.normalized or 0.0:.2f}"),
            Cell(run.source),
            num(run.steps) if run.steps else Cell(),
            num(run.calls) if run.asks_model else Cell(),
            cost_cell(run.cost) if run.asks_model else Cell(),
        ))  # fmt: skip
    return Table(caption, columns, tuple(cells), "runs").trimmed()


def _score_cell(run: Summary, value: float | None, form: str) -> Cell:
    """Return a cell of a score, with its 95% interval below it."""
    if value is None or run.score.failed:
        return Cell()
    bounds = run.intervals["success" if form else "return"]
    words = format(value, form) if form else text.number(value)
    note = text.span(*bounds, form=form) if bounds else ""
    return replace(num(value, words), note=note)


def index_page(rows: Sequence[Row], where: str, tasks: Mapping[str, str]) -> Page:
    """Return the list of runs of ``promptpo view``; ``tasks`` are addresses of comparisons."""
    counts = {spec: sum(row.run.spec == spec for row in rows) for spec in tasks}
    links = tuple((f"{spec} ({counts[spec]})", href) for spec, href in tasks.items())
    blocks: list[Block] = [Links("Compare all runs of", links)] if links else []
    if rows:
        blocks.append(runs_table(rows, "The latest first"))
    else:
        blocks.append(Prose("No runs here yet. `promptpo cartpole` makes one.", "notice"))
    return Page("Runs", about=where, sections=(Section("runs", "All runs", tuple(blocks)),))


def comparison_page(
    comparison: Comparison, title: str, kind: str, address: Callable[[Path], str]
) -> Page:
    """Return runs side by side; ``address`` is that of the page of the run in a folder."""
    runs = [r for panel in comparison.panels for group in panel.groups for r in group.runs]
    labels = {id(r): g.label for panel in comparison.panels for g in panel.groups for r in g.runs}
    rows = [Row(Summary.of(r), r.folder.name, address(r.folder), labels[id(r)]) for r in runs]
    groups = sum(len(panel.groups) for panel in comparison.panels)
    scored = sum(run.held_out is not None for run in runs)
    facts = (
        Fact("Runs", str(len(runs)), f"in {text.plural(groups, 'group')}"),
        Fact("Tasks", str(len(comparison.panels))),
        Fact("With a held-out score", f"{scored} of {len(runs)}"),
    )
    sections = [Section("runs", "All runs", (runs_table(rows, "The runs of this page"),))]
    for i, panel in enumerate(comparison.panels, 1):
        measure, id_ = panel.measures[0], f"task-{i}"
        css = looks(group.label for group in panel.groups)
        blocks = panel_blocks(panel, measure, charts_of(panel, measure), css, id_)
        sections.append(Section(id_, task_words((panel.name, panel.twin_of)), tuple(blocks)))
    if notes := tuple(comparison.notes):
        sections.append(Section("reading", "How to read this", (Items(notes),)))
    about = ", ".join(dict.fromkeys(panel.name for panel in comparison.panels))
    return Page(title, kind, "" if about == title else about, facts, sections=tuple(sections))


def seen_from(folder: Path) -> Callable[[Path], str]:
    """Return what gives the address of a run's report, seen from a folder; empty: it has none."""

    def address(run: Path) -> str:
        file = run / "report.html"
        there = file.is_file()
        return quote(Path(os.path.relpath(file, folder.resolve())).as_posix()) if there else ""

    return address


def write_comparison_page(comparison: Comparison, file: Path, kind: str = "Comparison") -> None:
    """Write runs side by side into a file. Raises UsageError where that cannot be done."""
    names = dict.fromkeys(panel.name for panel in comparison.panels)
    title = ", ".join(names) if len(names) < 4 else f"{len(names)} tasks"
    page = comparison_page(comparison, title, kind, seen_from(file.parent))
    write_page(file, page.render(), "--html")


def looks(labels: Iterable[str]) -> dict[str, str]:
    """Return classes of the style sheet for lines, by label; after eight they begin again."""
    return {label: f"s{i % _LOOKS + 1}" for i, label in enumerate(labels)}


def charts_of(panel: Panel, measure: Measure) -> dict[Axis, Chart]:
    """Return the learning curves of a task's groups, for each axis that anything lies on."""
    charts = {}
    for axis in AXES:
        curves = {g.label: c for g in panel.groups if (c := curve(g, axis, measure)) is not None}
        if (chart := curves_chart(panel, axis, measure, curves)) is not None:
            charts[axis] = chart
    return charts


def panel_blocks(
    panel: Panel,
    measure: Measure,
    charts: Mapping[Axis, Chart],
    css: Mapping[str, str],
    id_: str,
) -> Iterator[Block]:
    """Yield a task's scores, curves over steps, calls and cost, and tests of the differences."""
    if (drawn := scores_chart(panel, measure)) is not None:
        yield Figure(
            f"Held-out {in_words(measure)}, 95% intervals, and what it lies between", drawn
        )
    yield scores_table(panel).trimmed()
    yield from metrics_table(panel.groups)
    yield from _curves(panel, measure, charts, css, id_)
    yield from contrasts_table(panel.groups, panel.measures)


def scores_chart(panel: Panel, measure: Measure) -> Scores | None:
    """Return the groups' held-out scores, then reference values; None where there is none."""
    marks = []
    for group in panel.groups:
        if (s := sample_score(group, measure)) is not None:
            words = number_words(s.mean, measure)
            marks.append(Mark(group.label, s.mean, words, s.interval, ours=True))
    if not marks:
        return None
    references = levels(panel.references, measure).items()
    marks += [Mark(name, value, number_words(value, measure)) for name, value in references]
    bounds = (-0.02, 1.02) if measure == "success" else None
    return Scores(f"Held-out {in_words(measure)} on {panel.name}", tuple(marks), bounds)


def number_words(number: float, measure: str) -> str:
    """Return a score as tables have it: ``0.87`` of a success rate; ``3,079``, ``61.5``."""
    size = abs(number)
    if measure == "success" or not math.isfinite(number):
        return f"{number:.2f}"
    return f"{number:,.0f}" if size >= 1000 else f"{number:.1f}" if size >= 10 else f"{number:.2f}"


def _curves(
    panel: Panel,
    measure: Measure,
    charts: Mapping[Axis, Chart],
    css: Mapping[str, str],
    id_: str,
) -> Iterator[Block]:
    """Yield the learning curves, the first of them unfolded."""
    few = sum(len(group.runs) for group in panel.groups) <= _OWN_IN_ALL
    for number, (axis, chart) in enumerate(charts.items()):
        own = [*_own_lines(panel, axis, measure, css, chart.right)] if few else []
        figure = styled(
            chart, css, f"Best {in_words(measure)} in search over {AXIS_WORDS[axis]}", own
        )
        if number:
            yield Details(f"{id_}-{axis}", figure.caption, (figure,), small=True)
            continue
        yield figure
        yield Prose(
            "The mean over runs of the best search score so far, with its 95% interval where there"
            " are several runs: optimistic, as the best of many noisy means is."
            + " Thin lines are single runs."
            * bool(own)
        )


def styled(chart: Chart, css: Mapping[str, str], caption: str, own: Sequence[Line] = ()) -> Figure:
    """Return a chart whose lines look as ``css`` says, with a key for each of them."""
    lines = tuple(replace(line, css=css[line.name]) for line in chart.lines)
    keys = tuple((css[line.name], line.name) for line in chart.lines)
    return Figure(caption, replace(chart, lines=(*own, *lines)), keys)


def _own_lines(
    panel: Panel, axis: Axis, measure: Measure, css: Mapping[str, str], right: float | None
) -> Iterator[Line]:
    """Yield the curves of single runs of groups that have several."""
    for group in panel.groups:
        if not 1 < len(group.runs) <= _OWN:
            continue
        for run in group.runs:
            drawn: Curve | None = curve(replace(group, runs=(run,)), axis, measure)
            if drawn is not None and drawn.x[-1] > 0:
                name = f"{group.label}, seed {run.settings.get('seed')}"
                x, y = [*map(float, drawn.x)], [*map(float, drawn.mean)]
                end = right if run.is_over else x[-1]
                yield Line(name, x, y, end=end, css=f"thin {css[group.label]}")
