"""A run keeps its spec: what goes on when the original has changed, moved or is gone."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from exported_runs import episode_return, exit_code, lines_of, measured_lines
from gymnasium.wrappers import TimeLimit

import promptpo
from promptpo.cli import main
from promptpo.errors import SpecError
from promptpo.export import SB3Policy
from promptpo.export.folder import spec_of_run
from promptpo.spec import load_spec
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


def observe(raw, env):
    """It looks for its own place, so it cannot be copied out of here."""
    return raw if Path(__file__).is_file() else None


def make():
    from .worlds.floor import Floor

    return Floor(MAP["length"])


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=rewards_of_aisle.reward,
    horizon=sizes.HORIZON,
    observe=observe,
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
        selection_episodes=2, test_episodes=3, workers=1, out=tmp_path_factory.mktemp("runs"),
    )  # fmt: skip
    assert result.test is not None
    return result.folder, project


@pytest.fixture
def copied(finished, tmp_path, monkeypatch):
    """A copy of the run, and its spec, which is as it was, and so again afterwards."""
    folder, project = finished
    copy = tmp_path / "runs" / "aisle" / folder.name
    shutil.copytree(folder, copy)
    monkeypatch.chdir(tmp_path)
    yield copy, project
    write(project)
    for name in ("rewards_of_aisle", *[n for n in sys.modules if n.startswith("promptpo_specs_")]):
        sys.modules.pop(name, None)


def write(project: Path) -> None:
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)


def chosen(run: Path, project: Path) -> tuple[str, str]:
    return spec_of_run(run, str(project / "aisle.py"))


def test_the_copy_holds_what_the_spec_needs_and_nothing_else(copied):
    run, project = copied
    files = [file for file in (run / "spec").rglob("*") if file.is_file()]
    names = {str(file.relative_to(run / "spec")) for file in files}
    assert names == (FILES.keys() - {"unused.py"}) | {MANIFEST}
    assert (run / "spec" / "aisle.py").read_text() == SPEC
    assert not any(str(project.parent) in file.read_text() for file in files)


def test_an_original_counts_until_a_file_of_it_changes_or_is_gone(copied):
    run, project = copied
    (project / "unused.py").write_text("x = 1\n")
    assert chosen(run, project) == (str(project / "aisle.py"), "")
    for name in FILES.keys() - {"unused.py"}:
        (project / name).write_text(FILES[name] + "\n")
        ref, words = chosen(run, project)
        assert ref == str(run / "spec" / "aisle.py")
        assert ("has changed;" if name == "aisle.py" else f"has changed ({name});") in words
        (project / name).write_text(FILES[name])
    (project / "aisle.py").unlink()
    ref, words = chosen(run, project)
    assert ref == str(run / "spec" / "aisle.py")
    assert "cannot be found any more; this uses the run's own copy, runs/aisle/" in words
    (run / "spec" / "worlds" / "floor.py").write_text("")
    with pytest.raises(SpecError, match=r"floor\.py: has been edited since it was kept"):
        chosen(run, project)
    shutil.rmtree(run / "spec")
    assert chosen(run, project) == (str(project / "aisle.py"), "")


@pytest.mark.slow
def test_eval_plays_the_task_of_the_run_unless_it_is_given_a_spec(copied, capsys):
    run, project = copied
    (project / "worlds" / "lengths.py").write_text("LENGTH = 'nine'\n")
    (project / "sizes.py").write_text("HORIZON = 1\n")
    assert main(["eval", str(run), "--episodes", "3", "--workers", "1"]) == 0
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "this uses the run's own copy, runs/aisle/" in err
    test = json.loads((run / "run.json").read_text())["test"]
    returns = [episode["return"] for episode in test["episodes"]]
    assert f"return       {sum(returns) / 3:.4g}" in out
    write(project)
    (project / "aisle.py").write_text(SPEC.replace("Aisle:", "Corridor:"))
    argv = ["eval", str(run), "--episodes", "2", "--spec", str(project / "aisle.py")]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert ("Corridor" in out, err) == (True, "")


@pytest.mark.slow
def test_an_exported_folder_has_the_spec_and_plays_where_it_is_gone(copied, tmp_path, capsys):
    run, project = copied
    to = tmp_path / "there" / "policy"
    assert main(["export", str(run), "--to", str(tmp_path / "to")]) == 0
    shutil.copytree(tmp_path / "to", to)
    shutil.rmtree(project)
    readme = (to / "README.md").read_text()
    assert "| `spec/` | the task" in readme
    assert "needs promptpo" in readme
    assert (to / "spec" / "worlds" / "floor.py").is_file()
    for file in to.rglob("*"):
        for place in (tmp_path, project, Path.home()):
            assert not file.is_file() or str(place) not in file.read_text(), file
    result = promptpo.load_run(run)
    assert lines_of(to / "run.py") == measured_lines(result)
    spec = load_spec(str(to / "spec"))
    env = TimeLimit(spec.make(), spec.horizon)
    policy = SB3Policy.load(to / "policy.py", spec, env)
    assert episode_return(policy, env, result.test.seeds[0]) == result.test.returns[0]
    words = ("--spec", to / "spec", "--episodes", "3", "--workers", "1")
    assert exit_code("eval", to / "policy.py", *words) == 0
    assert "aisle: Aisle" in capsys.readouterr().out


@pytest.mark.slow
def test_a_run_goes_on_with_its_copy_and_keeps_the_name_of_its_spec(copied, capsys):
    run, project = copied
    (project / "aisle.py").unlink()
    for which in ([str(run)], ["latest", "--spec", "aisle"]):
        assert main(["--resume", *which, "--rounds", "9", "--dry-run"]) == 0
        assert "env steps" in capsys.readouterr().out
    notices = []
    result = promptpo.optimize(
        resume=run,
        rounds=2,
        on_event=lambda e: notices.append(e.data["text"]) if e.type == "notice" else None,
    )
    assert (result.status, len(result.rounds)) == ("finished", 2)
    assert sum("this uses the run's own copy" in text for text in notices) == 1
    resumed = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    (config,) = [event["config"] for event in resumed if event["type"] == "resumed"]
    assert config["spec"] == str(project / "aisle.py")
    assert main(["video", str(run), "--episodes", "1", "--format", "gif"]) == SpecError.exit_code
    note, error = capsys.readouterr().err.splitlines()
    assert "this uses the run's own copy" in note
    assert "spec/aisle.py: the environment draws nothing" in error


@pytest.mark.parametrize("lost", ["sizes.py", MANIFEST])
def test_resuming_writes_a_damaged_copy_anew(copied, lost):
    run, _ = copied
    (run / "spec" / lost).unlink()
    assert promptpo.optimize(resume=run).status == "finished"
    assert (run / "spec" / "sizes.py").read_text() == FILES["sizes.py"]
    assert chosen(run, run / "gone")[0] == str(run / "spec" / "aisle.py")
