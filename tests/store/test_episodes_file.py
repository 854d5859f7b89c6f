"""``episodes.npz`` is what docs/runs.md says it is."""

import contextlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from scripted import BAD, GOOD, policy, replies, run

DOCUMENT = Path(__file__).parents[2] / "docs" / "runs.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    script = replies([GOOD, BAD, policy("return None")])
    return run(tmp_path_factory.mktemp("run"), script, episodes=3, test_episodes=0)[0].folder


def rows_of_the_table():
    text = DOCUMENT.read_text().split("## Trajectories")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\| `(\w+)_i` \| (\w+) \| \((.*?)\) \|", text)


@pytest.mark.parametrize("candidate", ["r01_c01", "r01_c02"])
def test_arrays_have_the_documented_names_types_and_shapes(folder, candidate):
    result = json.loads((folder / "candidates" / candidate / "result.json").read_text())
    with np.load(folder / "candidates" / candidate / "episodes.npz", allow_pickle=False) as file:
        documented = rows_of_the_table()
        names = {f"{name}_{i}" for name, _, _ in documented for i in range(3)}
        assert set(file.files) == names
        for i, length in enumerate(e["length"] for e in result["episodes"]):
            sizes = {"T + 1": length + 1, "T": length, "n": 4, "m": 1, "4": 4}
            for name, dtype, shape in documented:
                found = file[f"{name}_{i}"]
                assert found.dtype == dtype
                assert found.shape == tuple(sizes[s] for s in re.split(r", ?", shape) if s)


def test_the_numbers_are_those_of_the_result(folder):
    where = folder / "candidates" / "r01_c02"
    result = json.loads((where / "result.json").read_text())
    with np.load(where / "episodes.npz", allow_pickle=False) as file:
        ends = [file[f"end_{i}"].tolist() for i in range(3)]
        returns = [file[f"rewards_{i}"].sum() for i in range(3)]
        assert [end[0] for end in ends] == result["seeds"]
        assert all(end[1:] == [1, 0, -1] for end in ends)  # it fell over; success is undefined
        assert returns == [e["return"] for e in result["episodes"]]
        assert not file["actions_0"].any()  # it always pushes to the left


def test_the_columns_are_listed_in_the_log(folder):
    first = json.loads((folder / "events.jsonl").read_text().splitlines()[0])
    fields = [field["name"] for field in first["spec"]["observation"]]
    assert fields == ["cart_position", "cart_velocity", "pole_angle", "pole_velocity"]


def test_a_failed_candidate_has_none(folder):
    assert not (folder / "candidates" / "r01_c03" / "episodes.npz").exists()


def test_the_documented_code_reads_it(folder, capsys):
    code = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)[0]
    with contextlib.chdir(folder):
        exec(compile(code, "runs.md", "exec"), {})  # noqa: S102 - the document's own code
    result = json.loads((folder / "candidates" / "r01_c01" / "result.json").read_text())
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [int(seed) for seed, _, _ in lines] == result["seeds"]
    assert [float(value) for _, _, value in lines] == [e["return"] for e in result["episodes"]]
