"""``promptpo eval`` of a policy that fails, or is not there: one line, with the line at fault."""

import pytest

from promptpo.cli import main
from promptpo.export.policy_module import MARKER

POLICY = """import math


class Policy:
    def act(self, obs):
        return self.side(obs)

    def side(self, obs):
        return int(obs.tilt > 0)
"""

FAILURES = {
    "attribute": (
        POLICY,
        ":9: the policy failed: "
        "AttributeError: 'Observation' object has no attribute 'tilt' (in act() number 0)",
    ),
    "below imports of its module": (
        f'"""A policy as a run exports it."""\n\nimport numpy\n\n\n{MARKER}\n\n\n{POLICY}',
        ":17: the policy failed: AttributeError: 'Observation'",
    ),
    "refused": (POLICY.replace("math", "os"), ":1: the policy failed: `import os` is not"),
    "syntax": (POLICY.replace("(obs)\n", "(obs\n"), ":6: the policy failed: this is not valid"),
    "syntax below imports of its module": (
        f'"""A policy as a run exports it."""\n\nimport numpy\n\n\n{MARKER}\n\n\n{POLICY}'.replace(
            "(obs)\n", "(obs\n"
        ),
        ":14: the policy failed: this is not valid",
    ),
    "no action": (
        POLICY.replace("return int(obs.tilt > 0)", "0"),
        ": the policy failed: act() must return one integer from 0 to 1, not None",
    ),
    "parameters": (
        POLICY.replace("act(self, obs)", "act(self)"),
        ": the policy failed: TypeError: Policy.act() takes 1 positional",
    ),
    "no policy": (POLICY.replace("Policy", "Pilot"), ": the policy failed: the program must def"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_names_the_line_of_the_file(tmp_path, capsys, case):
    source, words = FAILURES[case]
    path = tmp_path / "policy.py"
    path.write_text(source)
    arguments = ["--spec", "cartpole", "--episodes", "1", "--workers", "1"]
    assert main(["eval", str(path), *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"promptpo: error: {path}{words}")
    assert err.count("\n") == 1


def test_the_line_where_a_policy_hangs_is_named(tmp_path, capsys):
    path = tmp_path / "policy.py"
    path.write_text(
        "class Policy:\n    def act(self, obs):\n        while True:\n            pass\n"
    )
    arguments = [
        "--spec",
        "cartpole",
        "--episodes",
        "1",
        "--workers",
        "1",
        "--set",
        "act_timeout=0.5",
    ]
    assert main(["eval", str(path), *arguments]) == 1
    err = capsys.readouterr().err
    assert "did not return in time" in err
    assert f"{path}:3: " in err or f"{path}:4: " in err


@pytest.mark.parametrize("name", ["nowhere/policy.py", "nowhere"])
def test_what_is_not_there_is_no_such_path(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert main(["eval", name, "--spec", "cartpole"]) == 6
    assert capsys.readouterr().err.startswith(
        f"promptpo: error: {name}: no such path; `promptpo list`"
    )


def test_where_runs_lie_is_an_option(tmp_path, capsys):
    assert main(["eval", "latest", "--out", str(tmp_path)]) == 6
    assert capsys.readouterr().err.startswith(f"promptpo: error: {tmp_path}: no run here yet; ")


def test_a_folder_that_is_no_run_is_told(tmp_path, capsys):
    assert main(["eval", str(tmp_path), "--spec", "cartpole"]) == 6
    assert f"{tmp_path}: not a run (no events.jsonl)" in capsys.readouterr().err
