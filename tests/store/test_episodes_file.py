"""``episodes.npz`` is what docs/runs.md says it is."""

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scripted import BAD, GOOD, policy, replies, run

from promptpo.errors import RunError
from promptpo.store.folder import pack_episodes, read_episodes
from promptpo.types import Trajectory

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


TRACE = {"phase": ("reach", None, "pü"), "n": (1, True, 2.5), "nan": (float("inf"), None, -0.0)}


def traced(trace):
    return Trajectory(np.zeros((4, 2)), np.zeros((3, 1)), np.zeros(3), 7, True, False, None, trace)


def test_what_was_traced_is_kept_beside_episodes_without(tmp_path):
    file = tmp_path / "episodes.npz"
    file.write_bytes(pack_episodes([traced({}), traced(TRACE), traced({"x": (None,) * 3})]))

    found = [episode.trace for episode in read_episodes(file)]

    assert found == [{}, TRACE, {"x": (None, None, None)}]
    assert [*map(type, found[1]["n"])] == [int, bool, float]
    with np.load(file, allow_pickle=False) as data:
        assert "trace_names_0" not in data.files
        assert data["trace_kinds_1"].tolist() == [[4, 0, 4], [2, 3, 1], [1, 0, 1]]


def test_where_some_seeds_are_asked_for_only_their_arrays_are_read(tmp_path):
    file = tmp_path / "episodes.npz"
    file.write_bytes(pack_episodes([replace(traced({}), seed=seed) for seed in (3, 7, 5)]))
    with np.load(file) as data:
        np.savez(file, **{**data, "rewards_1": np.zeros(0)})

    assert [episode.seed for episode in read_episodes(file, {5, 3})] == [3, 5]
    with pytest.raises(RunError, match="episode 1 do not fit together"):
        read_episodes(file, {7})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("names", np.array(["a", "a", "b"])),
        ("names", np.array(["a b", "c", "d"])),
        ("names", np.array([1.0, 2.0, 3.0])),
        ("kinds", np.full((3, 3), 5, np.uint8)),
        ("kinds", np.zeros((3, 2), np.uint8)),
        ("numbers", np.full((3, 3), np.nan)),
        ("strings", np.zeros((1, 3), "U3")),
    ],
)
def test_a_damaged_trace_is_no_trace(tmp_path, name, value):
    file = tmp_path / "episodes.npz"
    file.write_bytes(pack_episodes([traced(TRACE)]))
    with np.load(file) as data:
        arrays = {**data, f"trace_{name}_0": value}
    np.savez(file, **arrays)
    with pytest.raises(RunError, match="damaged"):
        read_episodes(file)
