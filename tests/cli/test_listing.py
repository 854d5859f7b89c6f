"""``promptpo list``: what stands beside what."""

import json

import pytest

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
