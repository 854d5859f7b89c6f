"""Whole runs without a language model, and what they say of themselves."""

import json
import re

import pytest
from shipped import shipped

import promptpo
from promptpo.cli import main
from promptpo.cli.views import run_rows
from promptpo.export import write_folder
from promptpo.export.policy_module import BUILTIN_MARKER, policy_part
from promptpo.policies.constants import tunable
from promptpo.run.settings import configure
from promptpo.store.run import load_run

SMALL = {"model": "builtin", "episodes": 1, "test_episodes": 2, "probe": 0, "seed": 3,
         "tune": False, "workers": 1}  # fmt: skip


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of two rounds on CartPole."""
    return promptpo.optimize(
        "cartpole", rounds=2, candidates=3, out=tmp_path_factory.mktemp("runs"), **SMALL
    )


def test_a_run_needs_no_key_and_its_candidates_are_structures_in_their_order(finished):
    usage = json.loads((finished.folder / "run.json").read_text())["usage"]
    assert (finished.status, usage["cost"], usage["calls"]) == ("finished", 0.0, 8)
    assert finished.test.score.mean_return > 9.0
    names = [re.search('"""([A-Z][a-z-]+)', c.source).group(1) for c in finished.candidates]
    assert names == ["Linear"] * 6
    assert all(c.error is None for c in finished.candidates)
    *_, words = run_rows(finished.folder.parents[1])[0]
    assert words.endswith("no language model")


def test_page_policy_and_notice_say_that_no_language_model_had_a_part(finished, tmp_path):
    page = (finished.folder / "report.html").read_text()
    assert "no language model: builtin synthesizer" in page
    module = (finished.folder / "best" / "policy.py").read_text()
    assert BUILTIN_MARKER in module
    assert "as the language model wrote it" not in module
    assert tunable(policy_part(module), auto=True).constants
    write_folder(load_run(finished.folder), tmp_path)
    assert "no language model had a part in it" in (tmp_path / "NOTICE.md").read_text()
    assert "the builtin synthesizer" in (tmp_path / "README.md").read_text()


def test_the_terminal_says_so_too(tmp_path, capsys):
    few = ("--rounds", "1", "--candidates", "1", "--episodes", "1", "--test-episodes", "1")
    how = ("--set", "tune=false", "--workers", "1", "--out", str(tmp_path))
    assert main(["nim", "--model", "builtin", *few, *how]) == 0
    said = capsys.readouterr().out
    assert "builtin (a synthesizer of standard structures; no language model)" in said
    assert "no tokens, $0.00" in said


def test_a_dry_run_expects_no_tokens(capsys):
    assert main(["nim", "--model", "builtin", "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "none: no language model is asked" in said
    assert "$0.00" in said


def test_structures_are_tuned_unless_told_otherwise():
    told = {"spec": "cartpole", "model": "builtin"}
    assert configure(told).tune
    assert not configure(told, {"tune": False}).tune
    assert not configure({**told, "method": "best-of-n"}).tune
    assert not configure({"spec": "cartpole", "model": "recorded"}).tune


@pytest.mark.slow
def test_tuning_mends_a_structure_that_falls(tmp_path):
    tuned = SMALL | {"tune": True, "tune_steps": 120_000, "test_episodes": 10, "out": tmp_path}
    result = promptpo.optimize("cartpole", rounds=1, candidates=1, **tuned)
    assert result.best.kind == "tuned"
    assert result.test.score.mean_return > 400  # 9 as it is written
    assert "# was " in (result.folder / "best" / "policy.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_every_spec_can_be_tried(name, tmp_path):
    once = SMALL | {"test_episodes": 1}
    result = promptpo.optimize(name, rounds=1, candidates=1, out=tmp_path, **once)
    assert result.best.error is None
    assert result.test is not None
