import errno
import json
import os
import random
import re
import resource
from pathlib import Path

import pytest

from promptpo.errors import FileError
from promptpo.store.events import FORMAT, EventLog, read_log
from promptpo.store.shapes import EVENTS

REPLY = {"key": {"role": "policy", "round": 1, "candidate": 1, "attempt": 0}, "text": "x"}


def log_of(path, *texts):
    log = EventLog(path)
    for text in texts:
        log.emit("notice", text=text)
    log.close()


def texts_of(events):
    return [event.data["text"] for event in events]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "events.jsonl"


def test_a_half_written_last_event_is_set_aside(path):
    for cut in (2, 5, 20):
        path.unlink(missing_ok=True)
        log_of(path, "a", "b")
        whole = path.read_bytes()
        path.write_bytes(whole[:-cut])
        log = EventLog(path)
        assert texts_of(log.past) == ["a"]
        assert "half-written" in log.notice
        damaged = path.with_name("events.jsonl.damaged").read_bytes()
        assert damaged.endswith(whole.splitlines()[1][: 1 - cut] + b"\n")
        log.emit("notice", text="c")
        assert texts_of(read_log(path).events) == ["a", "c"]


def test_an_event_that_lacks_only_its_line_end_counts(path):
    log_of(path, "a", "b")
    path.write_bytes(path.read_bytes()[:-1])
    log = EventLog(path)
    log.emit("notice", text="c")
    assert log.notice == ""
    assert texts_of(read_log(path).events) == ["a", "b", "c"]


#: Lines that are no events: no JSON, of another shape, of a type that lacks what it needs.
DAMAGE = {
    "zeros": b"\0" * 512,
    "half a line": b'{"type": "notice", "te',
    "not UTF-8": b'{"type": "notice", "text": "\xff"}',
    "a list": b"[1, 2]",
    "a number": b"7",
    "no type": b'{"text": "b"}',
    "a type that is no string": b'{"type": ["notice"], "text": "b"}',
    "no text": b'{"type": "notice", "test": "b"}',
    "a text that is no string": b'{"type": "notice", "text": 7}',
    "a time that is no number": b'{"type": "notice", "text": "b", "time": "now"}',
    "a time without end": b'{"type": "notice", "text": "b", "time": Infinity}',
    "a deep one": b"[" * 100_000,
    "a long number": b'{"type": "notice", "text": "b", "time": ' + b"9" * 5000 + b"}",
    "a rollout without steps": b'{"type": "rollout", "stream": "search", "round": 1}',
    "a key of another kind": b'{"type": "reply", "key": "r01", "text": "x"}',
    "a rollout of unknown length": b'{"type": "rollout", "key": {}, "digest": "a", "seeds": [],'
    b' "stream": "search"}',
    "a number below 0": b'{"type": "unbilled", "key": {"round": -1}}',
    "a stream of another name": json.dumps({"type": "rollout", "stream": "exam"}).encode(),
}


NO_JSON = {"zeros", "half a line", "not UTF-8", "a deep one", "a long number"}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_line_that_cannot_be_read_is_set_aside_and_nothing_else(path, damage):
    log_of(path, "a")
    with path.open("ab") as file:
        file.write(DAMAGE[damage] + b"\n")
    log_of(path.with_name("more"), "c")
    path.write_bytes(path.read_bytes() + path.with_name("more").read_bytes())
    words = read_log(path).words("events.jsonl")
    assert re.fullmatch(r"line 2 of events\.jsonl cannot be read \(.+\)", words)
    assert ("not JSON" in words) == (damage in NO_JSON)
    assert damage != "no text" or "missing required field `text`" in words
    log = EventLog(path)
    assert texts_of(log.past) == ["a", "c"]
    assert f"{words}: set aside" in log.notice
    assert path.with_name("events.jsonl.damaged").read_bytes() == DAMAGE[damage] + b"\n"
    assert EventLog(path).notice == ""


def test_bytes_changed_at_random_never_refuse_a_log(path):
    rng = random.Random(0)
    log_of(path, *map(str, range(50)))
    whole = path.read_bytes()
    for _ in range(100):
        data = bytearray(whole)
        for _ in range(3):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        found = read_log(path)
        lines = sum(bool(line.strip()) for line in bytes(data).split(b"\n"))
        assert len(found.events) + len(found.damaged) + bool(found.cut) == lines


def test_transient_events_reach_listeners_only(path):
    log = EventLog(path)
    heard = []
    log.listeners.append(heard.append)
    log.emit("state", transient=True, state="asked")
    log.emit("notice", text="a")
    assert [(e.type, e.transient) for e in heard] == [("state", True), ("notice", False)]
    assert [e.type for e in read_log(path).events] == ["notice"]


def test_writes_that_take_a_part_at_a_time_are_carried_on(path, monkeypatch):
    write = os.write
    monkeypatch.setattr("promptpo.common.files.os.write", lambda fd, data: write(fd, data[:7]))
    log_of(path, "a" * 100, "b" * 100)
    assert texts_of(read_log(path).events) == ["a" * 100, "b" * 100]


class Disk:
    """Takes so many bytes more; then it is full."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self._write = os.write
        monkeypatch.setattr("promptpo.common.files.os.write", self.write)

    def write(self, descriptor, data):
        taken = min(len(data), self.room)
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= taken
        return self._write(descriptor, data[:taken])


def test_a_write_that_fails_part_way_leaves_nothing(path, monkeypatch):
    log_of(path, "a")
    log = EventLog(path)
    disk = Disk(monkeypatch, 20)
    with pytest.raises(FileError, match=r"events\.jsonl: No space left on device; free some space"):
        log.emit("notice", text="b")
    disk.room = 1000
    log.emit("notice", text="c")
    assert texts_of(read_log(path).events) == ["a", "c"]


def test_where_it_cannot_be_taken_back_the_next_event_has_its_own_line(path, monkeypatch):
    log = EventLog(path)
    disk = Disk(monkeypatch, 20)
    with monkeypatch.context() as m:
        m.setattr("promptpo.store.events.os.ftruncate", _fails)
        with pytest.raises(FileError):
            log.emit("notice", text="b")
    disk.room = 1000
    log.emit("notice", text="c")
    found = read_log(path)
    assert texts_of(found.events) == ["c"]
    assert list(found.damaged) == [1]


def _fails(*_):
    raise OSError(errno.EIO, "Input/output error")


def test_a_reply_finds_room_that_was_kept_for_it(path, monkeypatch):
    log = EventLog(path)
    reserve = path.with_name(".reserve")
    disk = Disk(monkeypatch, 20)

    def write(descriptor, data):
        if not reserve.exists():
            disk.room = 10_000
        return disk.write(descriptor, data)

    monkeypatch.setattr("promptpo.common.files.os.write", write)
    with pytest.raises(FileError):
        log.emit("notice", text="it does not matter")
    log.emit("reply", **REPLY)
    assert texts_of(read_log(path).events) == ["x"]


def test_the_limit_on_the_size_of_files_is_an_error_with_a_remedy(path):
    log = EventLog(path)
    log.emit("notice", text="a")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        with pytest.raises(FileError, match="File too large; raise the limit on the size of files"):
            log.emit("notice", text="b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    log.emit("notice", text="c")
    assert texts_of(read_log(path).events) == ["a", "c"]


def test_a_log_that_is_a_folder_is_an_error_in_one_line(path):
    path.mkdir()
    with pytest.raises(FileError, match=r"events\.jsonl: Is a directory; a folder is where"):
        EventLog(path)


def test_the_documentation_names_every_event_and_the_format():
    text = (Path(__file__).parents[2] / "docs" / "runs.md").read_text()
    section = text.split("## The log")[1].split("\n## ")[0]
    assert set(EVENTS) <= set(re.findall(r"`(\w+)`", section))
    assert f"This is format {FORMAT}." in section
