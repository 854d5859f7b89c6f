"""Who met whom, what was hard, and which class described it, from written events."""

import pytest
from test_run_fold import Log, rollout

from promptpo.store.codec import digest, encode
from promptpo.store.standings import feedback_classes, hard_episodes, meeting
from promptpo.types import Candidate, Key

BEST, CHALLENGER = Key(1, 1), Key(2, 1)


def write(log, key, source, digests, hard=None, score=1.0):
    first, *later = digests
    data = encode(Candidate(key, source)) | {"rollout": first, "later": later, "hard": hard}
    return log.add("candidate", **data, score={"mean_return": score})


def play(log, key, name, returns, seeds):
    run = encode(rollout(returns))
    for episode, seed in zip(run["episodes"], seeds, strict=True):
        episode["seed"] = seed
    run["seeds"] = list(seeds)
    return log.add("rollout", key=encode(key), digest=name, **run)


@pytest.fixture
def log():
    """A best policy with two episodes of round 1 and three of round 2, and its challenger."""
    log = Log().run()
    play(log, BEST, "a", [10.0, 2.0], [1, 2])
    write(log, BEST, "one", ["a"])
    log.round(1, "r01_c01", 6.0)
    play(log, BEST, "b", [10.0, 11.0, 9.0], [3, 4, 5])
    play(log, CHALLENGER, "c", [15.0, 16.5, 13.5], [3, 4, 5])
    play(log, CHALLENGER, "d", [12.0], [2])
    write(log, BEST, "one", ["a", "b"])
    write(log, CHALLENGER, "two", ["c"], hard="d")
    return log


def test_a_challenger_is_told_by_the_episodes_that_the_best_before_it_played_too(log):
    found = meeting(log.record, log.record.trials["r02_c01"])
    assert found.incumbent.name == "r01_c01"
    assert (found.difference.returns.mean, found.difference.returns.count) == (5.0, 3)
    assert found.difference.sign == 1


def test_who_met_nobody_is_compared_with_nobody(log):
    assert meeting(log.record, log.record.trials["r01_c01"]) is None
    write(log, CHALLENGER, "one", ["c"])  # the same policy once more
    assert meeting(log.record, log.record.trials["r02_c01"]) is None


def test_a_hard_episode_has_how_the_best_and_its_challengers_did_and_is_no_part_of_a_score(log):
    (found,) = hard_episodes(log.record)
    assert (found.seed, found.incumbent, found.own.return_) == (2, "r01_c01", 2.0)
    assert [(name, e.return_) for name, e in found.challengers] == [("r02_c01", 12.0)]
    assert log.record.trials["r02_c01"].score.mean_return == 15.0


def test_probes_are_no_round(log):
    play(log, Key(0, 1), "p", [1.0], [99])
    data = encode(Candidate(Key(0, 1), "zero", kind="probe")) | {"rollout": "p"}
    log.add("candidate", **data, score={"mean_return": 1.0})
    assert [r.number for r in log.record.round_records] == [1, 2]
    assert [t.name for t in log.record.probes] == ["r00_c01"]
    assert "r00_c01" not in [t.name for t in log.record.policies]


def reply(log, key, source):
    text = f"So.\n\n```python\n{source}\n```\n"
    return log.add("reply", key=encode(key), text=text, model="a", cost=0.0, usage=None)


def described(log, source, error=None):
    return log.add("feedback", key=encode(BEST), digest=f"{source}{error}", by="model", texts=["x"],
                   error=error, feedback_class=digest(f"{source}\n"))  # fmt: skip


def test_a_revised_class_is_known_by_the_reply_that_it_came_with_and_since_when():
    classes = [f"class Feedback:\n    number = {i}" for i in range(3)]
    log = Log().run()
    reply(log, Key(role="feedback"), classes[0])
    described(log, classes[0])
    log.round(1, "r01_c01", 1.0)
    reply(log, Key(2, role="reflection"), classes[1])
    described(log, classes[1], error="it fails")
    log.round(2, "r01_c01", 1.0)
    reply(log, Key(3, role="reflection"), classes[2])
    described(log, classes[2])
    found = [(c.source.strip(), c.key.role, c.since) for c in feedback_classes(log.record)]
    assert found == [(classes[0], "feedback", 0), (classes[2], "reflection", 2)]
