"""The examples work: specs hold, a policy can be scored on them, the script runs."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.cli import main
from promptpo.spec import load_spec

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
THERMOSTAT = EXAMPLES / "thermostat.py"
SPECS = [p for p in sorted(EXAMPLES.glob("*.py")) if re.search(r"(?m)^SPEC\b", p.read_text())]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}

POLICY = '''
class Policy:
    """Hold the lower edge of the comfortable band."""

    def act(self, obs):
        return [3.0 * (obs.comfort[0] + 0.5 - obs.indoor) + 1.0]
'''


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_an_example_passes_the_quick_check(path):
    spec = load_spec(str(path))
    with Replays([str(path)]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    assert not any("states none" in f.detail for f in findings), "a reference is not stated"


def test_a_thermostat_policy_beats_the_zero_action_in_the_sandbox(tmp_path, capsys):
    policy = tmp_path / "policy.py"
    policy.write_text(POLICY)
    arguments = ["--spec", str(THERMOSTAT), "--episodes", "5", "--workers", "1"]
    assert main(["eval", str(policy), *arguments]) == 0
    mean = re.search(r"^return +(-?[\d.]+)", capsys.readouterr().out, re.MULTILINE)
    assert mean is not None
    assert float(mean[1]) > -100.0, "zero actions score -189"


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
