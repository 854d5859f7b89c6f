"""Completion by argcomplete's protocol: a line in the environment, the answers on descriptor 8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import promptpo
from promptpo.cli.parser import COMMANDS
from promptpo.config import OPTIONS
from promptpo.run.settings import fields

pytest.importorskip("argcomplete", reason="pip install 'promptpo[completion]'")

ROOT = Path(promptpo.__file__).parents[1]


@pytest.fixture
def after(tmp_path):
    """What may come next on a line, in a folder with a run and a spec of one's own."""
    log = tmp_path / "runs" / "cartpole" / "20261120-143000" / "events.jsonl"
    log.parent.mkdir(parents=True)
    log.touch()
    (tmp_path / "my_task.py").touch()
    (tmp_path / "notes.txt").touch()

    def ask(line):
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
        done = subprocess.run(
            ["sh", "-c", 'exec "$0" -m promptpo 8>&1 9>&2 1>/dev/null', sys.executable],
            cwd=tmp_path, capture_output=True, text=True, check=True,
            env={**os.environ, **asked, "PYTHONPATH": path, "_ARGCOMPLETE_IFS": "\n"},
        )  # fmt: skip
        return {word.strip() for word in done.stdout.splitlines()}

    return ask


def test_the_first_word_is_a_command_or_a_spec(after):
    found = after("promptpo ")
    assert set(COMMANDS) | {"cartpole", "metaworld:", "my_task.py"} <= found
    assert "notes.txt" not in found
    assert after("promptpo lis") == {"list"}


def test_a_search_has_its_options(after):
    offered = after("promptpo cartpole --")
    assert {fields()[name].flag for name in OPTIONS} <= offered
    assert "--max-repairs" not in offered


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("promptpo check --qui", {"--quick"}),
        ("promptpo check mountain_c", {"mountain_car", "mountain_car_continuous"}),
        ("promptpo check --quick metaworld:push-w", {"metaworld:push-wall-v3"}),
        ("promptpo --method p", {"promptpo", "props", "props+"}),
        ("promptpo cartpole --set act", {"act_timeout="}),
        ("promptpo --sandbox ", {"auto", "strict"}),
        ("promptpo help comp", {"compare"}),
        ("promptpo eval l", {"latest"}),
        ("promptpo eval latest cartp", {"cartpole"}),
        ("promptpo --config n", {"notes.txt"}),
    ],
)
def test_a_word_is_completed(after, line, found):
    assert after(line) == found
