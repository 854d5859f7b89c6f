"""Runs named on the command line: what is not there is said, with what was perhaps meant."""

from pathlib import Path

import pytest

from promptpo.cli import main, runs
from promptpo.errors import RunError

OLD = Path("runs/cartpole/20261119-080000")
NEW = Path("runs/cartpole/20261120-143000")


@pytest.fixture(autouse=True)
def two_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for run in (OLD, NEW):
        run.mkdir(parents=True)
        (run / "events.jsonl").touch()


def problem(name, out="runs"):
    with pytest.raises(RunError) as caught:
        runs.find(name, Path(out))
    return str(caught.value)


@pytest.mark.parametrize("name", ["latest", str(NEW), "cartpole/20261120-143000"])
def test_a_run_is_found(name):
    assert runs.find(name, Path("runs")) == NEW


def test_a_path_that_does_not_exist_is_told():
    assert problem("nowhere") == "nowhere: no such path; `promptpo list` shows the runs"
    assert problem("nowhere", "my runs").endswith("`promptpo list --out 'my runs'` shows the runs")


@pytest.mark.parametrize(
    "name", ["cartpole/20261120-14300", "runs/cartpole/20261120-14300/", "cartpol", "cart_pole"]
)
def test_close_names_are_suggested(name):
    assert problem(name).startswith(f"{name.rstrip('/')}: no such path; did you mean {NEW}")


def test_a_name_that_is_close_to_two_runs_suggests_both():
    assert problem("20261119-143000").endswith(f"did you mean {NEW} or {OLD}?")


@pytest.mark.parametrize("name", ["cartpole", "runs/cartpole", "runs/cartpole/"])
def test_a_spec_stands_for_its_latest_run(name):
    assert runs.find(name, Path("runs")) == NEW


def test_a_folder_that_is_no_run_is_told_with_the_latest_run_below_it():
    assert problem("runs").startswith("runs: not a run (no events.jsonl); ")


@pytest.mark.parametrize(
    "command",
    [
        ["report"], ["view"], ["export"], ["compare"], ["video"], ["eval"],
        ["export", "--recording", "x.jsonl"], ["--resume"],
    ],
)  # fmt: skip
def test_every_command_that_takes_a_run_says_so(capsys, command):
    assert main([*command, "nowhere"]) == RunError.exit_code
    assert capsys.readouterr().err.startswith("promptpo: error: nowhere: no such path; ")
