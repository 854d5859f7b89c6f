"""``promptpo eval``: several policies, JSON, results that are kept in the run, and failures."""

import json
import re

import pytest
from own_cartpole import own_cartpole
from scripted import BAD, GOOD, replies, run

from promptpo.cli import main
from promptpo.export.policy_module import MARKER

#: Falls later than BAD, and now and then earlier.
LEAN = "class Policy:\n    def act(self, o):\n        return int(o.pole_angle > 0)\n"
ILL = LEAN.replace("int(o.pole_angle > 0)", "7")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with two policies in it."""
    monkeypatch.chdir(tmp_path)
    for name, source in {"good.py": GOOD, "lean.py": LEAN}.items():
        (tmp_path / name).write_text(source)
    return tmp_path


def evaluate(capsys, *arguments, code=0):
    assert main(["eval", *map(str, arguments), "--workers", "1"]) == code
    return capsys.readouterr().out


def test_several_policies_have_a_table_and_paired_tests(folder, capsys):
    out = evaluate(capsys, "good.py", "lean.py", "zero", "cartpole", "--episodes", "6")
    assert "episodes     6 held-out ones of seed 0\n" in out
    assert re.search(r"^A +good\.py +500 \(500 to 500\) +3,000 *$", out, re.MULTILINE)
    assert re.search(r"^C +zero +9", out, re.MULTILINE)
    pairs = re.findall(r"^([ABC] - [ABC])  return .* 6 paired episodes$", out, re.MULTILINE)
    assert pairs == ["A - B", "A - C", "B - C"]


def test_one_that_fails_stands_beside_the_others(folder, capsys):
    (folder / "bad.py").write_text(ILL)
    out = evaluate(capsys, "bad.py", "zero", "--spec", "cartpole", "--episodes", "2", code=1)
    assert re.search(r"^A +bad\.py +\d+ +failed *$", out, re.MULTILINE)
    assert "- A: bad.py: the policy failed: act() must return" in out
    assert re.search(r"^B +zero +9", out, re.MULTILINE)


def test_json_is_one_object_with_every_episode(folder, capsys):
    out = evaluate(
        capsys, "lean.py", "zero", "cartpole", "--episodes", "3", "--seed", "2", "--json"
    )
    found = json.loads(out)
    assert (found["spec"], found["seed"]) == ("cartpole", 2)
    lean, zero = found["evaluations"]
    assert [lean["policy"], zero["policy"]] == ["lean.py", "zero"]
    assert [e["seed"] for e in lean["episodes"]] == [e["seed"] for e in zero["episodes"]]
    assert lean["mean_return"] == sum(e["return"] for e in lean["episodes"]) / 3
    (test,) = found["tests"]
    assert test["difference"] == pytest.approx(lean["mean_return"] - zero["mean_return"])
    assert found["references"]["optimum"] == {"mean_return": 500.0, "success_rate": None}


def test_json_of_one_policy_that_fails_tells_its_error(folder, capsys):
    (folder / "bad.py").write_text(ILL)
    out = evaluate(capsys, "bad.py", "cartpole", "--episodes", "2", "--json", code=1)
    (evaluation,) = json.loads(out)["evaluations"]
    assert evaluation["error"].startswith("bad.py: the policy failed: act() must return")
    assert evaluation["mean_return"] is None


@pytest.mark.slow
def test_the_policy_of_a_run_sets_the_episodes_for_all(folder, capsys):
    result, _ = run(folder, replies([GOOD]), seed=5)
    out = evaluate(capsys, "lean.py", "latest")
    assert "episodes     3 held-out ones of seed 5\n" in out
    assert "3 paired episodes" in out
    assert str(result.folder.relative_to(folder)) in out


@pytest.mark.slow
def test_results_are_kept_in_the_run_and_change_nothing_of_it(folder, capsys):
    result, _ = run(folder, replies([GOOD]))
    before = {p: p.read_bytes() for p in result.folder.rglob("*") if p.is_file()}
    for _ in range(2):
        out = evaluate(capsys, "latest", folder / "lean.py", "--episodes", "2", "--keep")
    assert re.search(r"^kept +runs/cartpole/.*/evals/.*\.json$", out, re.MULTILINE)
    assert {p: p.read_bytes() for p in before} == before
    kept = sorted((result.folder / "evals").iterdir())
    assert len(kept) == 2
    text = kept[0].read_text()
    found = json.loads(text)
    assert [e["policy"] for e in found["evaluations"]] == ["best/policy.py", "lean.py"]
    assert (found["tests"][0]["a"], found["tests"][0]["b"]) == ("best/policy.py", "lean.py")
    assert str(folder) not in text
    assert found["time"].endswith("Z")


def test_declared_constants_have_their_plain_values(folder, capsys):
    declared = "k = tunable(0.0, -1.0, 1.0)\n" + LEAN.replace("> 0", "> k")
    (folder / "declared.py").write_text(declared)
    out = evaluate(capsys, "declared.py", "lean.py", "cartpole", "--episodes", "3")
    a, b = re.findall(r"^[AB] +\w+\.py +(.*)$", out, re.MULTILINE)
    assert a.split() == b.split()


def test_a_declaration_that_is_refused_is_told_with_its_line(folder, capsys):
    (folder / "declared.py").write_text(LEAN.replace("> 0", "> tunable(0.0, -1.0, 1.0)"))
    assert main(["eval", "declared.py", "cartpole"]) == 2
    assert "declared.py:3: tunable stands for a constant" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("good.py", "lean.py"), 2, "good.py: give the task that it is for with --spec"),
        (("good.py", "cartpole", "--keep"), 2, "--keep: none of these is the best policy of a run"),
        (("expert", "good.py", "cartpole"), 2, "cartpole has no expert"),
        (("good.py", "cartpole", "--episodes", "0"), 2, "--episodes must be at least 1"),
        (("nowhere/policy.py", "--spec", "cartpole"), 6, "no such path; `promptpo list`"),
        (("latest", "--out", "."), 6, "promptpo: error: .: no run here yet; "),
        ((".", "--spec", "cartpole"), 6, ".: not a run (no events.jsonl)"),
    ],
)
def test_what_cannot_be_is_one_line(folder, capsys, arguments, code, words):
    assert main(["eval", *arguments]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_runs_of_several_tasks_are_not_mixed(folder, capsys):
    first, _ = run(folder, replies([BAD]), test_episodes=0, selection_episodes=0)
    second, _ = run(folder, replies([BAD]), "mountain_car", test_episodes=0, selection_episodes=0)
    assert main(["eval", str(first.folder), str(second.folder)]) == 2
    err = capsys.readouterr().err
    assert "is of cartpole and" in err
    assert "name it with --spec" in err


def test_the_task_may_stand_last(folder, capsys):
    (folder / "my_cartpole.py").write_text(own_cartpole())
    for last in ("my_cartpole", "gym:CartPole-v1"):
        out = evaluate(capsys, "zero", last, "--episodes", "1", "--json")
        assert len(json.loads(out)["evaluations"]) == 1


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
    "hangs": (
        LEAN.replace("return", "while True: pass\n        return"),
        ":3: the policy failed: act() did not return in time",
    ),
}


def test_a_failure_names_the_line_of_the_file(folder, capsys):
    sources = {f"{name.replace(' ', '_')}.py": source for name, (source, _) in FAILURES.items()}
    for name, source in sources.items():
        (folder / name).write_text(source)
    few = ("--spec", "cartpole", "--episodes", "1", "--set", "act_timeout=0.5")
    out = evaluate(capsys, *sources, *few, code=1)
    for name, (_, words) in zip(sources, FAILURES.values(), strict=True):
        assert f": {name}{words}" in out, name
    assert main(["eval", "attribute.py", *few, "--workers", "1"]) == 1
    said, err = capsys.readouterr()
    assert said == ""
    assert err.startswith("promptpo: error: attribute.py:9: the policy failed: AttributeError")
    assert err.count("\n") == 1
