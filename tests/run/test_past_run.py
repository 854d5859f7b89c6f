"""``promptpo.load_run``: a run as one object, whatever became of it."""

import json
import shutil

import pytest
from scripted import BAD, GOOD, cut, policy, replies, run

import promptpo
from promptpo.cli import main
from promptpo.errors import RunError

CRASH = policy("return 1 / 0")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Two rounds, one candidate of which crashes."""
    folder = tmp_path_factory.mktemp("run")
    return run(folder, replies([BAD, GOOD], [CRASH, BAD]), seed=7)[0]


def test_it_tells_what_optimize_returned(result):
    found = promptpo.load_run(result.folder)
    for name in ("status", "reason", "best", "test", "usage", "rounds", "candidates", "settings"):
        assert getattr(found, name) == getattr(result, name), name
    assert found.folder == result.folder.resolve()


def test_it_has_settings_references_and_candidates(result):
    found = promptpo.load_run(str(result.folder))
    assert (found.spec, found.config.seed, found.settings["rounds"]) == ("cartpole", 7, 2)
    assert found.title.startswith("CartPole: keep")
    assert found.references["optimum"].mean_return == 500
    assert [c.name for c in found.candidates] == ["r01_c01", "r01_c02", "r02_c01", "r02_c02"]
    assert [c.score.failed for c in found.candidates] == [False, False, True, False]
    assert "ZeroDivisionError" in found.candidates[2].error
    assert found.policy == found.best.source == result.best.source


def test_it_shows_itself_in_short(result):
    found = promptpo.load_run(result.folder)
    end = "finished, r01_c02, return 500 in 3 held-out episodes>"
    assert repr(found).startswith("<Run ")
    assert repr(found).endswith(end)
    assert repr(result).endswith(end)
    assert str(found).splitlines()[0].endswith("best/policy.py  (r01_c02)")
    assert "<details><summary>the policy</summary>" in found._repr_html_()
    assert result._repr_html_() == found._repr_html_()
    assert repr(found.best) == "<Candidate r01_c02: return 500>"
    assert repr(found.test) == "<Rollout of 3 test episodes: return 500>"
    assert repr(found.rounds[0]) == "<Round 1 of 2 candidates: r01_c02 wins, return 500>"
    assert repr(found.candidates[2]) == "<Candidate r02_c01: failed>"


def test_what_was_kept_of_later_evaluations_is_there(result, tmp_path, capsys):
    folder = shutil.copytree(result.folder, tmp_path / "run")
    assert promptpo.load_run(folder).evaluations == ()
    arguments = ["eval", str(folder), "zero", "--episodes", "4", "--keep", "--workers", "1"]
    assert main(arguments) == 0
    (found,) = promptpo.load_run(folder).evaluations
    assert [p.policy for p in found.evaluations] == ["best/policy.py", "zero"]
    assert found.evaluations[0].score.mean_return == 500
    assert [e.return_ for e in found.evaluations[0].episodes] == [500.0] * 4
    assert (found.tests[0].a, found.tests[0].count_a) == ("best/policy.py", 4)
    capsys.readouterr()
    assert main(["report", str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "Scored again" in page
    assert "4 held-out episodes of seed 7" in page


def test_a_damaged_evaluation_is_named_and_harms_nothing(result, tmp_path):
    folder = shutil.copytree(result.folder, tmp_path / "run")
    (folder / "evals").mkdir()
    for name, content in {"a.json": "{", "b.json": json.dumps({"evaluations": [3]})}.items():
        (folder / "evals" / name).write_text(content)
    found = promptpo.load_run(folder)
    assert (found.status, found.evaluations) == ("finished", ())
    assert [line.split(":")[0].rsplit("/", 1)[1] for line in found.unread] == ["a.json", "b.json"]


def test_a_run_that_was_killed_has_what_it_had_by_then(result, tmp_path):
    folder = cut(result.folder, tmp_path / "run", "round")
    (folder / "run.json").unlink()
    found = promptpo.load_run(folder)
    assert (found.status, found.test, len(found.rounds)) == ("killed", None, 1)
    assert found.best.name == "r01_c02"
    assert repr(found).endswith("killed, r01_c02, return 500 in 2 search episodes>")


@pytest.mark.slow
def test_a_run_is_taken_wherever_one_is_asked_for(result, tmp_path):
    folder = shutil.copytree(result.folder, tmp_path / "run")
    found = promptpo.load_run(folder)
    assert promptpo.compare(found).scores[0]["test_return"] == 500
    assert promptpo.evaluate(found, episodes=2, workers=1).mean_return == 500
    assert promptpo.optimize(resume=found).test == found.test


def test_what_is_no_run_is_one_line(tmp_path):
    with pytest.raises(RunError, match=r"not a run \(no events.jsonl\)"):
        promptpo.load_run(tmp_path)
