"""An exported folder takes the spec along where the environment needs it, and runs elsewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from exported_runs import ROOT

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


def run(folder: Path, *argv: str) -> list[str]:
    """Lines that Python prints in a folder."""
    done = subprocess.run(
        [sys.executable, *argv],
        check=False, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_it_plays_the_measured_episodes_where_run_and_spec_are_gone(exported):
    to, _, measured = exported
    assert run(to, "run.py") == measured


def test_it_names_the_spec_and_no_place_of_the_machine_that_it_was_made_on(exported):
    to, base, _ = exported
    readme = (to / "README.md").read_text()
    assert "| `spec/` | the task" in readme
    assert "needs promptpo" in readme
    assert (to / "spec" / "cells.py").is_file()
    for file in to.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert str(base) not in file.read_text(), file
            assert str(Path.home()) not in file.read_text(), file


def test_stable_baselines_predict_takes_the_spec_beside_it(exported):
    code = (
        "from promptpo.export import SB3Policy; from promptpo.spec import load_spec\n"
        "spec = load_spec('spec'); env = spec.make(); seen, _ = env.reset(seed=1)\n"
        "print(SB3Policy.load('policy.py', spec, env).predict(seen)[0] in (0, 1))"
    )
    assert run(exported[0], "-c", code) == ["True"]


@pytest.mark.slow
def test_a_policy_can_be_scored_on_the_spec_that_lies_beside_it(exported):
    words = ("eval", "policy.py", "--spec", "spec", "--episodes", "3", "--workers", "1")
    assert any("aisle: Aisle" in line for line in run(exported[0], "-m", "promptpo", *words))
