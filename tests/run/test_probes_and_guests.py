"""Runs in which more plays than a round's own candidates: what it costs, and what stays counted."""

import pytest
from scripted import BAD, GOOD, data_of, policy, replies, run

import promptpo

#: Falls sooner than GOOD and later than BAD.
FAIR = policy("return int(obs.pole_angle > 0)")


def folder(path):
    path.mkdir()
    return path


def searched(events):
    """The steps of all search episodes that were played."""
    return sum(d["steps"] for d in data_of(events, "rollout") if d["stream"] == "search")


def test_probes_are_search_steps_and_no_candidates(tmp_path):
    result, events = run(tmp_path, replies([BAD]), probe=2, test_episodes=0)
    played = [d["key"] for d in data_of(events, "rollout") if not d["key"]["round"]]
    assert [key["candidate"] for key in played] == [1, 2]
    assert result.usage.steps["search"] == searched(events)
    assert [c.name for c in promptpo.load_run(result.folder).candidates] == ["r01_c01"]


@pytest.mark.slow
def test_the_best_so_far_plays_along_within_the_step_limit(tmp_path):
    """Two episodes of 500 steps each: the guest's, and one candidate's, fit beside round 1's."""
    script = replies([FAIR, BAD], [GOOD, GOOD.replace("0.02", "0.03")])
    settings = {"patience": 0, "early_stop": False, "test_episodes": 0}
    result, events = run(tmp_path, script, max_env_steps=3000, **settings)
    assert [len(r.candidates) for r in result.rounds] == [2, 1]
    best = result.rounds[0].winner.source
    assert result.rounds[0].winner.name == "r01_c01"
    (guest,) = [
        d for d in data_of(events, "rollout")
        if d["stream"] == "search" and d["key"] == {**d["key"], "round": 1, "candidate": 1}
    ][1:]  # fmt: skip
    own = next(d for d in data_of(events, "rollout") if d["key"]["round"] == 2)
    assert [e["seed"] for e in guest["episodes"]] == [e["seed"] for e in own["episodes"]]
    assert best == FAIR
    assert searched(events) == result.usage.steps["search"] <= 3000


@pytest.mark.slow
def test_the_best_possible_score_ends_a_run_unless_it_shall_not(tmp_path):
    script = replies([GOOD], [GOOD])
    settings = {"episodes": 10, "test_episodes": 0, "selection_episodes": 0, "patience": 0}
    for early_stop, rounds in ((True, 1), (False, 2)):
        result, _ = run(folder(tmp_path / str(rounds)), script, early_stop=early_stop, **settings)
        assert len(result.rounds) == rounds
        assert ("best possible" in result.reason) == early_stop


@pytest.mark.slow
def test_more_rounds_go_on_from_the_pooled_scores(tmp_path):
    script = replies([FAIR, BAD], [BAD, FAIR], [FAIR.replace("> 0", "> 0.01"), BAD])
    settings = {"episodes": "auto", "test_episodes": 0, "patience": 0}
    whole, _ = run(folder(tmp_path / "whole"), script, **settings)
    first, _ = run(folder(tmp_path / "parts"), script, rounds=2, **settings)
    assert first.rounds[0].candidates[0].later
    last = promptpo.optimize(resume=first.folder, rounds=3)
    pooled = [[c.pooled and c.pooled.returns for c in r.candidates] for r in last.rounds]
    assert pooled == [[c.pooled and c.pooled.returns for c in r.candidates] for r in whole.rounds]
    assert last.usage.steps["search"] == whole.usage.steps["search"]
