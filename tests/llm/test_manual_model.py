"""Prompts in files, replies from files."""

import asyncio
import os
import time

import pytest

from promptpo.errors import ModelError
from promptpo.llm import ModelSettings, open_model
from promptpo.llm.local_models import POLL, SETTLE
from promptpo.llm.messages import TOO_LARGE, Message, Request
from promptpo.types import Key


def request(candidate=1):
    messages = (Message("system", "You write policies."), Message("user", f"Policy {candidate}!"))
    return Request(Key(1, candidate, role="policy"), messages)


def open_manual(folder, notices):
    return open_model(ModelSettings("manual", folder=folder, notify=notices.append))


def test_prompts_wait_at_once_and_each_goes_on_with_its_reply(tmp_path):
    notices = []

    async def go():
        model = open_manual(tmp_path / "prompts", notices)
        asks = [asyncio.create_task(model.ask(request(c))) for c in (1, 2)]
        await asyncio.sleep(0.05)
        names = sorted(p.name for p in (tmp_path / "prompts").iterdir())
        for candidate in (2, 1):
            part = tmp_path / f"part{candidate}"
            part.write_text(f"reply {candidate}", encoding="utf-8")
            part.replace(tmp_path / "prompts" / f"r01_c{candidate:02d}_policy.reply.md")
        return names, await asyncio.gather(*asks)

    names, replies = asyncio.run(go())
    assert names == ["r01_c01_policy.prompt.md", "r01_c02_policy.prompt.md"]
    assert [r.text for r in replies] == ["reply 1", "reply 2"]
    assert len(notices) == 2
    assert "r01_c01_policy.reply.md" in notices[0]


def test_the_prompt_file_shows_each_message_under_its_role(tmp_path):
    (tmp_path / "r01_c01_policy.reply.md").write_text("x", encoding="utf-8")
    asyncio.run(open_manual(tmp_path, []).ask(request()))
    text = (tmp_path / "r01_c01_policy.prompt.md").read_text(encoding="utf-8")
    assert text == "# System\n\nYou write policies.\n\n# User\n\nPolicy 1!\n"


def test_a_reply_that_is_there_already_is_taken_without_a_notice(tmp_path):
    notices = []
    (tmp_path / "r01_c01_policy.reply.md").write_text("earlier", encoding="utf-8")
    reply = asyncio.run(open_manual(tmp_path, notices).ask(request()))
    assert (reply.text, reply.usage, notices) == ("earlier", None, [])


def test_a_reply_written_in_pieces_is_read_whole(tmp_path):
    path = tmp_path / "r01_c01_policy.reply.md"

    async def go():
        ask = asyncio.create_task(open_manual(tmp_path, []).ask(request()))
        for piece in ("one ", "two ", "three"):
            await asyncio.sleep(SETTLE / 2)
            with path.open("a", encoding="utf-8") as file:
                file.write(piece)
        return await ask

    assert asyncio.run(go()).text == "one two three"


def test_an_empty_file_is_an_empty_reply_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr("promptpo.llm.local_models.SETTLE_EMPTY", 0.5)
    (tmp_path / "r01_c01_policy.reply.md").touch()
    assert asyncio.run(open_manual(tmp_path, []).ask(request())).text == ""


@pytest.mark.parametrize(
    ("data", "text", "noted"),
    [
        ("\ufeffcaf\xe9\r\n".encode(), "caf\xe9\n", False),
        ("caf\xe9\n".encode("utf-16"), "caf\xe9\n", False),
        ("caf\xe9\n".encode("latin-1"), "caf\ufffd\n", True),
        (b"a\x00b", "a\x00b", False),
    ],
    ids=["mark", "utf-16", "latin-1", "nul"],
)
def test_a_reply_in_any_encoding_is_read(tmp_path, data, text, noted):
    (tmp_path / "r01_c01_policy.reply.md").write_bytes(data)
    reply = asyncio.run(open_manual(tmp_path, []).ask(request()))
    assert (reply.text, bool(reply.note)) == (text, noted)


def test_a_reply_file_without_end_is_not_read_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr("promptpo.common.bounds.ANSWER_BYTES", 1000)
    (tmp_path / "r01_c01_policy.reply.md").write_bytes(b"x" * 1001)
    reply = asyncio.run(open_manual(tmp_path, []).ask(request()))
    assert (reply.text, reply.finish_reason) == ("", TOO_LARGE)


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_is_told_once_and_waited_for(tmp_path, monkeypatch, kind):
    monkeypatch.setattr("promptpo.llm.local_models.POLL", 0.02)
    monkeypatch.setattr("promptpo.llm.local_models.SETTLE", 0.05)
    path, notices = tmp_path / "r01_c01_policy.reply.md", []
    make = {"folder": path.mkdir, "pipe": lambda: os.mkfifo(path)}
    make.get(kind, lambda: path.symlink_to(path))()

    async def go():
        ask = asyncio.create_task(open_manual(tmp_path, notices).ask(request()))
        await asyncio.sleep(0.2)
        assert not ask.done()
        path.rmdir() if kind == "folder" else path.unlink()
        path.write_text("at last", encoding="utf-8")
        return await ask

    assert asyncio.run(go()).text == "at last"
    assert len(notices) == 1
    assert notices[0].endswith("put the reply into a file of this name")


def test_waiting_costs_hardly_any_processor_time(tmp_path):
    async def go():
        model = open_manual(tmp_path, [])
        asks = asyncio.gather(*(model.ask(request(c)) for c in range(1, 11)))
        before = time.process_time()
        await asyncio.sleep(4 * POLL)
        used = time.process_time() - before
        asks.cancel()
        return used

    assert asyncio.run(go()) < 0.1


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match="--model manual needs a folder"):
        asyncio.run(open_manual(tmp_path / "file" / "prompts", []).ask(request()))
