"""What views show of candidates that learn before they act."""

import io
import json
from dataclasses import replace

from run_events import START, candidate, key, rollout, run, usage

from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.types import Preparation
from promptpo.ui import summary
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress
from promptpo.ui.status import JsonView

DONE = Preparation("d1", "v1", "residual 0.1", 12.3, episodes=34, transitions=12_345)
FAILED = replace(DONE, digest="d2", values=None, seconds=28.5, error="line 3: no", output="")


def prepared(index, time, done=DONE, **how):
    return Event("prepared", {"key": key("", 1, index), **encode(done)}, START + time, **how)


def events():
    yield run("runs/x", candidates=2, rounds=1)
    yield prepared(1, 1)
    yield rollout(1, 1, [9.0, 9.0], 2)
    yield candidate(1, 1, 2)
    yield prepared(2, 3, FAILED)


def test_a_log_says_how_long_it_took_and_on_what():
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in events():
            view(event)
    (line,) = [x for x in stream.getvalue().splitlines() if "prepared" in x]
    assert line.endswith("r01_c01  prepared in 12.3 s on 34 episodes, 12,345 transitions")


def test_all_of_it_is_an_account_of_its_own_and_counts_once():
    progress = Progress()
    for event in [*events(), prepared(1, 4, transient=True), usage(5)]:
        progress.apply(event)
    rows = dict(summary.closing(progress))
    assert rows["prepare"] == "2 candidates, 40.8 s of computing"


def test_a_run_without_it_has_no_account():
    progress = Progress()
    for event in [run("runs/x", candidates=1, rounds=1), usage(5)]:
        progress.apply(event)
    assert "prepare" not in dict(summary.closing(progress))


def test_json_has_the_account_too():
    stream = io.StringIO()
    with JsonView(stream) as view:
        for event in events():
            view(event)
    told = [json.loads(line)["prepared"] for line in stream.getvalue().splitlines()]
    assert told[0] is None
    assert told[-1] == {"programs": 2, "failed": 1, "seconds": 40.8}
