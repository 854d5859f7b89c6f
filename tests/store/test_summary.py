"""What lists remember of a run, and when they do not believe it."""

import json
import os

import pytest
from written_runs import written_run

from promptpo.store.events import EventLog
from promptpo.store.folder import RunFolder
from promptpo.store.summary import FILE, remember, summary_of


@pytest.fixture
def run(tmp_path):
    return written_run(tmp_path, search=(10.0, 50.0), test=[1.0, 2.0])


def planted(run, **changes):
    """What is remembered, with something in it that no log tells."""
    remember(run)
    data = json.loads((run / FILE).read_text())
    data["summary"] |= {"made_by": "planted"} | changes
    (run / FILE).write_text(json.dumps(data))


def test_what_is_remembered_is_not_read_again_until_a_file_changes_or_the_log_grows(run):
    planted(run)
    assert summary_of(run).made_by == "planted"
    for name in ("events.jsonl", "run.json"):
        planted(run)
        os.utime(run / name, ns=(1, 1))
        assert summary_of(run).made_by == "openai/a"
    planted(run)
    with (run / "events.jsonl").open("a") as log:
        log.write('{"type": "notice", "text": "more"}\n')
    os.utime(run / "events.jsonl", ns=(1, 1))
    assert summary_of(run).made_by == "openai/a"


def test_one_that_is_damaged_or_of_another_shape_or_no_file_is_made_anew(run):
    expected = summary_of(run)
    odd = (b"", b"[]", b"{}", b"\xff\xfe", b'{"key": []}', b"[" * 100_000, b"1" * 100_000)
    for content in odd:
        (run / FILE).write_bytes(content)
        assert summary_of(run) == expected
        assert json.loads((run / FILE).read_text())["summary"]["made_by"] == "openai/a"
    for changes in ({"steps": "many"}, {"score": None}, {"source": 3}):
        planted(run, **changes)
        assert summary_of(run) == expected
    for plant in (os.mkfifo, lambda file: file.symlink_to("/dev/zero"), os.mkdir):
        (run / FILE).unlink()
        plant(run / FILE)
        assert summary_of(run) == expected


def test_nothing_is_remembered_of_a_run_that_goes_on(run):
    lock = RunFolder(run).lock()
    summary_of(run)
    summary_of(run)
    os.close(lock)
    assert not (run / FILE).exists()


def test_nothing_is_written_where_the_folder_is_read_only(run):
    run.chmod(0o555)
    summary_of(run)
    run.chmod(0o755)
    assert not (run / FILE).exists()


def test_a_killed_run_that_goes_on_is_not_told_as_killed(tmp_path):
    run = written_run(tmp_path, status="running")
    assert summary_of(run).status == "killed"
    lock = RunFolder(run).lock()
    log = EventLog(run / "events.jsonl")
    assert (summary_of(run).status, summary_of(run).status) == ("running", "running")
    log.close()
    os.close(lock)


def test_a_path_is_not_remembered(run):
    (run / "run.json").write_text("torn")
    assert str(run) in summary_of(run).problem
    moved = run.rename(run.with_name("20270101-000000"))
    assert str(moved) in summary_of(moved).problem
