"""Runs of format 2 that held their winners against themselves alone, and marked what differed."""

import shutil
from pathlib import Path

import pytest
from company import counted_cartpole
from scripted import outcome

import promptpo
from promptpo.report.page import render_report
from promptpo.store.events import read_log
from promptpo.store.run import load_run

DATA = Path(__file__).parents[1] / "data" / "format_2"


@pytest.fixture(params=["marked", "marked_late"])
def folder(request, tmp_path, monkeypatch):
    """One found a search's winner out, one a run's winner: copies beside their spec."""
    monkeypatch.chdir(tmp_path)
    counted_cartpole(tmp_path)
    shutil.copy(DATA / request.param / "events.jsonl", tmp_path / "replies.jsonl")
    folder = tmp_path / "runs" / "counted_cartpole" / request.param
    return shutil.copytree(DATA / request.param, folder)


def scores(record):
    """The search score of each candidate, and the held-out returns."""
    found = {t.name: t.score.mean_return for t in record.trials.values()}
    return found | {record.best_name: record.test.returns}


SCORES = {
    "marked": {"r01_c01": 9.5, "r01_c02": 146.75, "r02_c01": 254.5, "r02_c02": (500.0,) * 3},
    "marked_late": {"r01_c01": (9.0, 10.0, 10.0)},
}


def test_it_is_read_with_the_last_scores(folder):
    found = read_log(folder / "events.jsonl")
    assert (found.damaged, found.cut) == ({}, b"")
    assert scores(load_run(folder)) == SCORES[folder.name]


def test_it_has_a_page(folder):
    record = load_run(folder)
    page = render_report(record)
    assert record.best_name in page
    assert "proof" not in page.lower()


def test_resumed_it_plays_nothing_and_asks_nothing(folder):
    before = load_run(folder)
    played = outcome(folder)
    result = promptpo.optimize(resume=folder)
    after = load_run(folder)
    assert outcome(folder)["rollout"] == played["rollout"]
    assert after.usage.calls == before.usage.calls
    assert (result.best.name, result.test) == (before.best_name, before.test)
    assert after.usage == before.usage
