"""The commands on a real run of CartPole: run, resume, eval, list, export; Ctrl-C and failures."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scripted import BAD, GOOD, policy, replies

import promptpo
from promptpo.llm.recording import load_header, load_recording

ROOT = Path(promptpo.__file__).parents[1]
ENV = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}
QUICK = ("--selection-episodes", "5", "--test-episodes", "10", "--workers", "1")


LEAN = policy("return int(obs.pole_angle > 0)")


def promptpo_cli(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "promptpo", *argv],
        check=False, cwd=folder, env=ENV, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder in which a recorded run was made, and what the run printed."""
    folder = tmp_path_factory.mktemp("cli")
    script = replies([BAD, LEAN.replace("angle", "tilt"), "I would rather not."], [GOOD, LEAN, BAD])
    script.pop(next(key for key in script if key.role == "reflection" and key.round == 3))
    script.say(LEAN, "repair", 1, 2, 1)
    own = {"history": "published", "probe": 0, "challenge": False}
    settings = {"rounds": 2, "candidates": 3, "episodes": 5, "early_stop": False, "options": own}
    model = script.write(folder / "scripted.jsonl", spec="cartpole", seed=0, **settings)
    done = promptpo_cli(folder, "--spec", "cartpole", "--model", model, *QUICK)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs" / "cartpole").iterdir()
    return run


def test_the_closing_lines_name_files_score_cost_and_end(finished: tuple[Path, str]) -> None:
    folder, out = finished
    lines = out[out.index("best policy") :].splitlines()
    run = only_run(folder).relative_to(folder)
    assert lines[0] == f"best policy  {run / 'best' / 'policy.py'}  (r02_c01)"
    assert lines[1].startswith("held-out     mean return 500")
    assert lines[2] == "compare      return: random 22.8, zero action 9.3, optimum 500"
    assert lines[3] == "cost         9 replies replayed, no tokens, $0.00"
    assert re.fullmatch(r"env steps    search [\d,]+, selection [\d,]+, test 5,000", lines[4])
    assert lines[5] == f"report       {run / 'report.html'}"
    assert lines[6] == "ended        all rounds are done"
    assert len(lines) == 7


def test_list_shows_specs_and_runs(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    out = promptpo_cli(folder, "list").stdout
    assert re.search(r"^cartpole +yes +yes +keep a pole", out, re.MULTILINE)
    run = re.escape(str(only_run(folder).relative_to(folder)))
    assert re.search(rf"^{run} +finished +r02_c01\s+held-out mean return 500", out, re.M)


@pytest.mark.slow
def test_export_writes_a_recording_that_replays_the_same_scores(
    finished: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = finished
    file = tmp_path / "new.jsonl"
    origin = ("--author", "a person", "--how", "by hand")
    made = ("export", "latest", "--recording", str(file), *origin)
    assert promptpo_cli(folder, *made).returncode == 0
    header = load_header(file)
    assert header is not None
    wanted = (header.spec, header.config["rounds"], header.config["candidates"])
    assert wanted == ("cartpole", 2, 3)
    assert header.model == "a person"
    assert json.loads(file.read_text().splitlines()[0])["how"] == "by hand"
    assert len(load_recording(file).replies) == 9
    refused = promptpo_cli(folder, *made)
    assert refused.returncode == 2
    assert "--force" in refused.stderr

    again = promptpo_cli(tmp_path, "--spec", "cartpole", "--model", f"recorded:{file}", *QUICK)
    assert again.returncode == 0, again.stderr
    first, second = (
        [e for e in events(only_run(f)) if e["type"] == "rollout"] for f in (folder, tmp_path)
    )
    assert sorted(map(returns, first)) == sorted(map(returns, second))
    assert "prompt has changed" not in again.stdout


def events(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def returns(rollout: dict) -> tuple:
    returns = tuple(episode["return"] for episode in rollout["episodes"])
    return (rollout["stream"], rollout["key"]["round"], rollout["key"]["candidate"], returns)


def test_resuming_a_finished_run_changes_nothing(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    run = only_run(folder)
    before = [e for e in events(run) if e["type"] != "resumed"]
    done = promptpo_cli(folder, "--resume", "latest")
    assert done.returncode == 0, done.stderr
    assert "best policy  runs/cartpole/" in done.stdout
    assert [e for e in events(run) if e["type"] != "resumed"] == before


def test_what_shaped_a_run_cannot_change_on_resuming(finished: tuple[Path, str]) -> None:
    name = str(only_run(finished[0]))
    for argv, message in (
        (("--candidates", "2"), "--candidates cannot change when a run is resumed (it was 3)"),
        (("--spec", "metaworld_reach"), "not a run of metaworld_reach"),
        (("--preset", "paper"), "cannot change when a run is resumed"),
    ):
        done = promptpo_cli(finished[0], "--resume", name, *argv)
        assert message in done.stderr
        assert done.returncode in (2, 6)


def test_ctrl_c_stops_cleanly_and_says_how_to_resume(tmp_path: Path) -> None:
    process = subprocess.Popen(
        # As `nohup ... &` starts it: with SIGINT ignored.
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh",
         sys.executable, "-m", "promptpo", "--spec", "cartpole", "--model", "manual", *QUICK],
        cwd=tmp_path, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("runs/cartpole/*/prompts/*.prompt.md")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    run = only_run(tmp_path).relative_to(tmp_path)
    assert out.rstrip().endswith(f"-m promptpo --resume {run}")
    assert "best policy  none" in out


def test_a_model_that_is_not_configured_is_one_line(tmp_path: Path) -> None:
    env = {k: v for k, v in ENV.items() if not k.endswith("_API_KEY")}
    done = subprocess.run(
        [sys.executable, "-m", "promptpo", "--spec", "cartpole", "--model", "openai/gpt-5"],
        check=False, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (4, "")
    assert "OPENAI_API_KEY" in done.stderr
    assert done.stderr.count("\n") == 1
