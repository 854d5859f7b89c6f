"""``promptpo list``: what stands beside what."""

import os
from pathlib import Path

import pytest
from written_runs import written_run

from promptpo.cli import main
from promptpo.cli.views import run_rows, with_twins


def test_the_runs_of_a_twin_stand_after_those_of_its_original(tmp_path):
    started = [("toy", ""), ("twin_toy", "toy"), ("other", ""), ("toy", ""), ("twin_toy", "toy")]
    for number, (name, twin_of) in enumerate(started):
        folder = written_run(tmp_path, spec=name, twin_of=twin_of)
        folder.rename(folder.with_name(f"20260102-00000{number}"))
    rows = [row[0].rpartition("/20260102-00000")[::2] for row in run_rows(tmp_path)]
    order = [(folder.rpartition("/")[2], int(number)) for folder, number in rows]
    assert order == [("toy", 3), ("toy", 0), ("twin_toy", 4), ("twin_toy", 1), ("other", 2)]


def test_a_run_that_withheld_facts_says_so(tmp_path):
    for has, told in ((True, False), (True, True), (False, False)):
        written_run(tmp_path, spec=f"{has}{told}".lower(), has_facts=has, facts=told)
    words = {Path(row[0]).parent.name: row[-1] for row in run_rows(tmp_path)}
    assert [name for name, said in words.items() if "without facts" in said] == ["truefalse"]


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
