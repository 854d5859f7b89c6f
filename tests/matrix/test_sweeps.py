"""Sweeps with real processes: they end, fail, are interrupted and killed, and go on."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from own_cartpole import own_cartpole
from scripted import replies

import promptpo
from promptpo.cli import main
from promptpo.matrix import plan as plans
from promptpo.matrix.plan import PlanFolder

ROOT = Path(promptpo.__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}
#: A search without a model that takes a second.
SEARCH = (
    *("--method", "random-search", "--rounds", "1", "--candidates", "2", "--episodes", "2"),
    *("--selection-episodes", "2", "--test-episodes", "4"),
)
#: A search that waits for a reply until it is ended.
WAITING = ("--model", "manual", "--rounds", "1", "--candidates", "1", "--test-episodes", "2")
#: Programs for any task.
STILL = "class Policy:\n    def act(self, observation):\n        return 0"
SILENT = "class Feedback:\n    def summarize_trajectory(self, traj):\n        return 'done'"


def start(folder, *argv):
    return subprocess.Popen(
        [sys.executable, "-m", "promptpo", *argv],
        cwd=folder, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(folder, *argv):
    """Exit code, standard output, standard error."""
    process = start(folder, *argv)
    out, errors = process.communicate(timeout=240)
    return process.returncode, out, errors


def only_sweep(folder):
    (path,) = (folder / "runs" / "sweeps").iterdir()
    return PlanFolder(path)


def logs_of(sweep):
    return sweep.path.glob("*/*/events.jsonl")


def runs_in(sweep):
    """Specs and seeds of the runs, one for each folder that there is."""
    firsts = [json.loads(log.read_text().splitlines()[0]) for log in logs_of(sweep)]
    return sorted((f["spec"]["name"], f["config"]["seed"]) for f in firsts)


def statuses_in(sweep):
    return sorted(
        json.loads(file.read_text())["status"] for file in sweep.path.glob("*/*/run.json")
    )


def wait_until(what, process=None):
    """Wait for something, for as long as a process lives."""
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        time.sleep(0.05)


def children_of(process):
    tasks = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(word) for task in tasks for word in task.read_text().split()]


def has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """The folder in which a sweep of two specs and two seeds was made, and what it printed."""
    folder = tmp_path_factory.mktemp("swept")
    code, out, errors = run(folder, "nim", "cartpole", "--seeds", "3,5", *SEARCH)
    assert code == 0, errors
    return folder, out


@pytest.mark.slow
def test_there_is_a_run_for_each_spec_and_seed_with_its_share_of_the_workers(swept):
    folder, out = swept
    sweep = only_sweep(folder)
    here = sweep.path.relative_to(folder)
    assert runs_in(sweep) == [("cartpole", 3), ("cartpole", 5), ("nim", 3), ("nim", 5)]
    infos = [json.loads(file.read_text()) for file in sweep.path.glob("*/*/run.json")]
    assert {info["status"] for info in infos} == {"finished"}
    cores = len(os.sched_getaffinity(0))
    workers = {info["config"]["workers"] for info in infos}
    assert workers <= {max(cores // 4, 1), cores // 4 + 1}

    assert out.startswith(f"sweep        {here}\nruns         4 of nim, cartpole\n")
    assert "cartpole seed 5  starting\n" in out
    assert re.search(r"nim seed 3 +finished, (return|success) ", out)
    assert "nim: held-out scores, mean and 95% interval" in out
    *_, runs, report, compare = out.splitlines()
    assert runs == "runs         4 runs: 4 finished"
    assert report == f"report       {here}/report.html"
    assert compare.endswith(f"-m promptpo compare {here}")


@pytest.mark.slow
def test_its_runs_are_listed_found_and_compared(swept, capsys, monkeypatch):
    folder, _ = swept
    monkeypatch.chdir(folder)
    sweep = only_sweep(folder)
    assert main(["compare", sweep.path.name]) == 0
    assert capsys.readouterr().out.count("finished") == 4
    assert main(["compare", str(sweep.path), "--html", "all.html"]) == 0
    assert (folder / "all.html").read_text().count("finished</td>") == 4
    assert main(["list"]) == 0
    listed = capsys.readouterr().out
    assert listed.count(f"{sweep.path.relative_to(folder)}/") == 4
    assert f"{sweep.path.relative_to(folder)}  4 runs: 4 finished" in listed

    logs = {log: log.read_bytes() for log in logs_of(sweep)}
    assert main(["--resume", "latest"]) == 0  # nothing is missing
    out = capsys.readouterr().out
    assert "starting" not in out and "4 runs: 4 finished" in out
    assert {log: log.read_bytes() for log in logs_of(sweep)} == logs


@pytest.mark.slow
def test_a_mistake_is_told_before_anything_begins(swept, capsys, monkeypatch):
    folder, _ = swept
    monkeypatch.chdir(folder)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    sweep = only_sweep(folder)
    for words, code, message in [
        ("--resume SWEEP --candidates 3", 2, "--candidates cannot change when a sweep"),
        ("--resume SWEEP --preset paper", 2, "--preset cannot change when a sweep"),
        ("--resume SWEEP cartpole", 2, "--spec cannot change when a sweep"),
        ("--resume SWEEP --seeds 0..3", 2, "--resume is not for several runs"),
        ("--resume SWEEP --json", 2, "--json is not for a sweep that goes on"),
        ("--resume SWEEP --dry-run", 2, "--dry-run is not for a sweep that goes on"),
        ("nim cartpole --json", 2, "--json is not for several runs"),
        ("nim --seeds 0..1 --seed 3", 2, "--seed and --seeds; leave one of them"),
        ("cartpole nmi --seeds 0..1", 3, "nmi: no such "),
        ("--seeds 0..1", 2, "no spec; name a spec file"),
        ("nim --seeds 0..1 --model openai/gpt-5", 4, "OPENAI_API_KEY"),
    ]:
        argv = [str(sweep.path) if word == "SWEEP" else word for word in words.split()]
        assert main(argv) == code, words
        assert message in capsys.readouterr().err
    assert only_sweep(folder) == sweep


@pytest.mark.slow
def test_a_run_that_fails_ends_no_other_and_shows_in_the_exit_code(tmp_path):
    head, make, tail = own_cartpole().partition("def make() ")
    broken = f"{head}def make():\n    raise OSError('no such world')\n\n\ndef unused() {tail}"
    assert make
    (tmp_path / "broken.py").write_text(broken)
    code, out, errors = run(tmp_path, "broken.py", "nim", *SEARCH)
    assert code == 3, errors
    assert "2 runs: 1 failed, 1 finished" in out
    (failed,) = [line for line in out.splitlines() if line.startswith("failed ")]
    assert "broken seed 0: " in failed and "no such world" in failed
    assert "--resume runs/sweeps/" in out.splitlines()[-1]


@pytest.mark.slow
def test_what_began_with_a_kill_or_ctrl_c_goes_on_and_nothing_is_begun_twice(
    tmp_path, capsys, monkeypatch
):
    argv = ("nim", "cartpole", "--seeds", "1,2", "--workers", "2", *WAITING)
    process = start(tmp_path, *argv)
    wait_until(lambda: len([*tmp_path.glob("runs/sweeps/*/*/*/prompts/*.md")]) == 2, process)
    wait_until(lambda: len(children_of(process)) == 2, process)
    children = children_of(process)
    process.kill()  # its runs see that it is gone, and end
    process.communicate()
    sweep = only_sweep(tmp_path)
    os.close(sweep.lock())  # is to be had once they have ended
    # A lock is free some moments before the process that held it is gone.
    wait_until(lambda: all(map(has_ended, children)))
    assert statuses_in(sweep) == ["interrupted"] * 2
    begun = runs_in(sweep)
    (sweep.path / "nim" / ".new-torn").mkdir()

    again = start(tmp_path, "--resume", str(sweep.path))
    wait_until(lambda: '"resumed"' in "".join(log.read_text() for log in logs_of(sweep)), again)
    wait_until(lambda: len(children_of(again)) == 2, again)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plans, "_PATIENCE", 0)
    assert main(["--resume", "latest"]) == 6
    assert "another process is running it; wait for it or stop it" in capsys.readouterr().err
    again.send_signal(signal.SIGINT)
    out, errors = again.communicate(timeout=60)
    assert again.returncode == 130, errors
    assert "Traceback" not in errors
    assert "4 runs: 2 interrupted, 2 waiting" in out
    assert out.splitlines()[-1].endswith(f"--resume runs/sweeps/{sweep.path.name}")
    assert runs_in(sweep) == begun
    assert not (sweep.path / "nim" / ".new-torn").exists()

    recorded = replies([STILL], feedback=SILENT).write(tmp_path / "replies.jsonl")
    code, out, errors = run(tmp_path, "--resume", "latest", "--model", recorded)
    assert code == 0, (out, errors)
    assert runs_in(sweep) == [("cartpole", 1), ("cartpole", 2), ("nim", 1), ("nim", 2)]
    assert statuses_in(sweep) == ["finished"] * 4


@pytest.mark.slow
def test_a_sweep_whose_folder_is_deleted_begins_no_further_run(tmp_path):
    process = start(tmp_path, "nim", "--seeds", "1,2,3", "--workers", "1", *WAITING)
    wait_until(lambda: [*tmp_path.glob("runs/sweeps/*/nim/*/prompts/*.md")], process)
    while sweeps := [*tmp_path.glob("runs/sweeps/*")]:
        shutil.rmtree(sweeps[0], ignore_errors=True)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 8, (out, errors)
    assert errors.count("\n") == 1
    assert "deleted while the sweep went on" in errors
    assert out.count("starting") == 1
    assert not [*tmp_path.glob("runs/sweeps/*")]


def test_a_plan_that_cannot_be_read_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "runs" / "sweeps" / "x" / "sweep.json"
    file.parent.mkdir(parents=True)
    for text in [
        "", "[]", "{}", '{"runs": [], "settings": []}',
        '{"runs": [{"spec": "nim"}], "settings": {}}',
        '{"runs": [], "settings": {"rounds": -1}}', '{"runs": [], "settings": {"bogus": 1}}',
        '{"runs": [{"spec": "nim", "name": "../nim", "seed": 0}], "settings": {}}',
    ]:  # fmt: skip
        file.write_text(text)
        assert main(["--resume", "x"]) == 6, text
        error = capsys.readouterr().err
        assert error.startswith("promptpo: error: runs/sweeps/x/sweep.json: not what promptpo")
        assert error.count("\n") == 1


@pytest.mark.slow
def test_one_seed_of_one_spec_is_a_run_by_itself_and_tells_programs_how_it_stands(tmp_path):
    code, out, errors = run(tmp_path, "nim", "--seeds", "4", "--json", *SEARCH)
    assert code == 0, errors
    assert not (tmp_path / "runs" / "sweeps").exists()
    lines = [json.loads(line) for line in out.splitlines()]
    (run_folder,) = (tmp_path / "runs" / "nim").iterdir()
    assert all(line["folder"] == f"runs/nim/{run_folder.name}" for line in lines)
    states = list(dict.fromkeys(line["state"] for line in lines))
    assert states[0] == "starting"
    assert states[-1] == "finished"
    last = lines[-1]
    assert last["status"] == "finished"
    assert set(last["held_out"]) == {"mean_return", "success_rate"}
    info = json.loads((run_folder / "run.json").read_text())
    assert info["config"]["seed"] == 4
    assert last["steps"] == sum(info["usage"]["steps"].values())


@pytest.mark.slow
def test_a_run_that_is_attached_ends_with_its_input_and_ignores_ctrl_c(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "promptpo", "nim", "--attached", "--json", *WAITING],
        cwd=tmp_path, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: [*tmp_path.glob("runs/nim/*/prompts/*.md")], process)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    lines = [json.loads(line) for line in out.splitlines()]
    assert "waiting for runs/nim/" in next(li["notice"] for li in lines if "notice" in li)
    assert lines[-1]["status"] == "interrupted"
    shutil.rmtree(tmp_path / "runs")
