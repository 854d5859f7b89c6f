"""The live view: what it draws, and what it writes to a terminal."""

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
    before_tuning,
    one_round,
    rollout,
    round_end,
    run,
    state,
    the_end,
    tuned,
    tuning_state,
    watched,
)  # fmt: skip
from test_lines import ACCOUNT

import promptpo
from promptpo.store.events import Event
from promptpo.ui.live import kept_line, picture
from promptpo.ui.progress import WatchedRun, activity

ROOT = Path(promptpo.__file__).parents[1]


def drawn(run_: WatchedRun, width: int = 80, height: int = 24, after: float = 12.0) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, force_terminal=False)
    console.print(picture(run_, START + after, height))
    return stream.getvalue()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (60, 15)])
def test_the_picture_fits_the_terminal(width: int, height: int) -> None:
    for candidates in (1, 4, 10, 50):
        events = list(one_round("runs/x", candidates=max(candidates, 4)))[:-1]
        lines = drawn(watched(*events), width, height).splitlines()
        assert len(lines) < height
        assert max(map(len, lines)) <= width


def test_the_picture_shows_states_scores_and_costs() -> None:
    shown = drawn(watched(*list(one_round("runs/x"))[:-1]))
    assert re.search(r"round 1 of 5 .* 0:12", shown)
    assert re.search(r"r01_c01 +✓ scored +0/2 +700 +1,000", shown)
    assert re.search(r"r01_c02 +✗ failed .*ValueError: no x+…", shown)
    assert "best so far  r01_c04, success 1.00, return 2,800" in shown
    assert "12 calls, 34,120 + 8,200 tokens, $0.12" in shown
    assert "search 42,500" in shown


def test_what_is_going_on_is_said_at_any_moment() -> None:
    opening = Event("opening", {"text": "starting the workers"}, START - 2, transient=True)
    assert activity(watched(opening), START) == "starting the workers, 0:02"
    events = [*one_round("runs/x"), *the_end("runs/x")]
    moments = range(len(events))
    said = dict.fromkeys(activity(watched(opening, *events[:i]), START + 9) for i in moments)
    waiting = [f"waiting for {n} replies of openai/gpt-5, 0:05" for n in (4, 3)]
    for words in (
        "waiting for 1 reply of openai/gpt-5, 0:08", *waiting, f"{waiting[1]}; playing r01_c01",
        "playing r01_c04", "playing selection episodes", "playing held-out episodes",
    ):  # fmt: skip
        assert words in said, said
    assert activity(watched(*events), START + 40) == ""
    manual = watched(run("runs/x", model="manual"), *events[1:2])
    assert activity(manual) == "waiting for r00_feedback.reply.md in runs/x/prompts"
    assert "now          waiting for 4 replies" in drawn(watched(*events[:11]))


def test_time_left_follows_the_rounds_so_far() -> None:
    going = watched(*one_round("runs/x"), state(2, 1, "asked", 11))
    assert going.seconds_left(START + 12) == 4 * 6 - 1  # rounds of 6 s, the second 1 s old
    assert watched(run("runs/x")).seconds_left(START + 2) is None
    end = round_end(1, "r01_c01", "r01_c01", 0.1)
    repeated = Event(end.type, end.data, end.time, transient=True)  # by a resumed run
    resumed = watched(run("runs/x"), repeated, state(2, 1, "asked", 0.2))
    assert resumed.seconds_left(START + 1) is None
    assert resumed.best_name == "r01_c01"


def test_selection_and_test_have_their_title() -> None:
    second = round_end(2, "r02_c01", "r01_c04", 15)
    events = [*one_round("runs/x"), second, *the_end("runs/x")]
    chosen = next(i for i, e in enumerate(events) if e.type == "selection")
    assert "choosing among 2 winners: 1 played" in drawn(watched(*events[:chosen]))
    assert "50 held-out episodes of r01_c04" in drawn(watched(*events[: chosen + 2]))


def test_the_best_so_far_stays_over_rounds() -> None:
    second = round_end(2, "r02_c01", "r01_c04", 13, rate=0.5)
    run_ = watched(*one_round("runs/x"), rollout(2, 1, [1.0], 12), second)
    assert "best so far  r01_c04" in drawn(run_)


def test_the_picture_follows_a_tuning_until_its_end() -> None:
    for width in (80, 120):
        shown = drawn(watched(*before_tuning(), tuning_state(12_000, 9)), width)
        assert "tuning r01_c01" in shown
        assert "0:12, about 0:37 left for r01_c01" in shown
        assert "r01_c01: 12,000 of 30,000 steps, return 480" in shown
        assert max(map(len, shown.splitlines())) <= width
    done = watched(*before_tuning(), tuning_state(12_000, 9), tuned(50, ACCOUNT))
    assert "tuning" not in drawn(done, 100)
    assert done.settled == 1
    line = kept_line(tuned(50, ACCOUNT), done)
    assert line.plain.startswith("   0:50  r01_c01  tuning kept: ")


SHOW = """
import sys, time
sys.path[:0] = [sys.argv[1], sys.argv[2]]
from run_events import Event, one_round, the_end
from promptpo.ui import open_view
with open_view() as view:
    view(Event("opening", {"text": "starting the workers"}, time.time(), transient=True))
    time.sleep(1)
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
    assert written.index("\rstarting the workers, ") < written.index("reach: Reach a goal")
    seen = re.sub(r"\x1b\[[?\d;]*[a-zA-Z]", "", written)
    assert "success 0.96, 95% interval 0.87 to 0.99 (48 of 50 episodes)" in seen
    assert seen.rstrip().endswith("all rounds are done")
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h") == 1  # the cursor comes back


def test_no_color_and_dumb_terminals_are_honoured() -> None:
    assert not COLOUR.search(on_a_terminal(NO_COLOR="1"))
    written = on_a_terminal(TERM="dumb")
    assert "\x1b" not in written
    assert "   0:10  r01_c01  success   0/2" in written
