"""``promptpo bench`` with real processes: killed, it goes on; what it may not change is told."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import promptpo
from promptpo.cli import main
from promptpo.errors import UsageError
from promptpo.matrix.bench import open_bench
from promptpo.matrix.suite import load_suite, shipped_suites

ROOT = Path(promptpo.__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}

SUITE = """\
title = "two that need no model, and one of which there is no recording"
specs = ["cartpole", "nim"]
seeds = [3]

[budget]
steps = 4000

[settings]
rounds = 2
candidates = 2
episodes = 2
selection-episodes = 2
test-episodes = 4

[[methods]]
label = "random search"
method = "random-search"

[[methods]]
label = "by hand"
model = "manual"
specs = ["nim"]

[[methods]]
label = "replayed"
model = "recorded:{spec}-{seed}.jsonl"
specs = ["nim"]
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROMPTPO_MODEL", raising=False)
    file = tmp_path / "mine.toml"
    file.write_text(SUITE)
    return file


def test_what_would_be_run_is_said(suite, capsys):
    assert main(["list", "suites"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert set(names) >= {"suite", *shipped_suites()}
    assert main(["bench", "mine.toml", "--dry-run", "--only", "random search"]) == 0
    out = capsys.readouterr().out
    assert "cells        3 on 2 specs, 2 to run\n" in out
    assert "budget       each run: --max-env-steps 4000; selection and held-out on top\n" in out
    missing = suite.parent / "nim-3.jsonl"
    assert f"left out     no recording: {missing}: replayed: nim seed 3\n" in out
    assert not Path("runs").exists()
    head, _, methods = SUITE.partition("[[methods]]")
    suite.write_text(head + "[[methods]]" + methods.split("[[methods]]")[2])
    assert main(["bench", "mine.toml"]) == 0
    out = capsys.readouterr().out
    assert "left out     no recording: " in out and "0 runs: none can begin" in out


def test_calls_and_cost_bound_what_asks_a_language_model_alone(suite):
    text = suite.read_text().replace("steps = 4000", "steps = 4000\ncalls = 3\ncost = 1.0")
    suite.write_text(f'{text}\n[[methods]]\nlabel = "no model"\nmodel = "builtin"\n')
    bench = open_bench(load_suite(str(suite)), suite.parent)
    limits = {
        member.label: [bench.plan.settings_of(member)[f"max_{of}"] for of in ("calls", "cost")]
        for member in bench.plan.runs
    }
    assert limits["by hand"] == [3, 1.0]
    assert limits["no model"] == [None, None]
    steps = {bench.plan.settings_of(member)["max_env_steps"] for member in bench.plan.runs}
    assert steps == {4000}


@pytest.mark.usefixtures("suite")
def test_a_mistake_is_told_before_anything_begins(capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for words, code, message in [
        ("bench mine.toml --only rnd", 2, "--only rnd: the methods of this suite are"),
        ("bench mine.toml --workers 0", 2, "workers must be at least 1"),
        ("bench r2po10", 4, "R2PO, ProPS+, ProPS, PromptPO, INSPO,"),
        ("bench r2po10", 4, "need none: --only 'random search,builtin tuned'"),
        ("bench r2po10 --model builtin", 2, "R2PO: builtin writes policies"),
        ("bench r2po10 --model openai/gpt-5", 4, "OPENAI_API_KEY"),
        ("bench", 2, "SUITE"),
    ]:
        assert main(words.split()) == code, words
        assert message in capsys.readouterr().err
    assert not Path("runs").exists()


def test_what_was_run_keeps_its_settings_but_for_those_of_the_machine(suite):
    def opened(old="", new=""):
        suite.write_text(SUITE.replace(old, new))
        return open_bench(load_suite("mine.toml"), Path("runs"))

    bench = opened()
    bench.folder.path.mkdir(parents=True)
    bench.folder.write(bench.plan)
    log = bench.folder.path / "by hand" / "nim" / "1" / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"config": {"seed": 3}}\n')

    opened("rounds = 2", "rounds = 2\ncall-timeout = 30.0").check()
    opened("random-search", 'random-search"\nmodel = "builtin').check()  # it has not begun
    with pytest.raises(UsageError, match="by hand: nim seed 3 was run with --episodes 2"):
        opened("episodes = 2", "episodes = 3").check()


@pytest.mark.slow
def test_a_benchmark_that_was_killed_goes_on_and_begins_nothing_twice(suite, capsys):
    argv = ["bench", "mine.toml", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "promptpo", *argv],
        env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    folder = suite.parent / "runs" / "bench" / "mine"
    deadline = time.monotonic() + 120
    while not [*folder.glob("by hand/nim/*/prompts/*.md")]:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.communicate()

    assert main([*argv, "--only", "random search"]) == 0
    out = capsys.readouterr().out
    assert "cells        3 cells" not in out
    assert "to go on     the same command again\n" in out
    begun = [json.loads(file.read_text()) for file in folder.glob("*/*/*/run.json")]
    assert sorted((run["spec"], run["config"]["method"]) for run in begun) == [
        ("cartpole", "random-search"), ("nim", "promptpo"), ("nim", "random-search"),
    ]  # fmt: skip
    *played, idle = json.loads((folder / "suite.json").read_text())["cells"]
    assert [(c["spec"], c["label"], bool(c["run"])) for c in played] == [
        ("cartpole", "random search", True),
        ("nim", "random search", True),
        ("nim", "by hand", True),
    ]
    assert (idle["label"], idle["seed"], idle["run"]) == ("replayed", 3, "")
    assert idle["problem"].startswith("no recording: ")

    suite.write_text(SUITE.replace("rounds = 2", "rounds = 3"))
    assert main([*argv, "--only", "random search"]) == 2
    words = "random search: cartpole seed 3 was run with --rounds 2, and the suite now says 3"
    assert words in capsys.readouterr().err
    assert main(["--resume", "runs/bench/mine"]) == 2
    assert "`promptpo bench` with the suite's file goes on" in capsys.readouterr().err
