"""How a sweep looks: a line a run, on any terminal; plain lines elsewhere."""

import io
import re
from dataclasses import replace

import pytest

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


def test_a_run_in_a_line():
    assert row(REACH, GOING) == (
        "metaworld_reach seed 12", "round 12 of 100", "success 0.85", "12,345,678", "$12.35"
    )  # fmt: skip
    assert row(NIM, None) == ("nim seed 0", "waiting", "", "", "")
    assert row(NIM, FAILED) == ("nim seed 0", "failed", "", "", "unknown")


def test_the_longest_line_fits_into_80_columns():
    screen = Screen()
    with LiveOverview({REACH: GOING, NIM: None}, screen):
        pass
    lines = screen.lines()
    assert any("12,345,678" in line and line.rstrip().endswith("$12.35") for line in lines)
    assert max(map(len, lines)) <= 80


def test_on_a_low_terminal_what_goes_on_is_shown_and_in_the_end_all(monkeypatch):
    many = {PlannedRun("nim", "nim", seed): None for seed in range(40)}
    many[PlannedRun("nim", "nim", 30)] = GOING
    many[PlannedRun("nim", "nim", 35)] = FAILED
    screen = Screen()
    with LiveOverview(many, screen) as view:
        view.show(REACH, GOING)
        drawn = table(many, 7)
        assert drawn.row_count == 7
        from rich.console import Console

        out = io.StringIO()
        Console(file=out, width=80).print(drawn)
        assert "nim seed 30" in out.getvalue() and "nim seed 35" in out.getvalue()
        assert "34 more" in out.getvalue()
        before = len(screen.getvalue())
    assert all(f"nim seed {seed} " in screen.getvalue()[before:] for seed in range(40))


def test_plain_lines_say_each_state_once():
    stream = io.StringIO()
    view = open_overview({NIM: None, REACH: None}, stream)
    assert isinstance(view, PlainOverview)
    for status in (RunStatus(), RunStatus(), GOING, GOING, FAILED):
        view.show(NIM, status)
    view.notice(REACH, "look\x1b[31m here")
    lines = [line.split("  ", 2)[-1].strip() for line in stream.getvalue().splitlines()]
    assert [line.split("  ")[-1].strip() for line in lines] == [
        "starting",
        "round 12 of 100, success 0.85",
        "failed, no key",
        "look\N{REPLACEMENT CHARACTER}[31m here",
    ]


def test_how_many_are_how_far():
    assert (
        counts(states(dict(enumerate([GOING, None, GOING, FAILED]))))
        == "4 runs: 1 failed, 2 running, 1 waiting"
    )
    assert counts(states({NIM: None})) == "1 run: 1 waiting"


def test_rounds_that_take_no_time_are_told_of_only_now_and_then():
    stream = io.StringIO()
    with open_overview({NIM: None}, stream) as view:
        for number in range(1, 50):
            view.show(NIM, replace(GOING, state=f"round {number} of 50"))
        view.show(NIM, replace(GOING, state="selection"))
    said = stream.getvalue().splitlines()
    assert len(said) == 2
    assert "round 1 of 50" in said[0] and "selection" in said[1]
