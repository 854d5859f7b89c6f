"""The examples work: specs hold, script and notebook run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_kernel import kernel

from promptpo.checks import QUICK, Replays, check_spec
from promptpo.spec import load_spec

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
SPECS = [p for p in sorted(EXAMPLES.glob("*.py")) if re.search(r"(?m)^SPEC\b", p.read_text())]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PROMPTPO_MODEL": ""}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_an_example_passes_the_quick_check(path):
    spec = load_spec(str(path))
    with Replays([str(path)]) as replays:
        findings = list(check_spec(spec, QUICK, replays.next))
    assert [f for f in findings if f.failed] == []
    assert not any("states none" in f.detail for f in findings), "a reference is not stated"


@pytest.mark.slow
def test_the_script_runs_as_it_stands(tmp_path):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "library.py"],
        check=False, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^A - B +return +\+4\d\d", done.stdout, re.MULTILINE)
    assert "The best one:\n\nclass Policy:" in done.stdout


@pytest.mark.slow
def test_the_notebook_is_kept_without_outputs_and_runs_in_a_kernel_as_it_stands(tmp_path):
    cells = json.loads((EXAMPLES / "library.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = []
    with kernel(tmp_path, ENVIRONMENT) as started:
        for cell in cells:
            if cell["cell_type"] == "code":
                assert (cell["outputs"], cell["execution_count"]) == ([], None)
                shown.append(started.run("".join(cell["source"])))
    assert "<Run runs/cartpole/" in shown[1]
    assert shown[2] == "<PolicyComparison of 3 evaluations on cartpole>"
    assert any(text.startswith("<CheckReport of mountain_car: ok; ") for text in shown)
    assert "<Run runs/mountain_car/" in shown[-2]
