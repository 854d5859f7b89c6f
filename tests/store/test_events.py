import json

import pytest

from promptpo.errors import RunError
from promptpo.store.events import EventLog, read_events


def log_of(path, *kinds):
    log = EventLog(path)
    for kind in kinds:
        log.emit(kind, round=1)
    log.close()


def test_events_come_back_in_order(tmp_path):
    log_of(tmp_path / "e.jsonl", "run", "reply", "round")
    events, good = read_events(tmp_path / "e.jsonl")
    assert [e.type for e in events] == ["run", "reply", "round"]
    assert good == (tmp_path / "e.jsonl").stat().st_size


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_half_written_last_event_is_dropped_and_counted(tmp_path, cut):
    path = tmp_path / "e.jsonl"
    log_of(path, "run", "reply")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    log = EventLog(path)
    assert [e.type for e in log.past] == ["run"]
    assert log.dropped == len(whole.splitlines()[1]) + 1 - cut
    log.emit("reply", round=2)
    assert [json.loads(line)["type"] for line in path.read_text().splitlines()] == ["run", "reply"]


def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"type": "run"}\nnot json\n{"type": "round"}\n')
    with pytest.raises(RunError, match=r"e\.jsonl:2: not an event"):
        read_events(path)


def test_transient_events_reach_listeners_only(tmp_path):
    log = EventLog(tmp_path / "e.jsonl")
    heard = []
    log.listeners.append(heard.append)
    log.emit("state", transient=True, state="asked")
    log.emit("round", round=1)
    assert [(e.type, e.transient) for e in heard] == [("state", True), ("round", False)]
    assert [e.type for e in read_events(log.path)[0]] == ["round"]


def test_elapsed_leaves_out_the_pauses_between_sessions(tmp_path):
    path = tmp_path / "e.jsonl"
    times = [("run", 100.0), ("reply", 110.0), ("resumed", 500.0), ("reply", 505.0)]
    path.write_text("".join(json.dumps({"type": k, "time": t}) + "\n" for k, t in times))
    assert EventLog(path).elapsed() == 15.0
