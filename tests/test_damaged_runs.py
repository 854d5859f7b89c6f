"""Runs whose files are damaged: what can be read is shown, and resuming makes the rest again."""

import io
import json
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scripted import BAD, GOOD, data_of, replies, run

import promptpo
from promptpo.cli import main
from promptpo.cli.views import run_rows
from promptpo.errors import FileError, RunError
from promptpo.store.events import read_log
from promptpo.store.folder import RunFolder, read_episodes
from promptpo.store.run import load_run

KINDS = (
    *("run", "prompt", "reply", "rollout", "candidate", "feedback", "round"),
    *("selection", "test", "finished"),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return run(tmp_path_factory.mktemp("damaged"), replies([BAD], [GOOD]))[0]


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished.folder, tmp_path / "cartpole" / finished.folder.name)


def damage(folder, *kinds):
    """Overwrite the first event of each kind with zeros."""
    log = folder / "events.jsonl"
    lines = log.read_bytes().splitlines()
    for kind in kinds:
        start = f'{{"type": "{kind}"'.encode()
        lines[next(i for i, line in enumerate(lines) if line.startswith(start))] = b"\0" * 40
    log.write_bytes(b"\n".join(lines) + b"\n")


def decided(folder):
    """What must be the same again: candidates, rollouts, texts and decisions, in any order."""
    kinds = KINDS[3:]
    events = read_log(folder / "events.jsonl").events
    return {json.dumps([e.type, e.data], sort_keys=True) for e in events if e.type in kinds}


def test_every_event_of_a_run_has_the_shape_that_readers_rely_on(finished):
    found = read_log(finished.folder / "events.jsonl")
    assert (found.damaged, found.cut) == ({}, b"")
    assert set(KINDS) <= {event.type for event in found.events}


@pytest.mark.parametrize(
    "kinds",
    [
        ("reply", "rollout", "round"),
        *(pytest.param((k,), marks=pytest.mark.slow) for k in ("run", "prompt")),
    ],
)
def test_what_an_unreadable_line_recorded_is_done_again(folder, finished, kinds):
    before = decided(folder)
    damage(folder, *kinds)
    events = []
    result = promptpo.optimize(resume=folder, on_event=events.append)
    assert "set aside in events.jsonl.damaged" in data_of(events, "notice")[0]["text"]
    assert (result.best.name, result.test) == (finished.best.name, finished.test)
    assert decided(folder) == before
    assert result.usage == finished.usage


def test_a_log_that_tells_nothing_and_no_run_json_is_an_error(folder):
    (folder / "events.jsonl").write_bytes(b"\0" * 100 + b"\n")
    (folder / "run.json").write_text("{}")
    with pytest.raises(RunError, match="no run is recorded in it"):
        promptpo.optimize(resume=folder)


def arrays(**changed):
    """An episodes file of two steps."""
    whole = {"obs_0": np.zeros((3, 4)), "actions_0": np.zeros((2, 1))}
    whole |= {"rewards_0": np.zeros(2), "end_0": np.array([7, 1, 0, -1])}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{k: v for k, v in (whole | changed).items() if v is not None})
    return buffer.getvalue()


def huge():
    """A file with an array whose header announces 8 TB."""
    header = io.BytesIO()
    announced = {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(header, announced)
    buffer = io.BytesIO(arrays(obs_0=None))
    with zipfile.ZipFile(buffer, "a") as file:
        file.writestr("obs_0.npy", header.getvalue())
    return buffer.getvalue()


FILES = {
    "empty": b"",
    "text": b"no zip file at all",
    "cut": arrays()[:-100],
    "zeros inside": arrays()[:60] + b"\0" * 60 + arrays()[120:],
    "an array alone": b"\x93NUMPY" + b"\0" * 50,
    "an array missing": arrays(obs_0=None, more=np.zeros(1)),
    "objects": arrays(rewards_0=np.array([{}, {}])),
    "another length": arrays(rewards_0=np.zeros(9)),
    "another shape": arrays(obs_0=np.zeros(3)),
    "another type": arrays(obs_0=np.array([["a"] * 4] * 3)),
    "an end of three": arrays(end_0=np.array([7, 1, 0])),
    "too large": huge(),
}


@pytest.mark.parametrize("kind", FILES)
def test_damaged_episodes_are_named_in_one_line(tmp_path, kind):
    file = tmp_path / "episodes.npz"
    file.write_bytes(FILES[kind])
    with pytest.raises(
        RunError, match=r"episodes\.npz: damaged \(.*\); `promptpo --resume` plays"
    ) as e:
        read_episodes(file)
    assert "\n" not in str(e.value)


def test_a_run_json_that_cannot_be_read_is_named_beside_what_the_log_tells(folder):
    file = folder / "run.json"
    file.unlink()
    assert run_rows(folder.parents[1])[0][1:3] == ("finished", "r02_c01")
    for text in ("", "{", "[]", '{"status": 3}', '{"test": {"episodes": "x"}}', None):
        file.unlink(missing_ok=True)
        file.mkdir() if text is None else file.write_text(text)
        _, status, best, words = run_rows(folder.parents[1])[0]
        assert (status, best) == ("finished", "r02_c01")
        assert "held-out mean return 500" in words
        assert "run.json: " in words


def test_a_run_whose_log_is_no_file_is_named(folder):
    (folder / "events.jsonl").unlink()
    assert run_rows(folder.parents[1])[0][1] == "unreadable"
    (folder / "events.jsonl").mkdir()
    assert "its events.jsonl is no file" in run_rows(folder.parents[1])[0][3]


def test_resuming_sets_aside_what_cannot_be_read_and_says_so(folder):
    damage(folder, "round")
    number = (folder / "events.jsonl").read_bytes().splitlines().index(b"\0" * 40) + 1
    (folder / "run.json").write_text("{")
    (folder / "candidates" / "r01_c01" / "episodes.npz").write_bytes(b"PK")
    assert (
        f"line {number} of events.jsonl cannot be read (not JSON); `promptpo --resume "
        in (load_run(folder).unread[0])
    )
    events = []
    promptpo.optimize(resume=folder, on_event=events.append)
    log, info, played = (notice["text"] for notice in data_of(events, "notice")[:3])
    assert f"line {number} of events.jsonl cannot be read (not JSON): set aside in" in log
    assert "run.json: not valid JSON" in info
    assert "set aside in run.json.damaged" in info
    assert "r01_c01/episodes.npz: damaged" in played
    assert (folder / "events.jsonl.damaged").read_bytes() == b"\0" * 40 + b"\n"
    assert (folder / "run.json.damaged").read_text() == "{"
    assert RunFolder(folder).read_info()["status"] == "finished"
    assert load_run(folder).unread == ()


def test_readers_say_what_they_leave_out(folder, tmp_path, capsys):
    damage(folder, "reply")
    assert main(["export", str(folder), "--recording", str(tmp_path / "recording.jsonl")]) == 0
    done = capsys.readouterr()
    assert "cannot be read (not JSON); replies in it are left out" in done.err
    assert "3 replies" in done.out
    assert main(["compare", str(folder)]) == 0
    assert "cannot be read" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_folder_where_a_file_should_be_ends_the_run_in_one_line(folder):
    file = folder / "README.md"
    file.unlink()
    file.mkdir()
    with pytest.raises(FileError, match=r"README\.md: Is a directory; .* move it away; then") as e:
        promptpo.optimize(resume=folder)
    assert "\n" not in str(e.value)
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"
    file.rmdir()
    assert promptpo.optimize(resume=folder).status == "finished"


@pytest.mark.slow
def test_missing_files_are_written_again(folder):
    prompt = folder / "prompts" / "r01_c01_policy.prompt.md"
    shutil.rmtree(folder / "prompts")
    shutil.rmtree(folder / "best")
    promptpo.optimize(resume=folder)
    assert prompt.is_file()
    assert (folder / "best" / "policy.py").is_file()


@pytest.mark.slow
def test_on_a_full_disk_a_run_ends_in_one_line_and_goes_on_later(tmp_path):
    script = replies([BAD], [GOOD])
    model = script.write(tmp_path / "replies.jsonl")
    code = f"""
mount -t tmpfs -o size=64k none {tmp_path}/disk || exit 99
run="{sys.executable} -m promptpo"
$run --spec cartpole --model {model} --rounds 2 --candidates 1 --workers 1 --test-episodes 2 \\
    --selection-episodes 2 --out {tmp_path}/disk 2>{tmp_path}/errors
echo "ended with $?"
mount -o remount,size=9m {tmp_path}/disk
$run --resume latest --out {tmp_path}/disk
"""
    (tmp_path / "disk").mkdir()
    command = ["unshare", "-m", "sh", "-c", code]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    if done.returncode in (1, 99) and "ended with" not in done.stdout:
        pytest.skip("no file system can be mounted here")
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert "No space left on device; free some space; then promptpo --resume" in line
    assert "ended with 8" in done.stdout
    assert "all rounds are done" in done.stdout
