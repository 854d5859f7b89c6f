"""The commands on a real run of CartPole: run, resume, eval, list, export; Ctrl-C and failures."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import command, environment
from scripted import BAD, GOOD, events_of, policy, replies, run_folder

from promptpo.cli import main
from promptpo.llm.recording import load_header, load_recording

QUICK = ("--selection-episodes", "5", "--test-episodes", "10", "--workers", "1")
LEAN = policy("return int(obs.pole_angle > 0)")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder in which a recorded run was made, and what the run printed."""
    folder = tmp_path_factory.mktemp("cli")
    script = replies([BAD, LEAN.replace("angle", "tilt"), "I would rather not."], [GOOD, LEAN, BAD])
    script.pop(next(key for key in script if key.role == "reflection" and key.round == 3))
    script.say(LEAN, "repair", 1, 2, 1)
    own = {"history": "published", "probe": 0, "challenge": False}
    settings = {"rounds": 2, "candidates": 3, "episodes": 5, "early_stop": False, "options": own}
    model = script.write(folder / "scripted.jsonl", spec="cartpole", seed=0, **settings)
    done = command("--spec", "cartpole", "--model", model, *QUICK, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture
def ran(finished, monkeypatch):
    """The run in that folder, which is the current one."""
    monkeypatch.chdir(finished[0])
    return run_folder(Path("runs"))


def test_the_closing_lines_name_files_score_cost_and_end(finished, ran):
    out = finished[1]
    lines = out[out.index("best policy") :].splitlines()
    assert lines[0] == f"best policy  {ran / 'best' / 'policy.py'}  (r02_c01)"
    assert lines[1].startswith("held-out     mean return 500")
    assert lines[2] == "compare      return: random 22.8, zero action 9.3, optimum 500"
    assert lines[3] == "cost         9 replies replayed, no tokens, $0.00"
    assert re.fullmatch(r"env steps    search [\d,]+, selection [\d,]+, test 5,000", lines[4])
    assert lines[5] == f"report       {ran / 'report.html'}"
    assert lines[6:] == ["ended        all rounds are done"]


def test_list_shows_specs_and_runs(ran, capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^cartpole +yes +yes +keep a pole", out, re.MULTILINE)
    assert re.search(rf"^{ran} +finished +r02_c01\s+held-out mean return 500", out, re.M)


@pytest.mark.slow
def test_export_writes_a_recording_that_replays_the_same_scores(ran, tmp_path, capsys):
    file = tmp_path / "new.jsonl"
    origin = ("--author", "a person", "--how", "by hand")
    made = ("export", "latest", "--recording", str(file), *origin)
    assert main(made) == 0
    header = load_header(file)
    wanted = (header.spec, header.config["rounds"], header.config["candidates"], header.model)
    assert wanted == ("cartpole", 2, 3, "a person")
    assert json.loads(file.read_text().splitlines()[0])["how"] == "by hand"
    assert len(load_recording(file).replies) == 9
    assert main(made) == 2
    assert "--force" in capsys.readouterr().err
    again = ("cartpole", "--model", f"recorded:{file}", *QUICK, "--out", str(tmp_path))
    assert main(again) == 0
    assert "prompt has changed" not in capsys.readouterr().out
    first, second = (sorted(map(returns, events_of(f, "rollout")))
                     for f in (ran, run_folder(tmp_path)))  # fmt: skip
    assert first == second


def returns(rollout):
    key = rollout["stream"], rollout["key"]["round"], rollout["key"]["candidate"]
    return (*key, [episode["return"] for episode in rollout["episodes"]])


def test_resuming_a_finished_run_changes_nothing_and_what_shaped_it_cannot_change(ran, capsys):
    before = [e for e in events_of(ran) if e["type"] != "resumed"]
    assert main(["--resume", "latest"]) == 0
    assert "best policy  runs/cartpole/" in capsys.readouterr().out
    assert [e for e in events_of(ran) if e["type"] != "resumed"] == before
    for argv, message in (
        (("--candidates", "2"), "--candidates cannot change when a run is resumed (it was 3)"),
        (("--spec", "metaworld_reach"), "not a run of metaworld_reach"),
        (("--preset", "paper"), "cannot change when a run is resumed"),
    ):
        assert main(["--resume", str(ran), *argv]) == 2
        assert message in capsys.readouterr().err


def test_ctrl_c_stops_cleanly_and_says_how_to_resume(tmp_path):
    process = subprocess.Popen(
        # As `nohup ... &` starts it: with SIGINT ignored.
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh",
         sys.executable, "-m", "promptpo", "--spec", "cartpole", "--model", "manual", *QUICK],
        cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/cartpole/*/prompts/*.prompt.md")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    run = run_folder(tmp_path / "runs").relative_to(tmp_path)
    assert out.rstrip().endswith(f"-m promptpo --resume {run}")
    assert "best policy  none" in out


def test_a_model_that_is_not_configured_is_one_line(monkeypatch, capsys):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["cartpole", "--model", "openai/gpt-5"]) == 4
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "OPENAI_API_KEY" in err
