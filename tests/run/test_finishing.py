"""``promptpo finish``, and other numbers of selection and held-out episodes than at the start."""

import os
import shutil

import pytest
from scripted import BAD, GOOD, cut, events_of, info_of, policy, replies, run

import promptpo
from promptpo.cli import main
from promptpo.common import text
from promptpo.errors import UsageError
from promptpo.export.folder import folder_files
from promptpo.report.page import render_report
from promptpo.store.folder import RunFolder
from promptpo.store.run import load_run
from promptpo.store.summary import Summary
from promptpo.ui.plain import closing

#: Better than BAD, worse than GOOD.
FAIR = policy("return int(obs.pole_angle > 0)")


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Three rounds of a policy each; the second one's is the best."""
    out = tmp_path_factory.mktemp("ended")
    return run(out, replies([FAIR], [GOOD], [BAD]), policy_seed=7)[0]


def steps_played(folder, stream):
    return sum(e["steps"] for e in events_of(folder, "rollout") if e["stream"] == stream)


@pytest.fixture
def killed(ended, tmp_path):
    """Two rounds are done, and of the third one nothing is recorded."""
    return cut(ended.folder, tmp_path / "cartpole" / "killed", "round", round=2)


def test_a_killed_run_is_finished_without_any_further_search(ended, killed, capsys, monkeypatch):
    monkeypatch.setenv("PROMPTPO_MODEL", "")
    before = load_run(killed)
    assert main(["finish", str(killed), "--test-episodes", "4"]) == 0
    assert "r02_c01 is chosen" in capsys.readouterr().out
    run = load_run(killed)
    assert (run.status, run.best.name, len(run.test.seeds)) == ("stopped", "r02_c01", 4)
    assert run.reason == "finished early, after 2 of 3 rounds"
    assert run.test.returns[:3] == ended.test.returns
    assert run.usage.calls == before.usage.calls
    assert run.usage.steps["search"] == before.usage.steps["search"]
    again = events_of(killed)
    assert promptpo.finish(killed).test == run.test
    assert len(events_of(killed)) == len(again) + 1  # that it was resumed
    goes_on = promptpo.optimize(resume=killed)
    assert (goes_on.status, goes_on.reason) == ("finished", "all rounds are done")
    assert (goes_on.best.name, goes_on.test) == ("r02_c01", run.test)


def test_candidates_of_a_round_under_way_count(ended, tmp_path):
    first = cut(ended.folder, tmp_path / "run", "candidate")
    run = promptpo.finish(first)
    assert (run.best.name, run.reason) == ("r01_c01", "finished early, after 0 of 3 rounds")


def test_more_held_out_episodes_extend_the_test(ended, tmp_path):
    folder = shutil.copytree(ended.folder, tmp_path / "cartpole" / "run")
    longer = promptpo.finish(folder, test_episodes=7)
    assert (longer.status, longer.reason) == (ended.status, ended.reason)
    assert longer.test.returns[:3] == ended.test.returns
    assert steps_played(folder, "test") == sum(longer.test.lengths) == longer.test.steps
    assert longer.usage.steps["test"] == longer.test.steps
    assert events_of(folder, "resumed")[-1]["config"]["test_episodes"] == 7
    assert load_run(folder).test == longer.test
    info = info_of(folder)
    assert len(info["test"]["seeds"]) == 7
    for go_on in (promptpo.finish, lambda folder: promptpo.optimize(resume=folder)):
        before = len(events_of(folder))
        assert go_on(folder).test == longer.test
        assert len(events_of(folder)) == before + 1
    shorter = promptpo.optimize(resume=folder, test_episodes=2)
    assert shorter.test.returns == ended.test.returns[:2]
    assert load_run(folder).test == shorter.test
    assert steps_played(folder, "test") == longer.test.steps
    without = promptpo.optimize(resume=folder, test_episodes=0)  # no more: the test stands
    assert without.test.returns == shorter.test.returns == load_run(folder).test.returns
    assert info_of(folder)["test"]["seeds"] == info["test"]["seeds"][:2]
    assert steps_played(folder, "test") == longer.test.steps


def test_more_selection_episodes_add_to_those_that_were_played(ended, tmp_path):
    folder = shutil.copytree(ended.folder, tmp_path / "cartpole" / "run")
    before = {e["digest"] for e in events_of(folder, "rollout")}
    run = promptpo.optimize(resume=folder, selection_episodes=5)
    assert {f["episodes"] for f in run.selection["finalists"]} == {5}
    new = [e for e in events_of(folder, "rollout") if e["digest"] not in before]
    assert {(e["stream"], len(e["seeds"])) for e in new} == {("selection", 3)}
    assert promptpo.optimize(resume=folder).selection == run.selection


def test_what_cannot_be_finished_is_refused_in_a_line(killed, tmp_path, capsys):
    held = RunFolder.open(killed).lock()
    try:
        assert main(["finish", str(killed)]) != 0
    finally:
        os.close(held)
    assert main(["finish", str(killed), "--rounds", "9"]) == 2
    nothing = cut(killed, tmp_path / "nothing", "run")
    assert main(["finish", str(nothing)]) != 0
    with pytest.raises(UsageError, match="--candidates cannot change"):
        promptpo.finish(killed, candidates=9)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert "another process is running it" in said[0]
    assert "--rounds" in said[1]
    assert "no candidate of it has been scored" in said[2]


@pytest.mark.parametrize(
    ("kind", "data", "name", "stream", "episodes"),
    [
        ("candidate", {}, None, None, 0),
        ("round", {"round": 2}, "r02_c01", "search", 2),
        ("rollout", {"stream": "selection"}, "r02_c01", "search", 4),
        ("selection", {}, "r02_c01", "selection", 2),
        ("test", {}, "r02_c01", "held-out", 3),
    ],
)
def test_all_that_show_a_killed_run_name_one_score(
    ended, tmp_path, kind, data, name, stream, episodes
):
    folder = cut(ended.folder, tmp_path / "cartpole" / "run", kind, **data)
    run = load_run(folder)
    shown = dict(closing(run))
    if name is None:
        assert run.evidence is None
        assert "none" in shown["best policy"]
        return
    score, summary = run.evidence.score, Summary.of(run)
    assert (run.best.name, len(run.evidence.seeds)) == (name, episodes)
    assert (summary.best, summary.source, summary.score) == (name, stream, score)
    figure = text.number(score.mean_return)
    assert figure in shown[stream]
    glance = render_report(run)
    glance = glance[glance.index('id="glance"') :][:2000]
    assert figure in glance
    exported = {n: c for n, c in folder_files(run).items() if isinstance(c, str)}
    words = f"{stream.capitalize()} episodes"
    for file in ("README.md", "policy.py"):
        assert words in exported[file]
        assert figure in exported[file]
