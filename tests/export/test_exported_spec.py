"""An exported folder takes the spec along where the environment needs it, and runs elsewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.cli import main

#: An environment of the spec's own, so that it cannot be copied into a script.
SPEC = '''
"""Aisle: walk to the end of a line of cells."""

from pathlib import Path

from promptpo.spec import EnvSpec, field

from .cells import Floor

HERE = str(Path(__file__).parent)


class Observation:
    cell: float = field(low=0, doc="counted from the left")


ACTION = """An int: 0 a cell to the left, 1 a cell to the right."""


def reward(observation, action, next_observation) -> float:
    """1 on the last cell, else 0."""
    return float(next_observation.cell == 4)


def observe(raw, env):
    assert HERE
    return raw


def make():
    return Floor()


SPEC = EnvSpec(make=make, observation=Observation, action=ACTION, reward=reward, horizon=20)
'''

FLOOR = Path(__file__).parents[1] / "data" / "acme-envs" / "acme_envs" / "floor.py"


@pytest.fixture(scope="module", params=["", "observe=observe"])
def exported(request, tmp_path_factory):
    """An exported folder, moved away; run and spec are gone. And what the script should print."""
    base = tmp_path_factory.mktemp("here")
    (base / "cells.py").write_text(
        FLOOR.read_text().replace("from acme_envs import", "LENGTH = 5 #")
    )
    (base / "aisle.py").write_text(SPEC.replace("horizon=20", f"horizon=20, {request.param}"))
    settings = {"rounds": 1, "candidates": 2, "episodes": 2, "test_episodes": 3, "workers": 1}
    result = promptpo.optimize(
        base / "aisle.py", method="random-search", out=base / "runs", **settings
    )
    (base / "aisle.py").write_text("SPEC = 'another'\n")
    to = tmp_path_factory.mktemp("there") / "policy"
    assert main(["export", str(result.folder), "--to", str(base / "to")]) == 0
    shutil.copytree(base / "to", to)
    shutil.rmtree(base)
    measured = [(e.seed, e.return_) for e in result.test.episodes]
    return to, base, [f"seed {s}: return {r:.6g}, measured {r:.6g}" for s, r in measured]


def run(script: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    path = str(Path(promptpo.__file__).parents[1])
    return subprocess.run(
        [sys.executable, script, *argv],
        check=False,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_it_plays_the_measured_episodes_where_run_and_spec_are_gone(exported):
    to, _, measured = exported
    done = run(to / "run.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == measured


def test_it_names_no_place_of_the_machine_that_it_was_made_on(exported):
    to, base, _ = exported
    for file in to.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert str(base) not in file.read_text(), file
            assert str(Path.home()) not in file.read_text(), file


def test_stable_baselines_predict_takes_the_spec_beside_it(exported):
    to, _, _ = exported
    code = (
        "from promptpo.export import SB3Policy; from promptpo.spec import load_spec\n"
        "spec = load_spec('spec'); env = spec.make(); seen, _ = env.reset(seed=1)\n"
        "print(SB3Policy.load('policy.py', spec, env).predict(seen)[0] in (0, 1))"
    )
    path = str(Path(promptpo.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        check=False,
        cwd=to,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "True", done.stderr


def test_its_readme_names_the_spec(exported):
    to, _, _ = exported
    assert "| `spec/` | the task" in (to / "README.md").read_text()
    assert (to / "spec" / "cells.py").is_file()


@pytest.mark.slow
def test_a_policy_can_be_scored_on_the_spec_that_lies_beside_it(exported):
    to, _, _ = exported
    path = str(Path(promptpo.__file__).parents[1])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "promptpo",
            "eval",
            "policy.py",
            "--spec",
            "spec",
            "--episodes",
            "3",
            "--workers",
            "1",
        ],
        check=False,
        cwd=to,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "aisle: Aisle" in done.stdout
