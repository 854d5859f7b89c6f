"""best-of-n and random search on the command line: options, forecasts, and what is made of runs."""

import json
import shutil
from pathlib import Path

import pytest
from processes import pretend_installed
from scripted import BAD, GOOD, Replies, policy, run, run_small

from promptpo.cli import main

LEAN = policy("return int(obs.pole_angle > 0)")


def printed(capsys, *argv):
    """What a command prints that succeeds."""
    assert main(argv) == 0
    return capsys.readouterr().out


def complaint(capsys, *argv):
    """The one line that a command says whose options do not fit."""
    assert main(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.strip()


def test_help_lists_the_options_of_the_chosen_method_only(capsys):
    text = printed(capsys, "help", "settings", "--method", "random-search")
    assert "\nof random-search:\n  scale=X\n" in text
    assert "finalists=" not in text
    assert "reflection=true|false" in printed(capsys, "help", "settings")


def test_the_method_of_a_file_has_its_options_too(capsys, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('method = "best-of-n"\n')
    argv = ("nim", "--config", str(file), "--model", "manual", "--set", "finalists=2", "--dry-run")
    assert "\nmethod       best-of-n\n" in printed(capsys, *argv)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--scale", "2"], "write --set scale=VALUE, with --method random-search"),
        (["--no-reflection"], "write --set reflection=false, with --method promptpo"),
        (["--set", "scale=2"], "scale is an option of the method random-search, not of promptpo"),
        (["--method", "best-of-n", "--set", "finalists=0"], "finalists must be at least 1, not 0"),
        (["--method=random-search", "--set", "scale=x"], "scale must be a number, not 'x'"),
        (["--method=best-of-n", "--set", "finalist=2"], "'finalist'; did you mean 'finalists'?"),
        (["--method", "random"], "unknown method 'random'; did you mean 'random-search'?"),
        (["--method"], "--method: expected one argument"),
    ],
)
def test_a_mistake_is_one_line(capsys, argv, message):
    assert complaint(capsys, "cartpole", *argv).endswith(message)


def test_dry_runs_and_prompts_are_those_of_the_method(capsys):
    argv = ("cartpole", "--dry-run", "--model", "openai/x", "--method")
    out = printed(capsys, *argv, "best-of-n", "--rounds", "3", "--test-episodes", "0")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (lines["method"], lines["model"], lines["calls"]) == ("best-of-n", "openai/x", "12")
    assert (lines["search"], lines["selection"]) == (f"{12 * 5 * 500:,}", f"{5 * 60 * 500:,}")
    out = printed(capsys, *argv, "random-search", "--rounds", "2")
    assert "\nmodel        none is asked\n" in out
    assert "calls" not in out and "tokens" not in out
    assert f"\n  search     {2 * 4 * 5 * 500:,}\n" in out
    shown = printed(capsys, "prompt", "nim", "--method", "best-of-n").splitlines()
    assert [line.split()[1] for line in shown if line.startswith("===")] == ["policy"]
    shown = printed(capsys, "prompt", "nim", "--method", "random-search")
    assert shown == "the method random-search asks no model\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The current folder with a run of each of the two methods."""
    folder = tmp_path_factory.mktemp("methods")
    settings = {"method": "random-search", "rounds": 2, "candidates": 3, "policy_seed": 1}
    run_small(folder, **settings)
    script = Replies().say(LEAN, "policy", 1, 1).say(BAD, "policy", 1, 2).say(GOOD, "policy", 2, 1)
    run(folder, script.say(BAD, "policy", 2, 2), method="best-of-n")
    return folder


@pytest.fixture
def runs(folder, monkeypatch):
    """Its runs by their method."""
    monkeypatch.chdir(folder)
    paths = [path.relative_to(folder) for path in sorted(folder.glob("runs/cartpole/*"))]
    return dict(zip(("random-search", "best-of-n"), map(str, paths), strict=True))


def test_they_are_listed_and_compared(capsys, runs):
    out = printed(capsys, "list")
    for path in runs.values():
        (line,) = [line for line in out.splitlines() if line.startswith(path)]
        assert "finished" in line
    out = printed(capsys, "compare", *runs.values())
    assert "random-search, 3 candidates" in out
    assert "best-of-n" in out


def test_one_is_reported_scored_exported_and_resumed(capsys, runs, tmp_path):
    method = "random-search"
    page = tmp_path / "page.html"
    printed(capsys, "report", runs[method], "--to", str(page))
    assert method in page.read_text() and "r02_c02" in page.read_text()
    out = printed(capsys, "eval", runs[method], "--episodes", "3", "--workers", "1")
    info = json.loads(Path(runs[method], "run.json").read_text())
    assert f"{info['test']['score']['mean_return']:.4g}" in out
    printed(capsys, "export", runs[method], "--to", str(tmp_path / "taken"))
    (policy_file,) = tmp_path.glob("taken/**/policy.py")
    assert "class Policy" in policy_file.read_text()
    copy = shutil.copytree(runs[method], tmp_path / "cartpole" / Path(runs[method]).name)
    before = (copy / "best" / "policy.py").read_text()
    assert "round 2 of 2" in printed(capsys, "--resume", str(copy), "--method", method)
    assert (copy / "best" / "policy.py").read_text() == before


def test_a_run_without_replies_cannot_be_recorded(capsys, runs, tmp_path):
    assert main(["export", runs["random-search"], "--recording", str(tmp_path / "x.jsonl")]) == 6
    assert "no reply on record; there is nothing to replay" in capsys.readouterr().err


def test_a_recording_of_best_of_n_is_replayed_as_one(capsys, runs, tmp_path):
    file = tmp_path / "samples.jsonl"
    printed(capsys, "export", runs["best-of-n"], "--recording", str(file))
    out = printed(capsys, "cartpole", "--model", f"recorded:{file}", "--dry-run")
    assert "\nmethod       best-of-n\n" in out
    assert "\ncalls        4\n" in out


@pytest.mark.parametrize("command", [[], ["run", "--dry-run"], ["prompt"], ["--seeds", "0,1"]])
def test_a_method_that_cannot_tune_refuses_to(tmp_path, capsys, command):
    out = [] if command == ["prompt"] else ["--out", str(tmp_path / "runs")]
    for method in ("best-of-n", "random-search", "props", "r2po", "inspo"):
        said = complaint(capsys, *command, "cartpole", "--method", method, "--tune", *out)
        assert f"--method {method} tunes no constants" in said
        assert said.endswith("--method promptpo or tune")
        assert not (tmp_path / "runs").exists()


PLUGIN = """
from promptpo.methods.best_of_n import BestOfN


class Tuner(BestOfN):
    tunes = True
"""


def test_a_method_of_a_package_says_itself_that_it_tunes(tmp_path, capsys, monkeypatch):
    point = "own-tuner = own_tuner:Tuner"
    pretend_installed(tmp_path, "own-tuner", "1.0", "promptpo.methods", point, own_tuner=PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    printed(capsys, "cartpole", "--method", "own-tuner", "--tune", "--dry-run")
    said = complaint(capsys, "cartpole", "--method", "best-of-n", "--tune", "--dry-run")
    assert said.endswith("--method promptpo or tune or own-tuner")


def test_a_replay_of_a_run_that_tuned_does_not_tune_with_a_method_that_cannot(tmp_path):
    script = Replies().say(GOOD, "policy", 1, 1)
    model = script.write(tmp_path / "replies.jsonl", tune=True)
    result, events = run_small(tmp_path, method="best-of-n", model=model, rounds=1, candidates=1)
    assert result.status == "finished"
    assert next(e.data["config"] for e in events if e.type == "run")["tune"] is False
