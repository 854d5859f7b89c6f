"""The data of the pages on runs: reports, comparisons and benchmarks, without their markup."""

from dataclasses import astuple

import pytest
from bench_folder import cell, suite_of, whole
from golden_files import hold
from stored import STORED, unpacked
from written_runs import written_run

import promptpo
from promptpo.matrix.page import PageView
from promptpo.matrix.results import BenchRun, read_results
from promptpo.report.rounds import Budget
from promptpo.report.views import RunView
from promptpo.store.run import load_run


def rows(table):
    """Return a table of a page as lists of texts, its headings first; nothing where it is none."""
    if table is None:
        return []
    return [[name for name, _ in table.columns]] + [[c.text for c in row] for row in table.rows]


def figures(facts):
    return [[fact.label, fact.figure, fact.note] for fact in facts]


def report_data(folder):
    view = RunView(load_run(folder), Budget(10**6, 10**6, 10**6))
    return {
        "facts": figures(view.facts),
        "held out": figures(view.held_out),
        "in search": figures(view.search),
        "made by": view.made_by,
        "notices": view.notices,
        "standings": rows(view.standings),
        "selection": rows(view.selection),
        "probes": rows(view.probes),
        "hard": rows(view.hard),
        "tuning": rows(view.tuning.table) if view.tuning else [],
        "curves": [figure.caption for figure in view.curves],
        "rounds": [
            {"headline": v.headline, "strategy": v.strategy, "table": rows(v.table)}
            for v in view.rounds
        ],
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
    view = PageView(results, tuple(results.notes), ())
    told = results.as_dict(results.notes)
    for row in told["cells"]:
        row["seconds"] = row["seconds"] and 0.0  # as long as a loaded machine took to write the run
    hold("bench", {
        **{name: told[name] for name in ("aggregates", "cells", "notes", "scores")},
        "page facts": view.facts,
        "page matrix": [[row.name, row.unit, *map(astuple, row.cells)] for row in view.specs],
        "page odds": [[name, *map(astuple, cells)] for name, cells in view.odds],
        "page cells": rows(view.cells),
        "page specs": [[v.words, v.missing, *map(astuple, v.published)] for v in view.specs],
        "curves": [list(row.values()) for row in results.curve_records()],
    })  # fmt: skip
