"""promptpo as a library: signatures, objects for answers, and what is wrong in one line."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from own_cartpole import own_cartpole
from scripted import BAD, GOOD, replies, run

import promptpo
from promptpo.errors import RunError, SpecError, UsageError
from promptpo.presets import PRESETS
from promptpo.run.settings import fields

ROOT = Path(promptpo.__file__).parents[1]


def test_all_public_names_are_listed_and_there():
    assert set(promptpo.__all__) <= set(dir(promptpo))
    for name in promptpo.__all__:
        assert getattr(promptpo, name) is not None
    assert {"optimize", "evaluate", "check", "compare"} <= set(promptpo.__all__)


def test_functions_are_not_hidden_by_packages_of_their_name():
    code = (
        "import promptpo.checks, promptpo.comparison, promptpo.cli.views, promptpo.cli.specs\n"
        "print(all(callable(getattr(promptpo, name)) for name in promptpo.__all__ if name.islower()"
        " and not name.startswith('_')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'promptpo' has no attribute 'optimise'"):
        promptpo.optimise  # noqa: B018 - the attribute is what is tested


def test_the_settings_are_arguments_by_name():
    arguments = inspect.signature(promptpo.optimize).parameters
    assert next(iter(arguments)) == "spec"
    assert fields().keys() | {"resume", "on_event", "progress", "preset", "options"} == {*arguments}
    assert arguments["rounds"].default == 5
    assert all(repr(name) in arguments["preset"].annotation for name in PRESETS)
    arguments = inspect.signature(promptpo.evaluate).parameters
    assert list(arguments)[:2] == ["policy", "spec"]
    assert {"episodes", "seed", "workers", "act_timeout"} <= {*arguments}
    with pytest.raises(TypeError, match="unexpected argument 'rounds'"):
        promptpo.evaluate("zero", "cartpole", rounds=3)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, UsageError, "no spec; give a spec file"),
        ({"spec": "cartpole", "rouns": 3}, UsageError, "did you mean 'rounds'?"),
        ({"spec": "cartpole", "rounds": 0}, UsageError, "rounds must be at least 1, not 0"),
        ({"spec": Path("nowhere.py")}, SpecError, "nowhere.py: no such file"),
        ({"resume": "nowhere"}, RunError, "nowhere: no such path"),
    ],
)
def test_what_is_wrong_is_one_line(arguments, error, words):
    with pytest.raises(error) as raised:
        promptpo.optimize(**arguments)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_run_of_a_spec_object_is_a_run_of_its_file(tmp_path):
    result, _ = run(tmp_path, replies([BAD]), spec=promptpo.load_spec("cartpole"), test_episodes=0)
    assert result.folder.parent.name == "cartpole"
    assert result.best.name == "r01_c01"


def test_a_check_says_what_is_true():
    report = promptpo.check("cartpole", quick=True)
    assert report.passed
    assert not report.failures
    assert repr(report).startswith("<CheckReport of cartpole: ok; ")
    assert str(report).splitlines()[0].startswith("cartpole: CartPole: keep")
    assert "  ok    reward  " in str(report)
    assert "<td" in report._repr_html_()


@pytest.mark.slow
def test_a_check_says_what_is_not_true(tmp_path):
    file = tmp_path / "tilted.py"
    file.write_text(own_cartpole(("return 1.0", "return 2.0")))
    report = promptpo.check(file, quick=True)
    assert not report.passed
    assert report.failures[0].check == "reward"
    assert repr(report).startswith("<CheckReport of tilted: not true: reward")


def test_a_comparison_has_tables_and_plain_numbers(tmp_path):
    good, _ = run(tmp_path, replies([GOOD]))
    bad, _ = run(tmp_path, replies([BAD], [BAD]))
    found = promptpo.compare(good, str(bad.folder), good.folder)
    assert repr(found) == "<Comparison of 2 runs in 2 groups: cartpole>"
    assert found.scores[0]["test_return"] == 500.0
    assert {row["measure"] for row in found.tests} == {"return"}
    assert found.curves[0]["axis"] == "steps"
    assert "held-out scores, mean and 95% interval" in str(found)
    assert "\x1b" not in str(found)
    assert "<table>" in found._repr_html_()


def test_a_comparison_is_saved(tmp_path):
    result, _ = run(tmp_path, replies([GOOD]))
    files = promptpo.compare(result).save(tmp_path / "to", formats=["csv"])
    assert [file.name for file in files] == ["scores.csv", "tests.csv", "curves.csv"]
    assert all(file.is_file() for file in files)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (promptpo.compare, UsageError, "no runs to compare"),
        (lambda: promptpo.compare("nowhere"), RunError, "nowhere: no such path"),
        (lambda: promptpo.check("nowhere"), SpecError, "nowhere: no such spec"),
    ],
)
def test_what_is_not_there_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
