"""The views on the events of a run: lines, picture, closing summary."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console
from run_events import (
    START,
    candidate,
    digest,
    key,
    one_round,
    rollout,
    round_end,
    run,
    state,
    the_end,
    usage,
)  # fmt: skip

import promptpo
from promptpo.common import text
from promptpo.store.events import Event
from promptpo.ui import open_view, summary
from promptpo.ui.live import picture
from promptpo.ui.plain import PlainView
from promptpo.ui.progress import Progress

ROOT = Path(promptpo.__file__).parents[1]


def plain(*events: Event) -> list[str]:
    stream = io.StringIO()
    with PlainView(stream) as view:
        for event in events:
            view(event)
    return stream.getvalue().splitlines()


def drawn(progress: Progress, width: int, height: int, after: float = 12.0) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, force_terminal=False)
    console.print(picture(progress, START + after, height))
    return stream.getvalue().splitlines()


def progress_of(*events: Event) -> Progress:
    progress = Progress()
    for event in events:
        progress.apply(event)
    return progress


def test_plain_lines_of_a_round() -> None:
    lines = plain(*one_round("runs/x"))
    assert "   0:10  r01_c01  success   0/2  return       700      1,000 steps" in lines
    assert "   0:10  r01_c04  success   2/2  return     2,800      1,000 steps" in lines
    assert any(line.startswith("   0:10  r01_c02  failed: ValueError: no x") for line in lines)
    assert lines.count("   0:03  the Feedback class is written") == 1
    winner = "round 1 of 5: r01_c04 wins, success 0.60, return 3,305.9 (best so far)"
    assert f"   0:10  {winner}" in lines


@pytest.mark.parametrize(
    ("episodes", "words"),
    [("auto", "5 episodes or more"), (1, "1 episode"), (7, "7 episodes")],
)
def test_the_opening_tells_how_many_episodes_are_played(episodes: int | str, words: str) -> None:
    lines = plain(run("runs/x", episodes=episodes))
    assert f"search       5 rounds of 4 candidates, {words} each; seed 0" in lines


def test_the_opening_tells_what_is_missing_of_the_sandbox() -> None:
    lines = plain(run("runs/x"))
    assert "sandbox      reduced isolation, without Landlock" in lines
    assert "search       5 rounds of 4 candidates, 5 episodes or more each; seed 0" in lines
    assert "model        openai/gpt-5" in lines


def test_the_closing_summary_of_a_whole_run(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "policy.py").touch()
    lines = plain(*one_round(tmp_path), *the_end(tmp_path))
    assert lines[-8:-6] == [
        f"best policy  {tmp_path}/best/policy.py  (r01_c04)",
        "held-out     success 0.96, 95% interval 0.87 to 0.99 (48 of 50 episodes)",
    ]
    assert re.fullmatch(r" {13}mean return 2,900, 95% interval [\d,.]+ to [\d,.]+", lines[-6])
    assert lines[-5:] == [
        "compare      success: random 0.01, expert 1.00",
        "             return: random 798.2, expert 4,839",
        "cost         12 calls, 34,120 + 8,200 tokens, $0.12",
        "env steps    search 42,500, selection 2,000, test 25,000",
        "ended        all rounds are done",
    ]


def closing(*events: Event) -> dict[str, str]:
    return dict(summary.closing(progress_of(*events)))


def test_an_unknown_price_is_not_called_nothing() -> None:
    rows = closing(run("runs/x"), usage(1, cost=None))
    assert rows["cost"] == "12 calls, 34,120 + 8,200 tokens, cost unknown"


def test_tokens_from_a_cache_are_told() -> None:
    cached = closing(run("runs/x"), usage(1, cached_tokens=20_000))["cost"]
    assert cached == "12 calls, 34,120 (20,000 cached) + 8,200 tokens, $0.12"


def test_tokens_that_nobody_counted_are_unknown() -> None:
    nothing = usage(1, cost=None, prompt_tokens=None, completion_tokens=None)
    assert closing(run("runs/x"), nothing)["cost"] == "12 calls, tokens unknown, cost unknown"


def test_a_replay_costs_nothing_and_says_so() -> None:
    rows = closing(run("runs/x", model="recorded"), usage(1, cost=0.0))
    assert rows["cost"] == "12 replies replayed, no tokens, $0.00"


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_a_run_that_did_not_finish_can_be_resumed(status: str) -> None:
    data = {"status": status, "reason": "no answer", "best": None, "score": None}
    rows = closing(*one_round("runs/x"), Event("finished", data, START + 11))
    assert rows["resume"].endswith("promptpo --resume runs/x")
    assert rows["ended"] == "no answer"
    assert rows["best policy"] == "not written yet  (r01_c04)"


def test_an_error_without_any_last_event_still_says_how_to_resume() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError), PlainView(stream) as view:
        view(run("runs/x"))
        raise RuntimeError
    assert "--resume runs/x" in stream.getvalue()


def test_nothing_is_said_of_a_run_that_never_began() -> None:
    assert plain() == []


def test_a_finished_run_is_not_resumed() -> None:
    assert "resume" not in closing(*one_round("runs/x"), *the_end("runs/x"))


def test_a_round_of_failures() -> None:
    data = {"round": 1, "winner": "r01_c01", "score": None, "notes": []}
    data["best"] = {"name": "r01_c01", "score": None}
    lines = plain(run("runs/x"), Event("round", data, START + 5))
    assert "   0:05  round 1 of 5: every candidate failed" in lines
    assert any(line.startswith("best policy  none") for line in lines)


def test_a_failed_feedback_class_is_told() -> None:
    data = {
        "key": key("", 1, 1),
        "digest": "a",
        "texts": [],
        "by": "model",
        "error": "KeyError: 'x'",
    }
    lines = plain(run("runs/x"), Event("feedback", data, START + 5))
    assert "   0:05  the Feedback class failed: KeyError: 'x'" in lines


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 15)])
@pytest.mark.parametrize("candidates", [1, 4, 10, 50])
def test_the_picture_fits_the_terminal(width: int, height: int, candidates: int) -> None:
    events = list(one_round("runs/x", candidates=max(candidates, 4)))[:-1]
    lines = drawn(progress_of(*events), width, height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width


def test_the_picture_shows_states_scores_and_costs() -> None:
    events = list(one_round("runs/x"))[:-1]
    shown = "\n".join(drawn(progress_of(*events), 80, 24))
    assert re.search(r"round 1 of 5 .* 0:12", shown)
    assert re.search(r"r01_c01 +✓ scored +0/2 +700 +1,000", shown)
    assert re.search(r"r01_c02 +✗ failed .*ValueError: no x+…", shown)
    assert "best so far  none yet" in shown
    assert "12 calls, 34,120 + 8,200 tokens, $0.12" in shown
    assert "search 42,500" in shown


def test_calls_in_flight_are_counted_until_their_reply() -> None:
    events = list(one_round("runs/x"))
    asked = next(i for i, e in enumerate(events) if e.type == "reply" and e.data["key"]["round"])
    assert "4 calls in flight" in "\n".join(drawn(progress_of(*events[:asked]), 80, 24))
    assert "in flight" not in "\n".join(drawn(progress_of(*events), 80, 24))


def test_time_left_follows_the_rounds_so_far() -> None:
    progress = progress_of(*one_round("runs/x"), state(2, 1, "asked", 11))
    assert progress.seconds_left(START + 12) == 4 * 6 - 1  # rounds of 6 s, the second 1 s old
    assert progress_of(run("runs/x")).seconds_left(START + 2) is None


def test_rounds_that_a_resumed_run_repeats_say_nothing_of_time() -> None:
    end = round_end(1, "r01_c01", "r01_c01", 0.1)
    repeated = Event(end.type, end.data, end.time, transient=True)
    progress = progress_of(run("runs/x"), repeated, state(2, 1, "asked", 0.2))
    assert progress.seconds_left(START + 1) is None
    assert progress.record.best_name == "r01_c01"


def test_selection_and_test_have_their_title() -> None:
    second = round_end(2, "r02_c01", "r01_c04", 15)
    events = [*one_round("runs/x"), second, *the_end("runs/x")]
    chosen = next(i for i, e in enumerate(events) if e.type == "selection")
    assert "choosing among 2 winners: 1 played" in "\n".join(
        drawn(progress_of(*events[:chosen]), 80, 24)
    )
    assert "50 held-out episodes of r01_c04" in "\n".join(
        drawn(progress_of(*events[: chosen + 2]), 80, 24)
    )


def test_the_best_so_far_stays_over_rounds() -> None:
    progress = progress_of(
        *one_round("runs/x"),
        rollout(2, 1, [1.0], 12),
        round_end(2, "r02_c01", "r01_c04", 13, rate=0.5),
    )
    assert "best so far  r01_c04" in "\n".join(drawn(progress, 80, 24))


def test_a_policy_that_another_has_played_has_its_line_too() -> None:
    events = [rollout(1, 1, [500.0], 5), candidate(1, 2, 6, of=digest(1, 1))]
    lines = plain(run("runs/x"), *events)
    shown = "   0:06  r01_c02  success   0/1  return       500        500 steps: the same policy as"
    assert f"{shown} r01_c01" in lines


def test_a_search_without_a_model_speaks_of_none() -> None:
    begun = run("runs/x", model=None, method="random-search")
    events = [rollout(1, 1, [500.0], 5), candidate(1, 1, 5), usage(6, calls=0, cost=0.0)]
    rows = dict(summary.opening(progress_of(begun)))
    assert rows["method"] == "random-search"
    assert not {"model", "cost"} & {*rows, *closing(begun, *events)}
    shown = "\n".join(drawn(progress_of(begun, *events), 80, 24))
    assert "r01_c01" in shown
    assert not re.search("model|call|\\$", shown)


def test_finalists_that_are_no_winners_are_not_called_so() -> None:
    names = ["r01_c01", "r01_c02"]
    meet = Event("state", {"state": "selecting", "finalists": names}, START + 20, True)
    assert "   0:20  the finalists meet: r01_c01, r01_c02" in plain(*one_round("runs/x"), meet)


def test_plain_lines_where_there_is_no_terminal() -> None:
    assert isinstance(open_view(io.StringIO()), PlainView)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0"),
        (500.0, "500"),
        (974.91, "974.9"),
        (4868.04, "4,868.0"),
        (-123456.7, "-123,457"),
        (0.042134, "0.04213"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
    ],
)
def test_numbers(value: float, words: str) -> None:
    assert text.number(value) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3723, "1:02:03"), (-1, "0:00")],
)
def test_durations(seconds: float, words: str) -> None:
    assert text.duration(seconds) == words


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        (None, "cost unknown"),
        (0.0, "$0.00"),
        (0.0042, "$0.0042"),
        (0.1, "$0.10"),
        (12.345, "$12.35"),
    ],
)
def test_money(cost: float | None, words: str) -> None:
    assert text.money(cost) == words


SHOW = """
import sys, time
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from run_events import one_round, the_end
from promptpo.ui import open_view
with open_view() as view:
    for event in one_round("runs/x"):
        view(event)
        if event.data.get("state") == "rolling out":
            time.sleep(0.25)
    for event in the_end("runs/x"):
        view(event)
"""


def on_a_terminal(**env: str) -> str:
    """What the live view writes to a real terminal of 80 x 24."""
    master, slave = pty.openpty()
    argv = [sys.executable, "-c", SHOW, str(ROOT), str(Path(__file__).parent)]
    base = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    base |= {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **env}
    process = subprocess.Popen(argv, stdout=slave, stderr=slave, stdin=slave, env=base)
    os.close(slave)
    written = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                written += os.read(master, 65536)
            except OSError:
                break
    os.close(master)
    assert process.wait(timeout=10) == 0
    return written.decode()


COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-9](?:;\d+)*m")


def test_the_live_view_on_a_terminal() -> None:
    written = on_a_terminal()
    assert "rolling out" in written
    assert COLOUR.search(written)
    seen = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", written)
    assert "success 0.96, 95% interval 0.87 to 0.99 (48 of 50 episodes)" in seen
    assert seen.rstrip().endswith("all rounds are done")
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor comes back


def test_no_color_is_honoured() -> None:
    assert not COLOUR.search(on_a_terminal(NO_COLOR="1"))


def test_a_dumb_terminal_gets_plain_lines() -> None:
    written = on_a_terminal(TERM="dumb")
    assert "\x1b" not in written
    assert "   0:10  r01_c01  success   0/2" in written
