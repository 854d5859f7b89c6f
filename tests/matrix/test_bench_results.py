"""Results of a suite's runs, whatever became of them: numbers, page, files for a paper."""

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
    runs = [run for run in whole(folder, suite) if (run.label, run.spec) != ("beta", "reach")]
    runs += [
        cell(folder, "beta", "reach", 0, search=(6,), test=None, status="failed"),
        BenchRun("beta", "reach", 1),
        BenchRun("beta", "reach", 2, "beta/reach/nowhere"),
    ]
    return read_results(folder, suite, runs)


def page_of(results):
    return PageView(results).page(results.notes, ["cells.csv"]).render()


def test_a_run_has_its_held_out_score_normalized_and_what_it_spent(tmp_path):
    suite = suite_of(("walk",), ("alpha",), (0,))
    written = cell(tmp_path, "alpha", "walk", 0, search=(10, 90), test=[50.0, 65.0])
    (run,) = read_results(tmp_path, suite, [written]).runs
    row = run.as_dict()
    assert (row["score"], row["normalized"], row["search_score"]) == (57.5, 0.5, 90.0)
    assert (row["search_steps"], row["calls"], row["cost"]) == (200, 2, 0.02)
    assert (row["state"], row["reason"], row["missing"]) == ("finished", "so it was", "")
    for random, best, expected in [
        (20.0, 95.0, 1.2), (None, 95.0, None), (20.0, None, None), (20.0, 20.0, None),
    ]:  # fmt: skip
        assert Scale("return", random, best).normalize(110.0) == expected  # not clipped


def test_a_spec_is_scored_by_the_worst_tenth_where_that_is_its_objective(tmp_path):
    suite = suite_of(("walk",), seeds=(0,), scales={"walk": Scale("worst tenth", 0.0, 50.0, "me")})
    steady, risky = [40.0] * 20, [90.0] * 18 + [10.0] * 2  # the mean of risky is the higher one
    runs = [
        cell(tmp_path, label, "walk", 0, search=(40,), test=test, ranks="cvar10")
        for label, test in (("alpha", steady), ("beta", risky))
    ]
    results = read_results(tmp_path, suite, runs)
    rows = [(r.measure, r.score, r.normalized) for r in results.runs]
    assert rows == [("worst tenth", 40.0, 0.8), ("worst tenth", 10.0, 0.2)]
    html = page_of(results)
    assert "Held-out return of the worst tenth" in html
    assert "Best return of the worst tenth in search" in html
    assert "walk (worst tenth)" in latex_table(results)

    by_mean = [cell(tmp_path, "alpha", "walk", 0, search=(40,), test=steady)]
    (run,) = read_results(tmp_path, suite, by_mean).runs  # another task of this name
    assert (run.measure, run.score, run.normalized) == ("return", 40.0, None)


def test_what_cannot_be_averaged_takes_nothing_from_the_rest(tmp_path):
    def averages(folder, specs, labels, *idle, **rest):
        suite = suite_of(specs, labels, (0,), **rest)
        gone = {(run.label, run.spec) for run in idle}
        runs = [
            cell(tmp_path / folder, label, spec, 0)
            for label in labels for spec in specs if (label, spec) not in gone
        ]  # fmt: skip
        return read_results(tmp_path / folder, suite, [*runs, *(r for r in idle if r.seed == 0)])

    unknown = averages("a", ("walk",), ("alpha",), scales={}).aggregates
    assert unknown.left_out == {"walk": "no score to stand for 0 or for 1 is known"}
    assert not unknown.methods

    some = averages("b", ("walk",), ("alpha", "beta"), BenchRun("beta", "walk", 0)).aggregates
    assert (list(some.methods), some.absent) == (["alpha"], {"beta": "no run has a score"})

    both = ("walk", "reach")
    for seed, words in ((0, "no recording"), (1, "not planned")):
        idle = BenchRun("beta", "reach", seed, problem="no recording")
        results = averages(words, both, ("alpha", "beta"), idle)
        assert results.aggregates.specs == both
        assert results.aggregates.absent == {"beta": "it is run on 1 of 2 specs"}
        assert words in page_of(results)


def test_missing_runs_are_told_everywhere_and_averages_leave_their_specs_out(full, holes):
    assert full.aggregates.specs == ("walk", "reach")
    assert full.aggregates.scores["alpha"].shape == (3, 2)
    assert holes.aggregates.specs == ("walk",)
    assert holes.aggregates.left_out == {"reach": "beta, seed 0: failed: so it was, and 2 more"}
    rows = [row for run in holes.runs if (row := run.as_dict())["score"] is None]
    states = [(row["seed"], row["state"]) for row in rows]
    assert states == [(0, "failed"), (1, "not begun"), (2, "unreadable")]
    assert "so it was" in rows[0]["missing"]
    page, table = page_of(holes), latex_table(holes)
    assert "3 of 12 runs" in page and "beta, seed 1: not begun" in page
    assert "% 3 of 12 runs without a held-out score" in table
    assert re.search(r"reach \(success\) & \s*\S+ \[\S+, \S+\] & +-- ", table)


def test_notes_tell_of_single_runs_of_recordings_and_of_missing_tasks(tmp_path):
    suite = suite_of(("walk",), ("alpha",), (0,))
    run = cell(tmp_path, "alpha", "walk", 0, model="recorded:x.jsonl")
    results = read_results(tmp_path, suite, [run])
    notes = " ".join(results.notes)

    assert results.aggregates.methods["alpha"]["IQM"].interval is None
    assert notes.startswith("Every method has one run on each spec.")
    assert "1 run each" in latex_table(results)
    assert "alpha: replies come from recordings" in notes
    assert "pong is part of what this suite stands for" in notes


def test_published_numbers_are_marked_and_never_mixed_with_ours(full):
    data = full.as_dict([])
    assert PUBLISHED.method not in json.dumps([data["cells"], data["scores"], data["aggregates"]])
    assert data["suite"]["published"][0]["value"] == 61.5

    page = page_of(full)
    assert page.count("R2PO &amp; co") == 1
    assert "R2PO &amp; co<small>published</small>" in page
    assert "https://arxiv.org/abs/2605.08315" in page
    ours, published = latex_table(full).split("% Published numbers")
    assert "R2PO \\& co" in published and "R2PO" not in ours
    rows = [line for line in ours.splitlines() if line.endswith("\\\\")]
    assert {line.count(" & ") for line in rows} == {2}  # a column for each method


def test_names_and_texts_are_text_on_the_page_and_in_latex(tmp_path):
    label = "<b>50%_of\\it</b>"
    suite = replace(suite_of(("walk",), (label,), (0,)), title="50% & more\n<i>")
    run = BenchRun(label, "walk", 0, problem="<script>alert(1)")
    results = read_results(tmp_path, suite, [run])

    page, table = page_of(results), latex_table(results)

    assert "<script>alert" not in page
    assert "<b>50" not in page
    assert "50\\%\\_of\\textbackslash{}it" in table
    assert "\n% 50% & more <i>: mean scores" in table


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
    again = write_comparison(tmp_path, suite, runs)
    assert {file: file.read_bytes() for file in again} == first
    assert len(list(csv.DictReader(io.StringIO(first[tmp_path / "cells.csv"].decode())))) == 8
    assert json.loads(first[tmp_path / "comparison.json"])["format"] == 1


def test_without_matplotlib_all_else_is_written_and_said(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    suite = suite_of(("walk",), ("alpha",), (0,))

    files = write_comparison(tmp_path, suite, [BenchRun("alpha", "walk", 0)])

    assert not any(file.suffix == ".pdf" for file in files)
    page = (tmp_path / "index.html").read_text()
    assert "Files for a paper are missing: figures need the package" in page


@pytest.mark.slow
def test_the_page_is_whole_in_a_browser_and_a_catastrophe_flattens_none_of_it(tmp_path):
    suite = suite_of()
    lost = {"search": (-3e6, -2e6), "test": [-2e6, -2.1e6]}
    runs = [
        cell(tmp_path, label, spec, seed, **(lost if (label, spec) == ("beta", "walk") else {}))
        for label in suite.labels for spec in suite.specs for seed in suite.seeds
    ]  # fmt: skip
    file, *_ = [f for f in write_comparison(tmp_path, suite, runs) if f.name == "index.html"]
    assert all(
        (tmp_path / "figures" / f"{n}.svg").is_file() for n in ("aggregates", "curves_steps")
    )
    trouble = []
    with open_browser() as browser:
        for width in (390, 1200):
            page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
            page.on("console", lambda message: trouble.append(message.text))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.locator("#runs thead button").count() == 14
            assert page.locator("#spec-walk .scores .arrow").count() == 1
            ticks = page.locator("#spec-walk .scores .tick").all_text_contents()
            assert all(20 <= float(tick) <= 100 for tick in ticks)
    assert trouble == []
