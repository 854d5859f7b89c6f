"""``promptpo constants``: which numbers of a policy can be tuned."""

import json

import pytest

from promptpo.cli import main

POLICY = """\
class Policy:
    KP = 1.5
    KD = tunable(0.2, 0.01, 1, log=True)

    def act(self, obs):
        return self.KP
"""


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "policy.py"
    path.write_text(POLICY)
    return str(path)


def test_they_are_listed_with_line_value_and_range(policy, capsys):
    assert main(["constants", policy]) == 0
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["line", "constant", "value", "from", "to", "kind"]
    assert rows == [
        ["2", "Policy.KP", "1.5", "0.5", "4.5"],
        ["3", "Policy.KD", "0.2", "0.01", "1", "declared,", "logarithm"],
    ]


def test_those_alone_that_are_declared_as_json(policy, capsys):
    assert main(["constants", policy, "--constants", "declared", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {
        "line": 3, "name": "Policy.KD", "value": 0.2, "low": 0.01, "high": 1, "log": True,
        "integer": False, "declared": True,
    }  # fmt: skip


def test_a_policy_without_any_says_so(tmp_path, capsys):
    path = tmp_path / "policy.py"
    path.write_text("class Policy:\n    def act(self, obs):\n        return 0\n")
    assert main(["constants", str(path)]) == 0
    assert capsys.readouterr().out == (
        "no constants: nothing in it is declared or assigned as a number\n"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kp = tunable(3, 0, 1)", ":1: tunable(value, low, high): 3 is not from 0 to 1"),
        ("kp = (", ":1: '(' was never closed; mend the file"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, capsys, text, words):
    path = tmp_path / "policy.py"
    path.write_text(text)
    assert main(["constants", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_what_is_no_policy_has_none(capsys):
    assert main(["constants", "expert"]) == 2
    assert "expert is no policy" in capsys.readouterr().err
