"""``promptpo tune``: what it writes, and what it says of what cannot be tuned."""

import json
from pathlib import Path

import pytest

from promptpo.cli import main
from promptpo.errors import UsageError

LEANING = (Path(__file__).parents[1] / "data" / "leaning.txt").read_text()
PLAIN = "class Policy:\n    def act(self, obs):\n        return 0\n"
FEW = ("--workers", "1", "--selection-episodes", "5", "--test-episodes", "5")


@pytest.fixture
def leaning(tmp_path):
    file = tmp_path / "leaning.py"
    file.write_text(LEANING)
    return file


@pytest.mark.slow
def test_a_policy_s_file_is_tuned_and_written(leaning, tmp_path, capsys):
    to, out = tmp_path / "tuned.py", tmp_path / "runs"
    arguments = ("tune", str(leaning), "cartpole", "--steps", "15000", "--to", str(to))
    assert main([*arguments, "--out", str(out), *FEW]) == 0
    found = to.read_text()
    assert "tunable" not in found
    assert "; was 0" in found
    assert "written" in capsys.readouterr().out
    (folder,) = (out / "cartpole").iterdir()
    assert found.strip() in (folder / "best" / "policy.py").read_text()
    assert main(["tune", str(folder), "--steps", "2000", "--out", str(out), *FEW]) == 0


@pytest.mark.parametrize(
    ("source", "arguments", "words"),
    [
        (LEANING.replace("0.0, -0.5", "9.0, -0.5"), ("cartpole",), ":4: tunable"),
        (LEANING.replace("class", "clas"), ("cartpole",), ":1: invalid syntax"),
        (LEANING, (), "of which task"),
        (LEANING, ("cartpole", "--to", "."), "is a folder"),
        (LEANING, ("cartpole", "--steps", "-1"), "must be at least 0"),
        (PLAIN, ("cartpole",), "no number to choose"),
        (PLAIN.replace("def", "K = 2.5\n    def"), ("cartpole", "--set", "constants=declared"),
         "--set constants=auto takes all"),
        (PLAIN.replace("0", "obs.x > 2.5"), ("cartpole", "--set", "constants_in=assigned"),
         "no number to choose"),
        ("kp = tunable(3, 0, 1)", ("--list",), ":1: tunable(value, low, high): 3 is not from 0"),
        ("kp = (", ("--list",), ":1: '(' was never closed; mend the file"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_is_said_in_a_line(leaning, capsys, source, arguments, words):
    leaning.write_text(source)
    assert main(["tune", str(leaning), *arguments]) == UsageError.exit_code
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


LISTED = """\
class Policy:
    KP = 1.5
    KD = tunable(0.2, 0.01, 1, log=True)

    def act(self, obs):
        return self.KP * (obs.pole_angle > 0)
"""


def test_constants_are_listed_with_line_value_and_range(tmp_path, capsys):
    file = tmp_path / "policy.py"
    file.write_text(LISTED)
    assert main(["tune", str(file), "cartpole", "--list", "--set", "constants=auto"]) == 0
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["line", "constant", "value", "from", "to", "kind"]
    assert rows == [
        ["2", "Policy.KP", "1.5", "0.5", "4.5"],
        ["3", "Policy.KD", "0.2", "0.01", "1", "declared,", "log"],
        ["6", "act:", "...*", "(obs.pole_angle", ">", "_)", "0", "-0.2095", "0.2095"],
    ]
    assert main(["tune", str(file), "--list", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {
        "line": 3, "name": "Policy.KD", "value": 0.2, "low": 0.01, "high": 1, "log": True,
        "integer": False, "declared": True,
    }  # fmt: skip


def test_an_empty_list_of_constants_is_no_error(tmp_path, capsys):
    file = tmp_path / "policy.py"
    file.write_text(PLAIN)
    assert main(["tune", str(file), "--list"]) == 0
    assert capsys.readouterr().out == "no constants: no number to choose in it\n"
    assert main(["tune", str(file), "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_word_that_names_no_policy_is_refused(capsys):
    assert main(["tune", "expert", "--list"]) == 2
    assert "expert is no policy" in capsys.readouterr().err


def test_a_policy_that_fails_as_written_ends_with_1(leaning, tmp_path):
    leaning.write_text(LEANING.replace("return int", "raise ValueError  # "))
    out = str(tmp_path / "runs")
    assert main(["tune", str(leaning), "cartpole", "--steps", "500", "--out", out, *FEW]) == 1
