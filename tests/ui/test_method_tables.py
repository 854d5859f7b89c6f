"""Tables of a method's own facts in the log, in views and on pages."""

from dataclasses import replace

import pytest
from run_events import (
    START,
    as_json,
    candidate,
    digest,
    plain,
    rollout,
    round_end,
    run,
    usage,
    watched,
)  # fmt: skip

from promptpo.report.tables import method_tables
from promptpo.store.codec import encode
from promptpo.store.events import Event
from promptpo.store.shapes import check_event
from promptpo.types import MethodTable
from promptpo.ui.plain import closing

TITLE = "Guesses"
FIRST = MethodTable(1, TITLE, ("Guess", "Odds", "Policy"), (("low", 0.25, "r01_c01"),), "1 guess")
SECOND = replace(FIRST, round=2, rows=(("high", None, "r02_c01"),), text="2 guesses")


def event(table: MethodTable) -> Event:
    return Event("table", encode(table), START + table.round)


def test_an_event_of_a_table_has_its_shape() -> None:
    data = {"type": "table", "time": 1.0, **encode(SECOND)}
    check_event(data)
    with pytest.raises(ValueError, match=r"at `\$.rows\[0\]`"):
        check_event({**data, "rows": [{"low": 1}]})


def test_json_has_the_latest_rows_once_a_round_has_ended() -> None:
    start, first, second = as_json(run("runs/x"), event(FIRST), event(SECOND))[-3:]
    assert start["tables"] == {}
    columns = ["Guess", "Odds", "Policy"]
    assert first["tables"] == {
        TITLE: {
            "round": 1,
            "text": "1 guess",
            "columns": columns,
            "rows": [["low", 0.25, "r01_c01"]],
        }
    }
    assert second["tables"][TITLE]["rows"] == [["high", None, "r02_c01"]]


def test_the_closing_lines_have_the_latest_summary() -> None:
    run_ = watched(run("runs/x"), usage(1), event(FIRST), event(SECOND))
    assert dict(closing(run_))["guesses"] == "2 guesses"


def test_a_page_replaces_a_table_or_adds_its_rows() -> None:
    for adds, rows in ((False, ["high"]), (True, ["low", "high"])):
        run_ = watched(*(event(replace(one, adds=adds)) for one in (FIRST, SECOND)))
        ((table, words),) = method_tables(run_)
        assert [row[0].text for row in table.rows] == rows
        assert table.columns == ("Guess", "Odds", "Policy")
        assert words == "2 guesses"


def test_a_policy_that_was_played_after_a_first_reply_without_one_has_one_line() -> None:
    failed = replace(candidate(1, 1, 3, "no code found"))
    failed = replace(failed, data={**failed.data, "rollout": None})
    later = candidate(1, 1, 5, of=digest(1, 1))
    end = round_end(1, "r01_c01", "r01_c01", 6)
    lines = plain(run("runs/x"), failed, rollout(1, 1, [500.0], 4), later, end)
    lines = [line for line in lines if "r01_c01  " in line]
    assert len(lines) == 2
    assert "failed: no code found" in lines[0]
    assert "return       500" in lines[1]
