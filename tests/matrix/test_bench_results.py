"""What ``write_comparison`` makes of a suite's runs, whatever became of them."""

import csv
import io
import json
import re
from dataclasses import replace

import pytest
from bench_folder import PUBLISHED, cell, suite_of, whole
from chromium import open_browser

from promptpo.matrix.bench import write_comparison
from promptpo.matrix.page import PageView
from promptpo.matrix.paper import latex_table
from promptpo.matrix.results import BenchRun, read_results
from promptpo.matrix.suite import Scale


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Two methods on two specs in three seeds, all with a score."""
    folder, suite = tmp_path_factory.mktemp("full"), suite_of()
    return read_results(folder, suite, whole(folder, suite))


@pytest.fixture(scope="module")
def holes(tmp_path_factory):
    """The same, but on ``reach``: beta failed in seed 0, has not begun in 1, is damaged in 2."""
    folder, suite = tmp_path_factory.mktemp("holes"), suite_of()
    cells = [c for c in whole(folder, suite) if (c.label, c.spec) != ("beta", "reach")]
    cells += [
        cell(folder, "beta", "reach", 0, search=(6,), test=None, status="failed"),
        BenchRun("beta", "reach", 1),
        BenchRun("beta", "reach", 2, "beta/reach/nowhere"),
    ]
    return read_results(folder, suite, cells)


def page_of(played):
    return PageView(played).render(played.notes, ["cells.csv"])


def test_a_cell_says_what_it_scored_on_held_out_episodes_and_spent(tmp_path):
    suite = suite_of(("walk",), ("alpha",), (0,))
    made = cell(tmp_path, "alpha", "walk", 0, search=(10, 90), test=[50.0, 65.0])

    (played,) = read_results(tmp_path, suite, [made]).runs
    row = played.as_record()

    assert (row["score"], row["normalized"]) == (57.5, 0.5)
    assert row["search_score"] == 90.0
    assert (row["search_steps"], row["calls"], row["cost"]) == (200, 2, 0.02)
    assert (row["state"], row["reason"], row["missing"]) == ("finished", "so it was", "")


def test_a_task_that_defines_success_is_scored_by_it(full):
    assert full.measure("reach") == "success"
    assert all(0 <= run.score <= 1 for run in full.runs if run.spec == "reach")
    assert full.measure("walk") == "return"


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (Scale("return", 20.0, 95.0), 1.2),
        (Scale("return", None, 95.0), None),
        (Scale("return", 20.0, None), None),
        (Scale("return", 20.0, 20.0), None),
    ],
)
def test_a_score_is_normalized_where_both_ends_are_known_and_not_clipped(scale, expected):
    assert scale.normalize(110.0) == expected


def test_averages_count_the_specs_that_every_method_has_all_scores_on(full, holes):
    whole_, found = full.aggregates, holes.aggregates

    assert whole_.specs == ("walk", "reach")
    assert whole_.scores["alpha"].shape == (3, 2)
    assert found.specs == ("walk",)
    assert re.search("beta, seed 0: failed: so it was, and 2 more", found.left_out["reach"])


def test_a_spec_of_unknown_scale_is_left_out_of_averages(tmp_path):
    suite = suite_of(("walk",), seeds=(0,), scales={})
    found = read_results(tmp_path, suite, whole(tmp_path, suite)).aggregates

    assert found.left_out == {"walk": "no score to stand for 0 or for 1 is known"}
    assert not found.methods


def test_a_method_without_any_score_takes_nothing_from_the_others(tmp_path):
    suite = suite_of(("walk",), ("alpha", "beta", "gamma"), (0,))
    cells = [cell(tmp_path, "alpha", "walk", 0), cell(tmp_path, "beta", "walk", 0)]
    runs = [*cells, BenchRun("gamma", "walk", 0)]
    found = read_results(tmp_path, suite, runs).aggregates

    assert list(found.methods) == ["alpha", "beta"]
    assert found.absent == {"gamma": "no run has a score"}


@pytest.mark.parametrize("idle", [[], [BenchRun("beta", "reach", 0, problem="no recording")]])
def test_a_method_on_some_specs_only_takes_no_spec_from_the_others(tmp_path, idle):
    suite = suite_of(seeds=(0,))
    cells = [cell(tmp_path, "alpha", spec, 0) for spec in suite.specs]
    cells += [cell(tmp_path, "beta", "walk", 0), *idle]
    played = read_results(tmp_path, suite, cells)

    found = played.aggregates

    assert found.specs == ("walk", "reach")
    assert found.absent == {"beta": "it is run on 1 of 2 specs"}
    assert ("no recording" if idle else "not planned") in page_of(played)


def test_missing_runs_are_told_everywhere(holes):
    rows = [row for run in holes.runs if (row := run.as_record())["score"] is None]
    states = [(row["seed"], row["state"]) for row in rows]
    assert states == [(0, "failed"), (1, "not begun"), (2, "unreadable")]
    assert "so it was" in rows[0]["missing"]

    page = page_of(holes)
    assert "3 of 12 runs" in page
    assert "beta, seed 1: not begun" in page
    table = latex_table(holes)
    assert "3 runs of 12 without a score" in table
    assert re.search(r"reach \(success\) & \s*\S+ \[\S+, \S+\] & +-- ", table)


def test_one_run_on_each_spec_gives_no_interval_of_averages_and_is_said(tmp_path):
    suite = suite_of(seeds=(0,))
    played = read_results(tmp_path, suite, whole(tmp_path, suite))
    found = played.aggregates

    assert found.methods["alpha"]["IQM"].interval is None
    assert played.notes[0].startswith("Every method has one run on each spec.")
    assert "1 run each" in latex_table(played)


def test_replayed_runs_and_missing_tasks_are_said(tmp_path):
    suite = suite_of(("walk",), ("alpha",), (0,))
    played = read_results(
        tmp_path, suite, [cell(tmp_path, "alpha", "walk", 0, model="recorded:x.jsonl")]
    )
    said = " ".join(played.notes)

    assert "alpha: replies come from recordings" in said
    assert "pong is part of what this suite stands for" in said


def test_curves_run_over_steps_calls_and_cost(full):
    rows = [r for r in full.curve_records() if (r["spec"], r["method"]) == ("walk", "alpha")]

    last = {row["axis"]: row["x"] for row in rows}
    assert last == {"steps": 400.0, "calls": 4.0, "cost": pytest.approx(0.04)}
    scores = [row["search_score"] for row in rows if row["axis"] == "steps"]
    assert scores == sorted(scores)


def test_published_numbers_are_marked_and_never_mixed_with_ours(full):
    data = full.as_dict([])
    assert PUBLISHED.method not in json.dumps([data["cells"], data["scores"], data["aggregates"]])
    assert data["suite"]["published"][0]["value"] == 61.5

    page = page_of(full)
    assert page.count("R2PO &amp; co") == 1
    assert 'R2PO &amp; co<span class="tag">published' in page
    assert "https://arxiv.org/abs/2605.08315" in page
    table = latex_table(full)
    assert table.index("R2PO \\& co") > table.index("Published numbers")


def test_what_people_name_things_is_text_on_the_page_and_in_latex(tmp_path):
    label = "<b>50%_of\\it</b>"
    suite = replace(suite_of(("walk",), (label,), (0,)), title="50% & more\n<i>")
    played = read_results(tmp_path, suite, [BenchRun(label, "walk", 0, problem="<script>alert(1)")])

    page, table = page_of(played), latex_table(played)

    assert "<script>alert" not in page
    assert "<b>50" not in page
    assert "50\\%\\_of\\textbackslash{}it" in table
    assert "\n% 50% & more <i>: mean scores" in table


def test_a_table_has_a_column_for_each_method_in_every_row(full):
    table = latex_table(full).split("\\bottomrule")[0]
    rows = [line for line in table.splitlines() if line.endswith("\\\\")]

    assert {line.count(" & ") for line in rows} == {2}


@pytest.mark.slow
def test_all_files_are_written_and_the_same_again(tmp_path):
    pytest.importorskip("matplotlib")
    suite = suite_of(seeds=(0, 1))
    runs = whole(tmp_path, suite)

    files = write_comparison(tmp_path, suite, runs)
    first = {file: file.read_bytes() for file in files}

    names = {str(file.relative_to(tmp_path)) for file in files}
    assert {"index.html", "cells.csv", "curves.csv", "comparison.json", "table.tex"} <= names
    for figure in ("aggregates", "profile", "improvement", "curves_steps", "curves_calls"):
        assert {f"figures/{figure}.pdf", f"figures/{figure}.svg"} <= names
    assert first[tmp_path / "figures/aggregates.pdf"].startswith(b"%PDF")
    assert {file: file.read_bytes() for file in write_comparison(tmp_path, suite, runs)} == first
    rows = list(csv.DictReader(io.StringIO(first[tmp_path / "cells.csv"].decode())))
    assert len(rows) == 8
    assert json.loads(first[tmp_path / "comparison.json"])["format"] == 1


def test_without_matplotlib_all_else_is_written_and_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    suite = suite_of(("walk",), ("alpha",), (0,))

    files = write_comparison(tmp_path, suite, [BenchRun("alpha", "walk", 0)])

    assert not any(file.suffix == ".pdf" for file in files)
    page = (tmp_path / "index.html").read_text()
    assert "Files for a paper are missing: figures need the package" in page


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_is_whole_in_a_browser(holes, tmp_path, width):
    (tmp_path / "index.html").write_text(page_of(holes))
    trouble = []
    with open_browser() as browser:
        page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.goto(f"file://{tmp_path}/index.html")
        wide = page.evaluate("document.documentElement.scrollWidth")
        sortable = page.locator("#cells thead button").count()

    assert trouble == []
    assert wide == width
    assert sortable == 8
