"""The examples work: specs hold, the script runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.checks import QUICK, Replays, check_spec
from promptpo.spec import load_spec

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SPECS = [p for p in sorted(EXAMPLES.glob("*.py")) if re.search(r"(?m)^SPEC\b", p.read_text())]
REORDER = "class Policy:\n    def act(self, obs):\n        return obs.demand\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_an_example_passes_the_quick_check(path):
    spec = load_spec(str(path))
    with Replays([str(path)]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    assert not any("states none" in f.detail for f in findings), "a reference is not stated"


def test_the_warehouses_tuned_expert_beats_what_one_would_write_at_first():
    reorder, written, expert = (
        promptpo.evaluate(policy, str(EXAMPLES / "warehouse.py"), episodes=10).rollout
        for policy in (REORDER, EXAMPLES / "base_stock.py", "expert")
    )
    assert expert.score.success_rate >= 0.9
    for naive in reorder, written:
        assert expert.score > naive.score
        assert expert.score.mean_return > naive.score.mean_return


def test_the_data_halls_expert_beats_zero_actions_by_its_worst_tenth():
    zero, expert = (
        promptpo.evaluate(policy, str(EXAMPLES / "data_hall.py"), episodes=20).rollout
        for policy in ("zero", "expert")
    )
    assert expert.score.success_rate >= 0.8
    assert zero.score.success_rate <= 0.2
    assert expert.worst_tenth > zero.worst_tenth
    energy, minutes, hottest = (reading.mean for reading in expert.readings)
    assert 500 < energy < 1200
    assert minutes < 60
    assert 25 < hottest < 32


@pytest.mark.slow
def test_the_script_runs_as_it_stands(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "library.py"],
        check=False, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^A - B +return +\+4\d\d", done.stdout, re.MULTILINE)
    assert "The best one:\n\nclass Policy:" in done.stdout


def test_notebooks_are_kept_without_outputs():
    notebooks = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        assert code
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
