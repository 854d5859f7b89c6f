"""``promptpo list``: what stands beside what."""

import json
import os

import pytest
from written_runs import written_run

from promptpo.cli import main
from promptpo.cli.listing import run_rows, with_twins


def test_the_runs_of_a_twin_stand_after_those_of_its_original(tmp_path):
    started = [("toy", ""), ("twin_toy", "toy"), ("other", ""), ("toy", ""), ("twin_toy", "toy")]
    for number, (name, twin_of) in enumerate(started):
        folder = tmp_path / name / f"20260101-00000{number}"
        folder.mkdir(parents=True)
        (folder / "events.jsonl").touch()
        (folder / "run.json").write_text(json.dumps({"spec": name, "twin_of": twin_of}))
    shown = [row[0].rpartition("/20260101-00000")[::2] for row in run_rows(tmp_path)]
    found = [(folder.rpartition("/")[2], int(number)) for folder, number in shown]
    assert found == [("toy", 3), ("toy", 0), ("twin_toy", 4), ("twin_toy", 1), ("other", 2)]


@pytest.mark.parametrize(
    ("has", "told", "word"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_run_that_withheld_facts_says_so(tmp_path, has, told, word):
    folder = tmp_path / "toy" / "20260101-000000"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").touch()
    (folder / "run.json").write_text(json.dumps({"facts": has, "config": {"facts": told}}))
    (row,) = run_rows(tmp_path)
    assert ("without facts" in row[-1]) == word


def test_which_specs_have_a_twin():
    assert "mujoco_hopper" in with_twins()
    assert "nim" not in with_twins()


#: Latin-1, as an old archive has it; a newline; what only a terminal acts on.
NAMES = [b"caf\xe9", b"two\nlines", b"\x1b[31mred"]


@pytest.mark.usefixtures("unopened")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", [["list"], ["compare", "RUN"], ["report", "RUN"]])
def test_a_folder_whose_name_is_no_text_is_told_of_all_the_same(tmp_path, capsys, command, name):
    run = written_run(tmp_path, test=[1.0, 2.0])
    runs = tmp_path / os.fsdecode(name)
    (runs / "toy").mkdir(parents=True)
    run = run.rename(runs / "toy" / os.fsdecode(b"2026\xe90101-000000"))
    words = [str(run) if word == "RUN" else word for word in command]
    extra = ["--out", str(runs)] if command == ["list"] else []
    assert main([*words, *extra]) == 0, capsys.readouterr().err
    assert "2026\N{REPLACEMENT CHARACTER}0101-000000" in capsys.readouterr().out
