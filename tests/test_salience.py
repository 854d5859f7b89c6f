"""``benchmarks/salience.py`` on a log that the test has written."""

import json
import re
import subprocess
import sys
from pathlib import Path

from rollouts import rollout

import promptpo
from promptpo.llm.messages import Message, Reply, Request, as_data
from promptpo.llm.recording import reply_event
from promptpo.store.codec import encode, score_data
from promptpo.store.events import FORMAT
from promptpo.types import Candidate, Key

ROOT = Path(promptpo.__file__).parents[1]
WORST = "In the worst episode it falls at once."

#: Returns that a critic saw, what it said, and what its revision got in episodes of its own.
PAIRS = [
    ([1, 5, 9, 5, 5], WORST, [-90, -91, -92, -91, -90]),  # worse, beyond noise
    ([1, 5, 9, 5, 5], "Of all, the worst one.", [9, 5, 0, 5, 5]),  # worse, by chance
    ([5, 5, 9, 5, 5], WORST, [4, 5, 9, 5, 5]),  # worse; the worst was no worse than the median
    ([1, 5, 9, 5, 5], WORST, [2, 5, 9, 5, 5]),  # better
    ([1, 5, 9, 5, 5], "It drifts.", [1, 5, 9, 5, 5]),  # the same
    ([1, 5, 9, 5, 5], WORST, None),  # failed: not counted
]


def written(folder, shown):
    """Write a run's folder in which each pair is a round: a proposal and its revision."""
    config = {"spec": "toy.py", "method": "r2po", "options": {"shown": shown}}
    events = [
        {"type": "run", "format": FORMAT, "config": config, "spec": {"name": "toy", "sha": ""}}
    ]
    for number, (before, text, after) in enumerate(PAIRS, 1):
        first, second = Key(number, 1), Key(number, 2)
        asked = (Message("user", "Revise it."),)
        call = Key(number, 2, role="critic")
        reply = reply_event(Request(call, asked), Reply(text, "a"))
        events += played(first, before)
        events.append({"type": "prompt", "key": encode(call), "messages": as_data(asked)})
        events.append({"type": "reply", **reply})
        events += played(second, after, parents=(first.name,))
    folder.mkdir()
    lines = (json.dumps({"time": 1.0, **event}) + "\n" for event in events)
    (folder / "events.jsonl").write_text("".join(lines))
    return folder


def played(key, returns, **more):
    """Return the events of a candidate; without returns of one that has failed."""
    if returns is None:
        data = encode(Candidate(key, None, error="no", **more))
        return [{"type": "candidate", **data, "score": None, "rollout": None}]
    run = rollout(returns)
    data = encode(Candidate(key, "class Policy: ...", **more))
    told = {"score": score_data(run.score), "rollout": key.name}
    return [
        {"type": "rollout", "key": encode(key), "digest": key.name, **encode(run)},
        {"type": "candidate", **data, **told},
    ]


def measured(*folders):
    command = [sys.executable, "benchmarks/salience.py", *map(str, folders)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_shares_of_regressions_stand_beside_those_of_all_others(tmp_path):
    folder = written(tmp_path / "a", "three")
    done = measured(folder, folder)
    assert done.returncode == 0, done.stderr
    title, _, *rows = done.stdout.splitlines()
    assert title.startswith("toy: 5 revisions")
    counts = [re.findall(r"(\d+)(?= +\d+ | \()", row) for row in rows]
    assert counts == [["3", "2", "2", "1"], ["1", "1", "1", "1"], ["2", "2", "1", "1"]]
    done = measured(written(tmp_path / "b", "median"))  # whose critic saw one episode
    assert done.returncode == 1
    assert "not a run of --method r2po --set shown=three" in done.stderr
