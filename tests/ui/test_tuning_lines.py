"""What views show of candidates whose constants are tuned."""

import io
import json
from dataclasses import replace

from rich.console import Console
from run_events import START, candidate, key, rollout, run, state

from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.tuning import Standpoint, TuningAccount
from promptpo.ui import summary
from promptpo.ui.live import kept_lines, picture
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress
from promptpo.ui.status import JsonView

BEFORE = Standpoint(30_000, 9.1, 0.2, None, 20)
AFTER = replace(BEFORE, mean_return=500.0)
ACCOUNT = TuningAccount(
    kept=True, constants=(), history=(), steps=30_000, samples=99, final=20, before=BEFORE,
    after=AFTER, difference=490.9, difference_error=0.25,
)  # fmt: skip


def tuning_state(steps, time, mean=480.0, budget=30_000, candidate_=1):
    score = {"mean_return": mean, "success_rate": None, "failed": False}
    data = {"name": f"r01_c0{candidate_}", "steps": steps, "budget": budget, "score": score}
    more = {"generations": 1, "constants": 4, "seconds_left": 40.0}
    return Event("tuning_state", {**data, **more}, START + time, transient=True)


def tuned(time, account=ACCOUNT):
    data = {"key": key("", 1, 1), "budget": 30_000, **encode(account)}
    return Event("tuned", data, START + time)


def begun():
    yield run("runs/x", candidates=1, rounds=1, tune=True, tune_steps=30_000)
    yield rollout(1, 1, [9.0, 9.0], 2)
    yield candidate(1, 1, 2)
    yield state(1, 1, "tuning", 3)


def lines(*events):
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in [*begun(), *events]:
            view(event)
    return [line for line in stream.getvalue().splitlines() if "tuning" in line[:24]]


def progress_of(*events):
    progress = Progress()
    for event in [*begun(), *events]:
        progress.apply(event)
    return progress


def drawn(progress, width, after=12.0):
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=24, force_terminal=False)
    console.print(picture(progress, START + after, 24))
    return stream.getvalue().splitlines()


def test_a_log_has_a_line_of_a_tuning_now_and_then_only():
    every = [tuning_state(100 * i, 3 + 0.1 * i) for i in range(300)]
    told = lines(*every)[1:]
    assert told == [
        "   0:13  r01_c01  tuning: 10,000 of 30,000 steps, return 480, about 0:40 left",
        "   0:23  r01_c01  tuning: 20,000 of 30,000 steps, return 480, about 0:40 left",
    ]


def test_a_slow_tuning_has_a_line_each_tenth_of_its_steps():
    told = lines(*(tuning_state(100 * i, 3 + 5 * i) for i in range(300)))[2:]
    assert [line.split()[3] for line in told] == [f"{n},200" for n in range(3, 28, 3)]


def test_the_end_of_a_tuning_has_one_line():
    words = "kept: return 9.1 to 500, +490.9 ± 0.25 (20 episodes)"
    assert lines(tuned(50))[1:] == [f"   0:50  r01_c01  tuning {words}"]


def test_values_that_did_not_hold_are_not_kept():
    [_, line] = lines(tuned(50, replace(ACCOUNT, kept=False, difference=-0.5)))
    assert "not kept, no better beyond noise: return 9.1 to 500, -0.5 ± 0.25 (20" in line


def test_a_tuning_that_found_nothing_says_so():
    [_, line] = lines(tuned(50, replace(ACCOUNT, kept=False, before=None, after=None)))
    assert line.endswith("tuning not changed: nothing better was found in 30,000 steps")


def test_the_opening_tells_what_is_tuned():
    rows = dict(summary.opening(progress_of()))
    assert rows["tuning"] == "30,000 environment steps; declared constants, else all; seed 0"


def test_a_file_that_is_tuned_is_called_a_policy_and_costs_nothing():
    progress = Progress()
    progress.apply(run("runs/x", model="file:/else/where/pole.py", tune=True))
    opening = dict(summary.opening(progress))
    assert opening["policy"] == "/else/where/pole.py"
    assert not {"model", "search"} & opening.keys()
    assert "cost" not in dict(summary.closing(progress))


def test_the_picture_follows_a_tuning():
    for width in (80, 120):
        text = "\n".join(drawn(progress_of(tuning_state(12_000, 9)), width))
        assert "tuning r01_c01" in text
        assert "0:12, about 0:37 left for r01_c01" in text
        assert "r01_c01: 12,000 of 30,000 steps, return 480" in text
        assert max(map(len, text.splitlines())) <= width


def test_once_a_tuning_has_ended_the_picture_shows_it_no_more():
    progress = progress_of(tuning_state(12_000, 9), tuned(50))
    assert "tuning" not in "\n".join(drawn(progress, 100))
    assert progress.settled == 1
    [line] = kept_lines(tuned(50), progress)
    assert line.plain.startswith("   0:50  r01_c01  tuning kept: ")


def test_programs_are_told_of_the_tuning_under_way():
    stream = io.StringIO()
    with JsonView(stream) as view:
        for event in [*begun(), tuning_state(12_000, 9), tuned(50)]:
            view(event)
    *_, during, after = map(json.loads, stream.getvalue().splitlines())
    assert (during["state"], during["tuning"]) == ("round 1 of 1, tuning", {
        "name": "r01_c01", "steps": 12_000, "budget": 30_000, "mean_return": 480.0,
        "success_rate": None, "seconds_left": 40.0,
    })  # fmt: skip
    assert (after["state"], after["tuning"]) == ("round 1 of 1", None)
