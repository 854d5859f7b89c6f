"""Runs that go on with other settings, or are interrupted then: totals, decisions, best/."""

import shutil
import signal

import pytest
from scripted import BAD, GOOD, data_of, events_of, info_of, policy, replies, run

import promptpo
from promptpo.store.run import load_run

#: Plays some steps, then raises: a failure that costs steps.
LATE = policy("self.t += 1\n        return 0 if self.t < 6 else 1 / 0", setup="self.t = 0")


def resumed(folder, **settings):
    events = []
    result = promptpo.optimize(resume=folder, on_event=events.append, **settings)
    return result, events


def interrupted_at(folder, kind, **settings):
    """The result of a run that is resumed and hears SIGTERM at its first event of a kind."""

    def stop(event):
        if event.type == kind:
            signal.raise_signal(signal.SIGTERM)

    return promptpo.optimize(resume=folder, on_event=stop, **settings)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Two rounds were run: the second one's policy won."""
    return run(tmp_path_factory.mktemp("finished"), replies([BAD], [GOOD]))[0]


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of that run."""
    return shutil.copytree(finished.folder, tmp_path / "cartpole" / finished.folder.name)


@pytest.fixture(scope="module")
def shortened(finished, tmp_path_factory):
    """Another copy, resumed with one round: its folder, result and events."""
    folder = tmp_path_factory.mktemp("shortened") / "cartpole" / "run"
    shutil.copytree(finished.folder, folder)
    return folder, *resumed(folder, rounds=1)


@pytest.mark.slow
def test_with_fewer_rounds_all_that_was_spent_counts_and_decisions_are_new(shortened, finished):
    folder, result, events = shortened
    assert result.best.name == "r01_c01"
    spent = dict(finished.usage.steps)
    spent["test"] += result.test.steps
    assert result.usage.calls == finished.usage.calls
    assert result.usage.steps == info_of(folder)["usage"]["steps"] == spent
    for kind, name in (("selection", "winner"), ("test", "name"), ("finished", "best")):
        assert [e[name] for e in events_of(folder, kind)] == ["r02_c01", "r01_c01"]
    run = load_run(folder)
    assert (run.best_name, run.test, run.usage) == ("r01_c01", result.test, result.usage)
    assert run.selection["finalists"] == []
    first = data_of(events, "usage")[0]  # a resumed run reports its totals at once
    assert (first["calls"], first["reached"]["calls"]) == (finished.usage.calls, 1)


@pytest.mark.slow
def test_an_extension_that_changes_nothing_is_on_record_too(tmp_path):
    first, _ = run(tmp_path, replies([GOOD], [BAD]), rounds=1)
    resumed(first.folder, rounds=2)
    ends = events_of(first.folder, "finished")
    assert [e["best"] for e in ends] == ["r01_c01", "r01_c01"]


@pytest.mark.slow
def test_what_has_held_out_episodes_stays_best_while_an_extension_goes_on(tmp_path):
    first, _ = run(tmp_path, replies([BAD], [GOOD], [GOOD]), rounds=1)
    policy_file = first.folder / "best" / "policy.py"
    before = policy_file.read_text()
    result = interrupted_at(first.folder, "round", rounds=3)
    assert result.status == "interrupted"
    assert (result.best.name, result.test) == ("r01_c01", first.test)
    assert policy_file.read_text() == before
    info = info_of(first.folder)
    assert (info["status"], info["best"]["name"]) == ("interrupted", "r01_c01")
    assert [e["return"] for e in info["test"]["episodes"]] == list(first.test.returns)
    assert info["usage"]["calls"] >= first.usage.calls
    result, _ = resumed(first.folder)
    assert result.best.name == "r02_c01"
    assert "Held-out episodes" in policy_file.read_text()


@pytest.mark.slow
def test_a_time_limit_does_not_undo_what_is_on_record(folder, finished):
    result, _ = resumed(folder, max_time=0.01)
    assert (result.best.name, result.test) == (finished.best.name, finished.test)


@pytest.mark.slow
def test_the_step_limit_holds_for_repairs(tmp_path):
    script = replies([LATE, LATE])
    for index in (1, 2):
        for attempt in (1, 2, 3):
            script.say(LATE, "repair", 1, index, attempt)
    settings = {"max_repairs": 3, "episodes": 2, "test_episodes": 0}
    result, events = run(tmp_path, script, max_env_steps=2015, **settings)
    assert 0 < result.usage.steps["search"] <= 2015
    assert [c.key.attempt for c in result.rounds[0].candidates] == [0, 0]
    assert "another attempt's 1,000" in data_of(events, "refused")[0]["reason"]
    again, _ = resumed(result.folder)
    assert again.usage == result.usage
    more, _ = resumed(result.folder, max_env_steps=9000)
    assert [c.key.attempt for c in more.rounds[0].candidates] == [3, 3]


@pytest.mark.slow
def test_what_a_limit_forbade_stays_so_once_the_search_has_gone_on(tmp_path):
    script = replies([GOOD, LATE], [GOOD, GOOD]).say(GOOD, "repair", 1, 2, 1)
    settings = {"max_repairs": 1, "test_episodes": 0, "challenge": False}
    first, _ = run(tmp_path, script, max_env_steps=2018, **settings)
    assert [[c.key.attempt for c in r.candidates] for r in first.rounds] == [[0, 0], [0]]
    result, _ = resumed(first.folder, max_env_steps=9000)
    assert [[c.key.attempt for c in r.candidates] for r in result.rounds] == [[0, 0], [0, 0]]
