"""Any number of signals, at any time: one clean line, and the exit code of an interrupted run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import environment, started

ENDLESS = ("--method", "random-search", "--rounds", "1000", "--candidates", "4", "--episodes", "3",
           "--selection-episodes", "2", "--test-episodes", "2", "--workers", "2")  # fmt: skip
SHORT = (*ENDLESS, "--rounds", "1", "--candidates", "2")


def start(folder, *argv):
    return started(*argv, "--out", "runs", cwd=folder, start_new_session=True)


def burst(process, count, number=signal.SIGINT, seconds=0.1):
    """Signals to all processes of the group, as a terminal sends them."""
    for _ in range(count):
        os.killpg(process.pid, number)
        time.sleep(seconds / count)


def wait_for(process, folder, pattern):
    deadline = time.monotonic() + 120
    while not [*folder.glob(pattern)]:
        assert time.monotonic() < deadline and process.poll() is None, process.communicate()
        time.sleep(0.01)


def ended(process):
    """Exit code, and what was said; no traceback of anybody's."""
    out, errors = process.communicate(timeout=120)
    assert "Traceback" not in errors + out, errors
    assert errors.count("\n") <= 1, errors
    return process.returncode, out, errors


def heard(process):
    """Wait until it hears signals: Python itself, before that, says what it likes."""
    mask = 1 << signal.SIGHUP - 1
    status = Path(f"/proc/{process.pid}/status")
    while not int(status.read_text().split("SigCgt:")[1].split()[0], 16) & mask:
        assert process.poll() is None
        time.sleep(0.001)


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_at_the_start(tmp_path, seconds):
    process = start(tmp_path, "cartpole", *ENDLESS)
    heard(process)
    time.sleep(seconds)
    burst(process, 20)
    code, out, errors = ended(process)
    assert code == 130
    assert errors == "promptpo: interrupted\n" or "interrupted" in out
    assert not [*tmp_path.glob("runs/*/.new-*")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_while_it_plays_and_writes(tmp_path, number):
    process = start(tmp_path, "cartpole", *ENDLESS)
    wait_for(process, tmp_path, "runs/cartpole/2*/candidates/r01_c02/result.json")
    burst(process, 20, number)
    code, out, errors = ended(process)
    assert (code, errors) == (130, "")
    assert "--resume runs/cartpole/" in out.splitlines()[-1]
    (info,) = tmp_path.glob("runs/cartpole/*/run.json")
    assert json.loads(info.read_text())["status"] == "interrupted"


@pytest.mark.parametrize("seen", ["best/policy.py", "report.html", ".summary.json"])
def test_at_the_end(tmp_path, seen):
    process = start(tmp_path, "cartpole", *SHORT)
    wait_for(process, tmp_path, f"runs/cartpole/2*/{seen}")
    burst(process, 20, seconds=0.3)
    code, out, errors = ended(process)
    (info,) = tmp_path.glob("runs/cartpole/*/run.json")
    status = json.loads(info.read_text())["status"]
    assert (code, status) in ((0, "finished"), (130, "finished"), (130, "interrupted"))
    assert bool(errors) == (code == 130 and "--resume" not in out)


def test_a_run_that_was_begun_with_nohup_outlives_its_terminal(tmp_path):
    process = subprocess.Popen(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh",
         sys.executable, "-m", "promptpo", "cartpole", *ENDLESS, "--out", "runs"],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    wait_for(process, tmp_path, "runs/cartpole/2*/candidates/r01_c02/result.json")
    burst(process, 3, signal.SIGHUP)
    wait_for(process, tmp_path, "runs/cartpole/2*/candidates/r03_c02/result.json")
    burst(process, 1, signal.SIGTERM)
    assert ended(process)[0] == 130


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_sweep(tmp_path, number):
    process = start(tmp_path, "cartpole", "nim", "--seeds", "1,2", *ENDLESS)
    wait_for(process, tmp_path, "runs/sweeps/*/cartpole/2*/candidates/r01_c02/result.json")
    burst(process, 20, number)
    code, out, errors = ended(process)
    assert (code, errors) == (130, "")
    assert "2 interrupted, 2 waiting" in out
    infos = [json.loads(f.read_text()) for f in tmp_path.glob("runs/sweeps/*/*/2*/run.json")]
    assert {info["status"] for info in infos} == {"interrupted"}  # none was killed


@pytest.mark.slow
def test_a_benchmark(tmp_path):
    process = start(tmp_path, "bench", "smoke", "--workers", "2")
    wait_for(process, tmp_path, "runs/bench/smoke/*/*/2*/run.json")
    burst(process, 20)
    code, _, errors = ended(process)
    assert (code, errors) == (130, "")
