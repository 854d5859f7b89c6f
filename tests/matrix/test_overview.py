"""How a sweep looks: a line a run, on any terminal; plain lines elsewhere."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from promptpo.matrix.overview import (
    LiveOverview,
    PlainOverview,
    counts,
    open_overview,
    row,
    states,
    table,
)
from promptpo.matrix.plan import PlannedRun
from promptpo.ui.status import RunStatus

REACH = PlannedRun("metaworld_reach", "metaworld_reach", 12)
NIM = PlannedRun("nim", "nim", 0)
GOING = RunStatus(
    status="running", state="round 12 of 100", steps=12_345_678, cost=12.345,
    best={"mean_return": 4872.4, "success_rate": 0.85},
)  # fmt: skip
FAILED = RunStatus(status="failed", state="failed", reason="no key", cost=None)


class Screen(io.StringIO):
    """A terminal that keeps what is written."""

    encoding = "utf-8"

    def isatty(self):
        return True

    def lines(self):
        """Without the codes that move and colour."""
        return (
            re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", self.getvalue()).replace("\r", "\n").split("\n")
        )


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "12")


def test_a_run_is_a_row_that_fits_into_80_columns():
    assert row(REACH, GOING) == (
        "metaworld_reach seed 12", "round 12 of 100", "success 0.85", "12,345,678", "$12.35"
    )  # fmt: skip
    assert row(NIM, None) == ("nim seed 0", "waiting", "", "", "")
    assert row(NIM, FAILED) == ("nim seed 0", "failed", "", "", "unknown")
    every = dict(enumerate([GOING, None, GOING, FAILED]))
    assert counts(states(every)) == "4 runs: 1 failed, 2 running, 1 waiting"
    screen = Screen()
    with LiveOverview({REACH: GOING, NIM: None}, screen):
        pass
    lines = screen.lines()
    assert any("12,345,678" in line and line.rstrip().endswith("$12.35") for line in lines)
    assert max(map(len, lines)) <= 80


def test_on_a_low_terminal_running_and_failed_runs_are_drawn_and_in_the_end_all():
    many = {PlannedRun("nim", "nim", seed): None for seed in range(40)}
    many[PlannedRun("nim", "nim", 30)] = GOING
    many[PlannedRun("nim", "nim", 35)] = FAILED
    out = io.StringIO()
    Console(file=out, width=80).print(table(many, 7))
    assert len(out.getvalue().splitlines()) == 8
    assert all(words in out.getvalue() for words in ("nim seed 30", "nim seed 35", "34 more"))
    screen = Screen()
    with LiveOverview(many, screen):
        before = len(screen.getvalue())
    assert all(f"nim seed {seed} " in screen.getvalue()[before:] for seed in range(40))


def test_plain_lines_say_each_state_once_and_quick_rounds_now_and_then():
    stream = io.StringIO()
    with open_overview({NIM: None, REACH: None}, stream) as view:
        assert isinstance(view, PlainOverview)
        for status in (RunStatus(), RunStatus(), GOING, GOING):
            view.show(NIM, status)
        for number in range(13, 50):
            view.show(NIM, replace(GOING, state=f"round {number} of 50"))
        view.show(NIM, FAILED)
        view.notice(REACH, "look\x1b[31m here")
    assert [line.split("  ")[-1].strip() for line in stream.getvalue().splitlines()] == [
        "starting",
        "round 12 of 100, success 0.85",
        "failed, no key",
        "look\N{REPLACEMENT CHARACTER}[31m here",
    ]
