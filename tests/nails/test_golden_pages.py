"""The data of the pages on runs: reports, comparisons and benchmarks, without their markup."""

from collections import Counter

import pytest
from bench_folder import cell, suite_of, whole
from golden_files import hold
from stored import STORED, unpacked
from written_runs import written_run

import promptpo
from promptpo.common.blocks import (
    Chart,
    Columns,
    Details,
    Entries,
    Figure,
    Group,
    Items,
    Links,
    Prose,
    Table,
    Text,
)
from promptpo.matrix.page import PageView
from promptpo.matrix.results import BenchRun, read_results
from promptpo.report.code import Diff, Source
from promptpo.report.page import run_view
from promptpo.store.run import load_run


def rows(table):
    """Return a table of a page as lists of texts, its headings first."""
    texts = ([[c.text, c.note, *c.wrong] for c in row] for row in table.rows)
    return [list(table.columns), *([" / ".join(filter(None, t)) for t in row] for row in texts)]


def figures(facts):
    return [[fact.label, fact.figure, fact.note] for fact in facts]


def plain_block(block):  # noqa: PLR0911 - one for each class
    """Return a part of a page by its class, as plain values."""
    match block:
        case Table():
            return ["table", block.caption, *rows(block)]
        case Figure():
            drawn = block.chart.lines if isinstance(block.chart, Chart) else block.chart.marks
            return ["figure", block.caption, [each.name for each in drawn]]
        case Details() | Group():
            return [block.title, block.note, *map(plain_block, block.blocks)]
        case Text():
            return ["text", block.label, len(block.body), block.file]
        case Prose():
            return block.text
        case Columns():
            return [plain_block(part) for part in block.blocks]
        case Links():
            return ["links", block.words, *map(list, block.links)]
        case Items():
            return ["items", *block.items]
        case Entries():
            return ["entries", *([] if block.short else block.entries)]
        case Source():
            return ["source", len(block.lines), block.steps, block.unreached]
        case Diff():
            return ["diff", block.before, block.after, Counter(row.kind for row in block.rows)]
    return type(block).__name__


def page_data(page):
    """Return the data of a page on several runs."""
    parts = {s.id: [s.title, *map(plain_block, s.blocks)] for s in page.sections}
    return {"head": [page.title, page.kind, page.about], "facts": figures(page.facts), **parts}


def report_data(folder):
    run = load_run(folder)
    view = run_view(run)
    return {
        "facts": figures(view.facts),
        "held out": figures(view.held_out),
        "in search": figures(view.search),
        "made by": view.made_by,
        "notices": [*run.notices, *run.unread],
        "sections": {s.id: [s.title, *map(plain_block, s.blocks)] for s in view.sections},
    }


@pytest.mark.parametrize("name", STORED)
def test_the_page_of_a_stored_run_says_the_same(name, tmp_path):
    hold("report", {name: report_data(unpacked(name, tmp_path))})


def test_a_comparison_says_the_same(tmp_path):
    out = tmp_path / "runs"
    stored = [unpacked(name, tmp_path) for name in STORED]
    written = [
        written_run(out, seed=0, search=(10, 50), test=[50.0, 60.0, 70.0]),
        written_run(out, seed=1, search=(20, 70), test=[51.0, 61.0, 71.0]),
        written_run(out, seed=0, model="ollama/b", search=(5, 9), test=[1.0, 2.0, 3.0], cost=None),
        written_run(out, seed=1, model="ollama/b", search=(6,), status="failed", cost=None),
        written_run(out, spec="other", successes=True, test=[60.0, 10.0]),
    ]
    compared = promptpo.compare(*stored, *written)
    found = {name: getattr(compared, name) for name in ("scores", "tests", "curves", "notes")}
    for name in ("scores", "tests", "curves"):  # the names of columns once
        found[name] = [list(found[name][0])] + [list(row.values()) for row in found[name]]
    hold("comparison", found)


def test_a_benchmark_with_missing_runs_says_the_same(tmp_path):
    suite = suite_of()
    cells = [c for c in whole(tmp_path, suite) if (c.label, c.spec) != ("beta", "reach")]
    cells += [
        cell(tmp_path, "beta", "reach", 0, search=(6,), test=None, status="failed"),
        *(BenchRun("beta", "reach", seed) for seed in (1, 2)),
    ]
    results = read_results(tmp_path, suite, cells)
    view = PageView(results)
    told = results.as_dict(results.notes)
    for row in told["cells"]:
        row["seconds"] = row["seconds"] and 0.0  # as long as a loaded machine took to write the run
    hold("bench", {
        **{name: told[name] for name in ("aggregates", "cells", "notes", "scores")},
        "page": page_data(view.page(results.notes, ["cells.csv"])),
        "curves": [list(row.values()) for row in results.curve_records()],
    })  # fmt: skip
