"""Runs of today's format are read and resumed, and end as they ended when they were stored."""

from dataclasses import asdict

import pytest
from golden_files import hold, log_of
from stored import STORED, unpacked

import promptpo


def outcome(run):
    """Return what was found and spent, by the names of the library."""
    return {
        "best": run.best and run.best.name,
        "test": run.test and list(run.test.returns),
        "usage": asdict(run.usage),
        "rounds": [
            {c.name: c.score.mean_return for c in r.candidates if c.error is None}
            for r in run.rounds
        ],
    }


@pytest.fixture(params=STORED)
def folder(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return unpacked(request.param, tmp_path)


def test_a_stored_run_is_read(folder):
    run = promptpo.load_run(folder)
    assert run.unread == ()
    settings = {
        name: run.settings[name] for name in ("method", "rounds", "candidates", "seed", "tune")
    }
    found = {"status": run.status, "settings": settings, **outcome(run)}
    hold("stored_runs", {f"{folder.name} as stored": found})


def test_a_stored_run_resumes_and_ends_as_one_that_was_never_killed(folder):
    before = log_of(folder)
    result = promptpo.optimize(resume=folder, workers=1)
    assert result.status == "finished"
    hold("stored_runs", {f"{folder.name} resumed": {**outcome(result), "log": log_of(folder)}})
    if folder.name != "killed":
        assert log_of(folder) == before
