"""Prompts in files, replies from files."""

import asyncio
import os
import time

import pytest
from asking import request

from promptpo.errors import ModelError
from promptpo.llm import ModelSettings, local_models, open_model
from promptpo.llm.local_models import POLL, SETTLE
from promptpo.llm.messages import TOO_LARGE, Message

PROMPT = (Message("system", "You write policies."), Message("user", "Policy!"))


def file_of(folder, candidate, kind="reply"):
    return folder / f"r01_c{candidate:02d}_policy.{kind}.md"


def replies(folder, count, write=None):
    """The replies to some prompts, and notices; ``write`` gives the answers that are not there."""
    notices = []

    async def go():
        model = open_model(ModelSettings("manual", folder=folder, notify=notices.append))
        asks = [asyncio.create_task(model.ask(request(c, PROMPT))) for c in range(1, count + 1)]
        if write:
            await write(asks)
        return await asyncio.gather(*asks)

    return asyncio.run(go()), notices


def test_prompts_wait_at_once_and_each_goes_on_with_its_reply(tmp_path):
    folder = tmp_path / "prompts"

    async def write(_):
        await asyncio.sleep(0.05)
        assert sorted(folder.iterdir()) == [file_of(folder, c, "prompt") for c in (1, 2, 3)]
        for candidate in (2, 1):
            (tmp_path / "part").write_text(f"reply {candidate}", encoding="utf-8")
            (tmp_path / "part").replace(file_of(folder, candidate))
        for piece in ("one ", "two ", "three"):
            await asyncio.sleep(SETTLE / 2)
            with file_of(folder, 3).open("a", encoding="utf-8") as file:
                file.write(piece)

    got, notices = replies(folder, 3, write)
    assert [r.text for r in got] == ["reply 1", "reply 2", "one two three"]
    assert len(notices) == 3
    assert "r01_c01_policy.reply.md" in notices[0]
    text = file_of(folder, 1, "prompt").read_text(encoding="utf-8")
    assert text == "# System\n\nYou write policies.\n\n# User\n\nPolicy!\n"


def test_files_of_any_content_that_are_there_are_read_without_a_notice(tmp_path, monkeypatch):
    monkeypatch.setattr(local_models, "SETTLE_EMPTY", 0.5)
    monkeypatch.setattr("promptpo.common.bounds.ANSWER_BYTES", 1000)
    files = [
        ("\ufeffcaf\xe9\r\n".encode(), "caf\xe9\n", False),
        ("caf\xe9\n".encode("utf-16"), "caf\xe9\n", False),
        ("caf\xe9\n".encode("latin-1"), "caf\ufffd\n", True),
        (b"a\x00b", "a\x00b", False),
        (b"", "", False),
        (b"x" * 1001, "", False),
    ]
    for candidate, (data, *_) in enumerate(files, 1):
        file_of(tmp_path, candidate).write_bytes(data)
    got, notices = replies(tmp_path, len(files))
    assert [(r.text, bool(r.note)) for r in got] == [(text, noted) for _, text, noted in files]
    assert (got[-1].finish_reason, got[0].usage, notices) == (TOO_LARGE, None, [])


def test_what_is_no_file_is_told_once_and_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(local_models, "POLL", 0.02)
    monkeypatch.setattr(local_models, "SETTLE", 0.05)
    folder, pipe, loop = (file_of(tmp_path, candidate) for candidate in (1, 2, 3))
    folder.mkdir()
    os.mkfifo(pipe)
    loop.symlink_to(loop)

    async def write(asks):
        await asyncio.sleep(0.2)
        assert not any(ask.done() for ask in asks)
        folder.rmdir()
        for path in (folder, pipe, loop):
            path.unlink(missing_ok=True)
            path.write_text("at last", encoding="utf-8")

    got, notices = replies(tmp_path, 3, write)
    assert [r.text for r in got] == ["at last"] * 3
    assert len(notices) == 3
    assert all(n.endswith("put the reply into a file of this name") for n in notices)


def test_waiting_costs_hardly_any_processor_time(tmp_path):
    used = []

    async def wait(asks):
        before = time.process_time()
        await asyncio.sleep(4 * POLL)
        used.append(time.process_time() - before)
        for ask in asks:
            ask.cancel()

    with pytest.raises(asyncio.CancelledError):
        replies(tmp_path, 10, wait)
    assert used[0] < 0.1


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="--model manual needs a folder"):
        replies(tmp_path / "file" / "prompts", 1)
