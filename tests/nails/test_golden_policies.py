"""The 42 policies that the paper released compile as they did; those with an adapter score as much.

They are not ours to ship. ``PUBLISHED_POLICIES`` names a copy of the folder
``representitive_policies`` of the paper's repository; the golden file has digests and scores only.
"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from golden_files import VERSIONS, digest, hold, need_versions

import promptpo
from sandbox import CompileError
from sandbox.language import compile_source, importable

FOLDER = os.environ.get("PUBLISHED_POLICIES", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER, reason="PUBLISHED_POLICIES names no folder"),
]
SCRIPT = Path(promptpo.__file__).parents[1] / "benchmarks" / "published_policies.py"
ADAPTED = ("ant", "halfcheetah", "hopper", "inverted_double_pendulum")


def sources():
    files = sorted(Path(FOLDER).glob("*/*.py"))
    return {f"{f.parent.name} {re.search('round_([0-9]+)', f.stem)[1]}": f for f in files}


def compiled(source):
    """Return what the sandbox's language says of a source without its import lines."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    try:
        compile_source("\n".join(lines), importable(()))
    except CompileError as refused:
        return str(refused)
    return "compiles"


def test_all_of_them_compile_as_they_did():
    found = {}
    for name, file in sources().items():
        source = file.read_text(encoding="utf-8")
        found[name] = [digest(source), compiled(source)]
    assert len(found) == 42
    hold("published_policies", found)


@pytest.mark.parametrize("round_", [1, 5])
@pytest.mark.parametrize("body", ADAPTED)
def test_those_with_an_adapter_score_as_they_did(body, round_):
    need_versions("published_policies")
    task, file = f"mujoco_{body}", sources()[f"{body}_v5 {round_}"]
    adapted = subprocess.check_output([sys.executable, SCRIPT, file, task], text=True)
    played = promptpo.evaluate(adapted, task, episodes=5, seed=0, policy_seed=7, workers=1)
    found = {"return": played.mean_return, "error": played.error}
    hold("published_policies", {f"{task} {round_}": found, "versions": VERSIONS})
