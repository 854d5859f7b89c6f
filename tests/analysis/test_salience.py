"""Salience bias, measured on logs that a test has written."""

import json

import pytest
from rollouts import rollout

from promptpo.analysis.salience import Salience, differs, salience
from promptpo.cli import main
from promptpo.errors import RunError
from promptpo.llm import reply_event
from promptpo.llm.messages import Message, Reply, Request, as_data
from promptpo.store.codec import encode, score_data
from promptpo.store.shapes import FORMAT
from promptpo.types import Candidate, Key

WORST = "In the worst episode it falls at once."

#: What a critic saw of a policy, what it said, and what its revision got on the same episodes.
PAIRS = [
    ([1, 5, 9, 5, 5], WORST, [0, 4, 8, 4, 4]),  # worse, beyond noise: by 1 in every episode
    ([1, 5, 9, 5, 5], "Of all, the worst one.", [9, 5, 0, 5, 5]),  # worse, by chance
    ([5, 5, 9, 5, 5], WORST, [4, 5, 9, 5, 5]),  # worse; the worst was no worse than the median
    ([1, 5, 9, 5, 5], WORST, [2, 5, 9, 5, 5]),  # better
    ([1, 5, 9, 5, 5], "It drifts.", [1, 5, 9, 5, 5]),  # the same
]


def written(folder, pairs, settings=None, method="r2po", fresh=False):
    """A run's folder in which each pair is a round: a proposal and its revision."""
    options = {"shown": "three"} if settings is None else settings
    config = {"spec": "toy.py", "method": method, "options": options}
    events = [
        {"type": "run", "format": FORMAT, "config": config, "spec": {"name": "toy", "sha": ""}}
    ]
    for number, (before, text, after) in enumerate(pairs, 1):
        first, second = Key(number, 1), Key(number, 2)
        events += played(first, before, "proposal", ())
        asked = (Message("user", "Revise it."),)
        call = Key(number, 2, role="critic")
        events.append({"type": "prompt", "key": encode(call), "messages": as_data(asked)})
        event = reply_event(Request(call, asked), Reply(text, "a"))
        events.append({"type": "reply", **event})
        seeds = range(50, 50 + len(after or ())) if fresh else None
        events += played(second, after, "revision", (first.name,), seeds)
    folder.mkdir()
    lines = (json.dumps({"time": 1.0, **event}) + "\n" for event in events)
    (folder / "events.jsonl").write_text("".join(lines))
    return folder


def played(key, returns, kind, parents, seeds=None):
    """The events of a candidate; without returns of one that has failed."""
    if returns is None:
        data = encode(Candidate(key, None, error="no", kind=kind, parents=parents))
        return [{"type": "candidate", **data, "score": None, "rollout": None}]
    run = rollout(returns, seeds=seeds)
    digest = f"{key.name} {returns}"
    data = encode(Candidate(key, "class Policy: ...", kind=kind, parents=parents))
    told = {"score": score_data(run.score), "rollout": digest}
    return [
        {"type": "rollout", "key": encode(key), "digest": digest, **encode(run)},
        {"type": "candidate", **data, **told},
    ]


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Salience:
    (of_toy,) = salience([written(tmp_path_factory.mktemp("runs") / "a", PAIRS)])
    return of_toy


def counts(found, group):
    return [
        (s.count, s.of)
        for s in (found.share(group, c) for c in ("strict", "strict_word", "strict_phrase"))
    ]


def test_the_published_share_is_of_all_regressions(found):
    assert counts(found, "regressions") == [(2, 3), (2, 3), (1, 3)]


def test_the_same_share_is_told_of_all_others(found):
    assert counts(found, "others") == [(2, 2), (1, 2), (1, 2)]


def test_regressions_beyond_noise_are_told_apart(found):
    assert counts(found, "regressions_beyond_noise") == [(1, 1), (1, 1), (1, 1)]


def test_loosely_the_worst_may_be_as_good_as_the_median(found):
    assert found.share("regressions", "loose_word").count == 3


def test_fresh_episodes_are_compared_by_welch_s_test():
    low, high = [1.0, 1.1, 0.9, 1.0], [5.0, 5.1, 4.9, 5.0]
    a, b = rollout(low), rollout(high, seeds=range(9, 13))
    assert differs(a, b)
    assert not differs(a, rollout([0.9, 1.1, 1.0, 1.2], seeds=range(9, 13)))


def test_episodes_without_chance_differ_where_they_differ():
    a = rollout([1.0, 1.0])
    assert differs(a, rollout([2.0, 2.0], seeds=(8, 9)))
    assert not differs(a, rollout([1.0, 1.0], seeds=(8, 9)))


def test_a_revision_that_failed_is_counted_apart(tmp_path):
    (found,) = salience([written(tmp_path / "a", [*PAIRS, ([1, 5, 9], WORST, None)])])
    assert (len(found.revisions), found.failed) == (5, 1)


def test_runs_of_one_task_and_method_are_taken_together(tmp_path):
    folders = [written(tmp_path / name, PAIRS, fresh=name == "b") for name in "ab"]
    critic = {"critic": "winner", "critic_shows": "three"}
    other = written(tmp_path / "c", PAIRS, critic, method="promptpo")
    found = salience([*folders, other, folders[0]])
    assert [(s.method, s.runs, len(s.revisions)) for s in found] == [
        ("r2po", 2, 10), ("promptpo", 1, 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "settings", "why"),
    [([], {}, "no critic was asked"), (PAIRS, {"shown": "median"}, "takes --shown three")],
)
def test_other_runs_are_refused_with_what_it_takes(tmp_path, pairs, settings, why):
    with pytest.raises(RunError, match=why):
        salience([written(tmp_path / "a", pairs, settings)])


def test_the_command_tells_it_as_a_table_and_as_json(tmp_path, capsys):
    folder = str(written(tmp_path / "a", PAIRS))
    assert main(["analyze", "salience", folder]) == 0
    told = capsys.readouterr().out
    assert "toy, r2po: 5 revisions in 1 run" in told
    assert "2 (66.7%" in told
    assert main(["analyze", "salience", folder, "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)["salience"]
    assert data["regressions"]["strict_word"]["count"] == 2
    assert data["others"]["strict_word"]["share"] == 0.5
    assert [r["name"] for r in data["each"]] == [f"r0{n}_c02" for n in range(1, 6)]
