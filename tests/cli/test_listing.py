"""``promptpo list``: what stands beside what."""

import json
import os

import pytest
from processes import python
from written_runs import written_run

from promptpo.cli import main
from promptpo.cli.views import run_rows


def test_the_runs_of_a_twin_stand_after_those_of_its_original(tmp_path):
    started = [("toy", ""), ("twin_toy", "toy"), ("other", ""), ("toy", ""), ("twin_toy", "toy")]
    for number, (name, twin_of) in enumerate(started):
        folder = written_run(tmp_path, spec=name, twin_of=twin_of)
        folder.rename(folder.with_name(f"20260102-00000{number}"))
    rows = [row[0].rpartition("/20260102-00000")[::2] for row in run_rows(tmp_path)]
    order = [(folder.rpartition("/")[2], int(number)) for folder, number in rows]
    assert order == [("toy", 3), ("toy", 0), ("twin_toy", 4), ("twin_toy", 1), ("other", 2)]


def test_the_latest_runs_stand_before_the_specs_within_the_width_and_json_has_all(
    tmp_path, capsys, monkeypatch
):
    for number in range(23):
        has, told = number != 1, number == 2  # facts that a run has, and that it told
        written_run(tmp_path, has_facts=has, facts=told, test=[1.0, 2.0])
    for width in (40, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["list", "--out", str(tmp_path)]) == 0
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width
        assert "and 3 older: promptpo list runs" in out
        assert out.index("finished") < out.index("mountain_car") < out.index("metaworld:push")
    assert main(["list", "runs", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.count("finished") == 23
    assert main(["list", "--json", "--out", str(tmp_path)]) == 0
    listing = json.loads(capsys.readouterr().out)
    words = [run["words"] for run in reversed(listing["runs"])]
    assert ["without facts" in each for each in words] == [True, False, False] + [True] * 20
    specs = {spec["spec"]: spec for spec in listing["specs"]}
    assert specs["mujoco_hopper"]["twin"] == specs["cartpole"]["recording"] == "yes"
    assert specs["nim"] == {
        "spec": "nim", "recording": "", "twin": "", "from": "",
        "task": "Nim: leave the last stick to the opponent.",
    }  # fmt: skip


def test_a_list_opens_no_environment_and_imports_nothing_heavy(tmp_path):
    script = (
        "import sys; from promptpo.cli import main; main(['list'])\n"
        "heavy = {'rich', 'litellm', 'mujoco', 'metaworld', 'scipy', 'matplotlib', 'pygame'}\n"
        "print(*heavy & set(sys.modules), file=sys.stderr)\n"
    )
    done = python("-c", script, cwd=tmp_path)
    assert done.stderr.split() == []
    assert done.stdout.startswith("no runs in runs yet\n")


#: Latin-1, as an old archive has it; a newline; what only a terminal acts on.
NAMES = [b"caf\xe9", b"two\nlines", b"\x1b[31mred"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_whose_name_is_no_text_is_told_of_all_the_same(tmp_path, capsys, name):
    run = written_run(tmp_path, test=[1.0, 2.0])
    runs = tmp_path / os.fsdecode(name)
    (runs / "toy").mkdir(parents=True)
    run = str(run.rename(runs / "toy" / os.fsdecode(b"2026\xe90101-000000")))
    for command in (["list", "--out", str(runs)], ["compare", run], ["report", run]):
        assert main(command) == 0, capsys.readouterr().err
        out = capsys.readouterr().out.replace("\n    ", "")
        assert "2026\N{REPLACEMENT CHARACTER}0101-000000" in out, command
