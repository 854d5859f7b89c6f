"""Two candidates with the same text are one policy: it is played once, and both are scored."""

import json
from collections import Counter

import pytest
from scripted import BAD, GOOD, cut, data_of, events_of, outcome, policy, replies, run

import promptpo

#: Plays six steps, then raises: a failure that costs steps.
LATE = policy("self.t += 1\n        return 0 if self.t < 6 else 1 / 0", setup="self.t = 0")
SMALL = {"test_episodes": 0, "selection_episodes": 0, "reflection": False}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of one round, the first and the third candidate alike: its result and events."""
    return run(tmp_path_factory.mktemp("run"), replies([BAD, GOOD, BAD]), **SMALL)


def searched(events):
    return [r for r in data_of(events, "rollout") if r["stream"] == "search"]


def test_it_is_played_once_and_each_of_them_has_its_score(whole):
    result, events = whole
    assert len(searched(events)) == 2
    assert result.usage.steps["search"] == sum(r["steps"] for r in searched(events))
    first, _, third = result.rounds[0].candidates
    assert first.rollout == third.rollout
    scored = [c["key"]["candidate"] for c in data_of(events, "candidate") if c["score"]]
    assert list(dict.fromkeys(scored)) == [1, 3, 2]
    for name in ("r01_c01", "r01_c03"):
        data = json.loads((result.folder / "candidates" / name / "result.json").read_text())
        assert [e["return"] for e in data["episodes"]] == list(first.rollout.returns)
    stored = sorted(p.parent.name for p in result.folder.glob("candidates/*/episodes.npz"))
    assert stored == ["r01_c01", "r01_c02"]


@pytest.mark.slow
def test_as_a_winner_it_is_summarized(tmp_path):
    result, _ = run(tmp_path, replies([GOOD, GOOD, BAD]), **SMALL)
    assert result.rounds[0].winner.name == "r01_c01"
    assert len(result.rounds[0].winner.notes) == 2


@pytest.mark.slow
def test_a_run_killed_between_them_ends_as_if_it_had_not_been(whole, tmp_path):
    result, _ = whole
    kinds = Counter(e["type"] for e in events_of(result.folder))
    for kind in ("rollout", "candidate"):
        for number in range(kinds[kind] - (kind == "rollout")):  # but for the last, of the test
            folder = cut(result.folder, tmp_path / f"{kind}{number}", kind, number)
            assert promptpo.optimize(resume=folder).usage == result.usage, folder
            assert outcome(folder) == outcome(result.folder), folder


@pytest.mark.slow
def test_whose_share_the_steps_are_of_does_not_depend_on_who_played_them(tmp_path):
    """Each has a share of 1,008 steps, 1,000 of them for one more attempt, and LATE takes 10."""
    script = replies([LATE, LATE])
    for index in (1, 2):
        script.say(GOOD, "repair", 1, index, 1)
    result, events = run(tmp_path, script, max_repairs=1, max_env_steps=2016, **SMALL)
    (played,) = searched(events)
    assert 8 < played["steps"] < 20
    assert [c.key.attempt for c in result.rounds[0].candidates] == [0, 0]
    assert [r["key"]["candidate"] for r in data_of(events, "refused")] == [1, 2]


@pytest.mark.slow
def test_in_another_round_it_plays_that_round_s_episodes_and_is_one_finalist(tmp_path):
    small = {**SMALL, "selection_episodes": 2}
    result, events = run(tmp_path, replies([GOOD], [GOOD], [BAD]), **small)
    one, two, *_ = searched(events)
    assert one["seeds"] != two["seeds"]
    assert result.usage.steps["search"] == sum(r["steps"] for r in searched(events))
    (selection,) = data_of(events, "selection")
    assert [f["name"] for f in selection["finalists"]] == ["r01_c01", "r03_c01"]
