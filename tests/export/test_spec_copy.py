"""A run keeps its spec: what goes on when the original has changed, moved or is gone."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.cli import main
from promptpo.errors import SpecError
from promptpo.export.folder import spec_of_run
from promptpo.spec.importing import MANIFEST

SPEC = '''
"""Aisle: walk to the end of a line of cells."""

import tomllib
from pathlib import Path

from promptpo.spec import EnvSpec, field

import rewards_of_aisle
from . import sizes

MAP = tomllib.loads(Path(__file__).with_name("map.toml").read_text())


class Observation:
    """The walker, before each action."""

    cell: float = field(low=0, doc="counted from the left")


ACTION = """An int: 0 a cell to the left, 1 a cell to the right."""


def make():
    from .worlds.floor import Floor

    return Floor(MAP["length"])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=rewards_of_aisle.reward,
    horizon=sizes.HORIZON,
)
'''

REWARDS = '''
def reward(observation, action, next_observation) -> float:
    """1 on the last cell, else 0."""
    return float(next_observation.cell == 4)
'''

FLOOR = Path(__file__).parents[1] / "data" / "acme-envs" / "acme_envs" / "floor.py"

FILES = {
    "aisle.py": SPEC,
    "rewards_of_aisle.py": REWARDS,
    "sizes.py": "HORIZON = 20\n",
    "map.toml": "length = 5\n",
    "worlds/__init__.py": "",
    "worlds/floor.py": FLOOR.read_text().replace("acme_envs import", ".lengths import"),
    "worlds/lengths.py": "LENGTH = 5\n",
    "unused.py": "",
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run, and that of its spec."""
    project = tmp_path_factory.mktemp("project")
    write(project)
    result = promptpo.optimize(
        project / "aisle.py", method="random-search", rounds=1, candidates=2, episodes=2,
        selection_episodes=2, test_episodes=3, workers=1, out=project / "runs",
    )  # fmt: skip
    assert result.test is not None
    return result.folder, project


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """A copy of the run; its spec is as it was, and so again afterwards."""
    folder, project = finished
    copy = tmp_path / "runs" / "aisle" / folder.name
    shutil.copytree(folder, copy)
    monkeypatch.chdir(tmp_path)
    yield copy
    write(project)
    for name in ("rewards_of_aisle", *[n for n in sys.modules if n.startswith("promptpo_specs_")]):
        sys.modules.pop(name, None)


def write(project: Path) -> None:
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


def change(project: Path, name: str = "sizes.py", text: str = "HORIZON = 1\n") -> None:
    """Change a file of the spec such that the task is another one."""
    (project / name).write_text(text)


def chosen(run: Path, project: Path) -> tuple[str, str]:
    return spec_of_run(run, str(project / "aisle.py"))


def test_the_copy_holds_what_the_spec_needs_and_nothing_else(run, finished):
    files = [file for file in (run / "spec").rglob("*") if file.is_file()]
    names = {str(file.relative_to(run / "spec")) for file in files}
    assert names == (FILES.keys() - {"unused.py"}) | {MANIFEST}
    assert (run / "spec" / "aisle.py").read_text() == SPEC
    assert not any(str(finished[1].parent) in file.read_text() for file in files)


def test_an_original_as_it_was_is_used_without_a_word(run, finished):
    project = finished[1]
    assert chosen(run, project) == (str(project / "aisle.py"), "")
    change(project, "unused.py", "x = 1\n")
    assert chosen(run, project)[1] == ""


@pytest.mark.parametrize("name", [name for name in FILES if name != "unused.py"])
def test_a_change_of_any_own_file_is_seen_and_named(run, finished, name):
    project = finished[1]
    change(project, name, FILES[name] + "\n")
    ref, words = chosen(run, project)
    assert ref == str(run / "spec" / "aisle.py")
    named = "has changed;" if name == "aisle.py" else f"has changed ({name});"
    assert named in words
    assert "\n" not in words


def test_an_original_that_is_gone_is_said_to_be(run, finished):
    (finished[1] / "aisle.py").unlink()
    ref, words = chosen(run, finished[1])
    assert ref == str(run / "spec" / "aisle.py")
    assert "cannot be found any more; this uses the run's own copy, runs/aisle/" in words


def test_an_edited_copy_is_refused_with_its_file(run, finished):
    change(finished[1])
    (run / "spec" / "worlds" / "floor.py").write_text("")
    with pytest.raises(SpecError, match=r"floor\.py: has been edited since it was kept"):
        chosen(run, finished[1])


def test_a_run_without_a_copy_goes_by_the_original(run, finished):
    shutil.rmtree(run / "spec")
    change(finished[1])
    assert chosen(run, finished[1]) == (str(finished[1] / "aisle.py"), "")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sizes.py", "worlds/lengths.py"])
def test_eval_plays_the_task_of_the_run(run, finished, capsys, name):
    change(finished[1], name, "HORIZON = 1\nLENGTH = 'nine'\n")
    assert main(["eval", str(run), "--episodes", "3", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "this uses the run's own copy, runs/aisle/" in err
    test = json.loads((run / "run.json").read_text())["test"]
    returns = [episode["return"] for episode in test["episodes"]]
    assert f"return       {sum(returns) / 3:.4g}" in out


def test_eval_with_a_spec_takes_that_one(run, finished, capsys):
    change(finished[1], "aisle.py", SPEC.replace("Aisle:", "Corridor:"))
    argv = ["eval", str(run), "--episodes", "2", "--spec", str(finished[1] / "aisle.py")]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert "Corridor" in out
    assert err == ""


@pytest.mark.slow
def test_a_run_goes_on_with_its_copy_and_keeps_the_name_of_its_spec(run, finished):
    (finished[1] / "aisle.py").unlink()
    notices = []
    result = promptpo.optimize(
        resume=run,
        rounds=2,
        on_event=lambda e: notices.append(e.data["text"]) if e.type == "notice" else None,
    )
    assert result.status == "finished"
    assert len(result.rounds) == 2
    assert sum("this uses the run's own copy" in text for text in notices) == 1
    resumed = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    (config,) = [event["config"] for event in resumed if event["type"] == "resumed"]
    assert config["spec"] == str(finished[1] / "aisle.py")


def test_a_dry_run_of_resuming_needs_no_original(run, finished, capsys):
    (finished[1] / "aisle.py").unlink()
    assert main(["--resume", str(run), "--rounds", "9", "--dry-run"]) == 0
    assert "env steps" in capsys.readouterr().out


def test_runs_are_found_by_the_name_of_a_spec_that_is_gone(run, finished, capsys):
    (finished[1] / "aisle.py").unlink()
    assert main(["--resume", "latest", "--spec", "aisle", "--rounds", "9", "--dry-run"]) == 0


@pytest.mark.parametrize("lost", ["sizes.py", MANIFEST])
def test_resuming_writes_a_damaged_copy_anew(run, lost):
    (run / "spec" / lost).unlink()
    assert promptpo.optimize(resume=run).status == "finished"
    assert (run / "spec" / "sizes.py").read_text() == FILES["sizes.py"]
    assert chosen(run, run / "gone")[0] == str(run / "spec" / "aisle.py")


@pytest.mark.slow
def test_videos_look_at_the_copy(run, finished, capsys):
    (finished[1] / "aisle.py").unlink()
    assert main(["video", str(run), "--episodes", "1", "--format", "gif"]) == SpecError.exit_code
    note, error = capsys.readouterr().err.splitlines()
    assert "this uses the run's own copy" in note
    assert "spec/aisle.py: the environment draws nothing" in error
