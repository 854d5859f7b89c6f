"""A run in words: the lines of a log, the rows before and after it, and JSON for programs."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from run_events import (
    START,
    as_json,
    before_tuning,
    candidate,
    digest,
    key,
    one_round,
    plain,
    prepared,
    rollout,
    round_end,
    run,
    state,
    the_end,
    tuned,
    tuning_state,
    usage,
    watched,
)  # fmt: skip

from promptpo.common import text
from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.tuning import Standpoint, TuningAccount
from promptpo.types import Episode, Preparation, Rollout
from promptpo.ui.plain import PlainView, closing, opening

GOLDEN = """\
task         reach: Reach a goal
model        openai/gpt-5
search       5 rounds of 4 candidates, 5 episodes or more each; seed 0
score        50 held-out episodes
sandbox      reduced isolation, without Landlock
folder       FOLDER

   0:03  the Feedback class is written
   0:10  r01_c01  success   0/2  return       700      1,000 steps
   0:10  r01_c02  failed: ValueError: no xxx
   0:10  r01_c03  success   2/2  return     2,100      1,000 steps
   0:10  r01_c04  success   2/2  return     2,800      1,000 steps
   0:10  round 1 of 5: r01_c04 wins, success 0.60, return 3,305.9 (best so far)
   0:15  round 2 of 5: r02_c01 wins, success 0.60, return 3,305.9; best so far r01_c04, \
success 0.60, return 3,305.9
   0:20  the winners of the rounds meet again: r01_c04, r02_c01
   0:21  r01_c04  selection success   4/4  return     3,000      2,000 steps
   0:22  r01_c04 is chosen
   0:22  held-out episodes of r01_c04
   0:30  r01_c04  held-out success 48/50  return     2,900     25,000 steps

best policy  FOLDER/best/policy.py  (r01_c04)
held-out     success 0.96, 95% interval 0.87 to 0.99 (48 of 50 episodes)
             mean return 2,900, 95% interval LOW to HIGH
compare      success: random 0.01, expert 1.00
             return: random 798.2, expert 4,839
cost         12 calls, 34,120 + 8,200 tokens, $0.12
env steps    search 42,500, selection 2,000, test 25,000
ended        all rounds are done
"""


def test_the_lines_of_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "policy.py").touch()
    second = round_end(2, "r02_c01", "r01_c04", 15)
    lines = "\n".join([*plain(*one_round(tmp_path), second, *the_end(tmp_path)), ""])
    lines = re.sub("x{9,}[.]*", "xxx", lines.replace(str(tmp_path), "FOLDER"))
    assert re.sub(r"(return 2,900.*) [\d,.]+ to [\d,.]+", r"\1 LOW to HIGH", lines) == GOLDEN


def test_the_opening_tells_how_many_episodes_are_played_and_what_is_tuned() -> None:
    for episodes, words in (("auto", "5 episodes or more"), (1, "1 episode"), (7, "7 episodes")):
        rows = dict(opening(watched(run("runs/x", episodes=episodes))))
        assert rows["search"] == f"5 rounds of 4 candidates, {words} each; seed 0"
    words = "30,000 environment steps; declared constants, else all; seed 0"
    assert dict(opening(watched(*before_tuning())))["tuning"] == words


def test_a_file_that_is_tuned_is_called_a_policy_and_costs_nothing() -> None:
    given = watched(run("runs/x", model="file:/else/where/pole.py", tune=True), usage(1))
    rows = dict(opening(given))
    assert rows["policy"] == "/else/where/pole.py"
    assert not {"model", "search"} & rows.keys()
    assert "cost" not in dict(closing(given))


def test_the_cost_says_what_is_unknown_cached_or_replayed() -> None:
    def cost(model: str = "openai/gpt-5", **data: object) -> str:
        return dict(closing(watched(run("runs/x", model=model), usage(1, **data))))["cost"]

    assert cost(cost=None) == "12 calls, 34,120 + 8,200 tokens, cost unknown"
    assert cost(cached_tokens=20_000) == "12 calls, 34,120 (20,000 cached) + 8,200 tokens, $0.12"
    unknown = cost(cost=None, prompt_tokens=None, completion_tokens=None)
    assert unknown == "12 calls, tokens unknown, cost unknown"
    assert cost(model="recorded", cost=0.0) == "12 replies replayed, no tokens, $0.00"


def test_a_run_that_did_not_finish_can_be_resumed() -> None:
    for status, more in (
        ("interrupted", ""),
        ("failed", ""),
        ("stopped", "  (with a higher limit)"),
    ):
        data = {"status": status, "reason": "no answer", "best": None, "score": None}
        rows = dict(closing(watched(*one_round("runs/x"), Event("finished", data, START + 11))))
        assert rows["resume"].endswith(f"promptpo --resume runs/x{more}")
        assert rows["ended"] == "no answer"
        assert rows["best policy"] == "not written yet  (r01_c04)"
    stream = io.StringIO()
    with pytest.raises(RuntimeError), PlainView(stream) as view:
        view(run("runs/x"))
        raise RuntimeError  # without any last event
    assert "--resume runs/x" in stream.getvalue()
    assert plain() == []


def test_a_round_of_failures() -> None:
    data = {"round": 1, "winner": "r01_c01", "score": None, "notes": []}
    data["best"] = {"name": "r01_c01", "score": None}
    lines = plain(run("runs/x"), Event("round", data, START + 5))
    assert "   0:05  round 1 of 5: every candidate failed" in lines
    assert any(line.startswith("best policy  none") for line in lines)


def test_a_failed_feedback_class_is_told() -> None:
    data = {"key": key("", 1, 1), "digest": "a", "texts": [], "error": "KeyError: 'x'"}
    for by, more in (("model", ""), ("built-in", "; the built-in summary takes over")):
        lines = plain(run("runs/x"), Event("feedback", {**data, "by": by}, START + 5))
        assert f"   0:05  the Feedback class failed: KeyError: 'x'{more}" in lines


def test_a_policy_that_another_has_played_has_its_line_too() -> None:
    events = [rollout(1, 1, [500.0], 5), candidate(1, 2, 6, of=digest(1, 1))]
    lines = plain(run("runs/x"), *events)
    shown = "   0:06  r01_c02  success   0/1  return       500        500 steps: the same policy as"
    assert f"{shown} r01_c01" in lines


def test_a_search_without_a_model_speaks_of_none() -> None:
    begun = run("runs/x", model=None, method="random-search")
    search = watched(begun, rollout(1, 1, [500.0], 5), usage(6, calls=0, cost=0.0))
    rows = dict(opening(search))
    assert rows["method"] == "random-search"
    assert not {"model", "cost"} & {*rows, *dict(closing(search))}


def test_finalists_that_are_no_winners_are_not_called_so() -> None:
    names = ["r01_c01", "r01_c02"]
    meet = Event("state", {"state": "selecting", "finalists": names}, START + 20, True)
    assert "   0:20  the finalists meet: r01_c01, r01_c02" in plain(*one_round("runs/x"), meet)


def played(round_: int, index: int, seeds: tuple[int, ...], name: str, attempt: int = 0) -> Event:
    """A candidate has played these search episodes."""
    episodes = tuple(Episode(seed, 9.0, 10) for seed in seeds)
    data = {"key": key("", round_, index, attempt), "digest": name}
    return Event("rollout", {**data, **encode(Rollout("search", seeds, episodes, 20))}, START + 1)


def test_episodes_beyond_the_first_say_what_for() -> None:
    begun = (played(1, 1, (1, 2), "search 1 1"), candidate(1, 1, 2))
    cases = [
        (begun, ""),
        ((played(0, 1, (90, 91), "a"),), "(without a policy)"),
        ((*begun, state(2, 1, "asked", 3), played(1, 1, (3, 4), "b")),
         "(again, on round 2's episodes)"),
        ((*begun, played(1, 1, (3, 4), "b")), "(more episodes, to tell it from the best)"),
        ((played(2, 1, (3, 4), "a"), played(2, 1, (1,), "b")),
         "(episodes in which the best had failed)"),
        ((*begun, played(1, 1, (1, 2), "b", attempt=1)), ""),
    ]  # fmt: skip
    for events, words in cases:
        lines = [x for x in plain(run("runs/x"), *events) if " return " in x and "steps" in x]
        assert lines[-1].partition("steps")[2].strip() == words
    for seeds in ((3, 4), (3,)):  # the first episodes stay those of the candidate
        trials = watched(*begun[:1], played(1, 1, seeds, "b")).trials
        assert trials["r01_c01"].played.seeds == (1, 2)


DONE = Preparation("d1", "v1", "residual 0.1", 12.3, episodes=34, transitions=12_345)
FAILED = replace(DONE, digest="d2", values=None, seconds=28.5, error="line 3: no", output="")


def test_what_is_prepared_has_a_line_a_row_and_an_account() -> None:
    begun = run("runs/x", candidates=2, rounds=1)
    events = [begun, prepared(1, 1, DONE), rollout(1, 1, [9.0], 2), candidate(1, 1, 2)]
    events.append(prepared(2, 3, FAILED))
    (line,) = [x for x in plain(*events) if "prepared" in x]
    assert line.endswith("r01_c01  prepared in 12.3 s on 34 episodes, 12,345 transitions")
    again = prepared(1, 4, DONE, transient=True)
    rows = dict(closing(watched(*events, again, usage(5))))
    assert rows["prepare"] == "2 candidates, 40.8 s of computing"  # each counts once
    assert "prepare" not in dict(closing(watched(begun, usage(5))))
    accounts = [status["prepared"] for status in as_json(*events)]
    assert accounts[0] is None
    assert accounts[-1] == {"programs": 2, "failed": 1, "seconds": 40.8}


BEFORE = Standpoint(30_000, 9.1, 0.2, None, 20)
ACCOUNT = TuningAccount(
    kept=True, constants=(), history=(), steps=30_000, samples=99, final=20, before=BEFORE,
    after=replace(BEFORE, mean_return=500.0), difference=490.9, difference_error=0.25,
)  # fmt: skip


QUIET = """
import sys, time
sys.path.insert(0, sys.argv[1])
from run_events import one_round
from promptpo.common.terminal import Status
from promptpo.ui import open_view
Status.pause, Status.silence = 0.05, 0.3
with open_view() as view:
    first, asked, *_ = one_round("runs/x")
    view(first)
    view(asked)
    time.sleep(0.8)
"""


def test_a_log_says_what_is_waited_for_where_nothing_happens() -> None:
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", QUIET, here], capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if "waiting" in line]
    assert 1 <= len(lines) <= 3
    assert re.fullmatch(r" *[\d:]+  waiting for 1 reply of openai/gpt-5, [\d:]+", lines[0])


def test_the_end_of_a_tuning_has_one_line() -> None:
    rates = replace(BEFORE, success_rate=0.1)
    cases = {
        "kept: return 9.1 to 500, +490.9 ± 0.25 (20 episodes)": ACCOUNT,
        "not kept, no better beyond noise: return 9.1 to 500, -0.5 ± 0.25 (20 episodes)":
            replace(ACCOUNT, kept=False, difference=-0.5),
        "open, so its estimate counts: return 9.1 to 500, +490.9 ± 0.25 (20 episodes)":
            replace(ACCOUNT, kept=False, open=True),
        "not changed: nothing better was found in 30,000 steps":
            replace(ACCOUNT, kept=False, before=None, after=None),
        "kept: failed to return 500 (20 episodes)":
            replace(ACCOUNT, before=replace(BEFORE, mean_return=None), difference=None),
        "kept: success 0.10 to 0.10, return 9.1 to 9.1 (20 episodes)":
            replace(ACCOUNT, before=rates, after=rates, difference=None),
    }  # fmt: skip
    for words, account in cases.items():
        assert f"   0:50  r01_c01  tuning {words}" in plain(*before_tuning(), tuned(50, account))


def test_json_tells_of_the_tuning_under_way() -> None:
    *_, during, after = as_json(*before_tuning(), tuning_state(12_000, 9), tuned(50, ACCOUNT))
    assert (during["state"], during["tuning"]) == ("round 1 of 1, tuning", {
        "name": "r01_c01", "steps": 12_000, "budget": 30_000, "mean_return": 480.0,
        "success_rate": None, "seconds_left": 40.0,
    })  # fmt: skip
    assert (after["state"], after["tuning"]) == ("round 1 of 1", None)


def test_json_tells_the_status_whenever_it_changes() -> None:
    states = as_json(*one_round("runs/x"), *the_end("runs/x"))
    assert list(dict.fromkeys(status["state"] for status in states)) == [
        "starting", "first prompt", "round 1 of 5", "selection", "held-out test", "finished",
    ]  # fmt: skip
    last = states[-1]
    assert (last["folder"], last["status"], last["reason"]) == (
        "runs/x", "finished", "all rounds are done",
    )  # fmt: skip
    assert (last["steps"], last["search_steps"], last["calls"]) == (69_500, 42_500, 12)
    assert last["held_out"]["success_rate"] == 0.96
    notice = Event("notice", {"text": "something"}, START, transient=True)
    assert {"notice": "something"} in as_json(run("runs/x"), notice)


def test_numbers_durations_and_money() -> None:
    numbers = {
        0.0: "0", 500.0: "500", 974.91: "974.9", 4868.04: "4,868.0", -123456.7: "-123,457",
        0.042134: "0.04213", float("-inf"): "-inf",
    }  # fmt: skip
    assert {value: text.number(value) for value in numbers} == numbers
    assert text.number(float("nan")) == "nan"
    durations = {0: "0:00", 59.9: "0:59", 61: "1:01", 3723: "1:02:03", -1: "0:00"}
    assert {value: text.duration(value) for value in durations} == durations
    costs = {None: "cost unknown", 0.0: "$0.00", 0.0042: "$0.0042", 0.1: "$0.10", 12.345: "$12.35"}
    assert {value: text.money(value) for value in costs} == costs
