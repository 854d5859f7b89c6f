"""What is marked for Anthropic's cache, and what comes of it, against a real server on loopback."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from llm_server import Answer, ScriptedServer

from promptpo.llm import ModelSettings, open_model, prompt_cache
from promptpo.llm.messages import Message, Request
from promptpo.llm.prompt_cache import PromptCache
from promptpo.llm.usage import cached_of, tokens_of
from promptpo.types import Key

SYSTEM = Message("system", "You write policies.")
TASK, HISTORY, TURN = "The task. ", "What has been tried. ", "Your turn."


def asked(turn=TURN, history=HISTORY):
    return SYSTEM, Message("user", TASK + history + turn, (len(TASK), len(TASK + history)))


def marks(sent):
    """The texts up to each mark of the last message that has any."""
    blocks = next((m["content"] for m in reversed(sent) if isinstance(m["content"], list)), [])
    return ["".join(b["text"] for b in blocks[: i + 1]) for i, block in enumerate(blocks)
            if "cache_control" in block]  # fmt: skip


def said(sent):
    return [
        m["content"] if isinstance(m["content"], str) else "".join(b["text"] for b in m["content"])
        for m in sent
    ]


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(prompt_cache.time, "monotonic", lambda: clock.now)
    return clock


def test_the_first_request_marks_what_others_share():
    with PromptCache().marked(asked()) as sent:
        assert marks(sent) == [TASK, TASK + HISTORY]
        assert said(sent) == [m.content for m in asked()]


def test_those_sent_meanwhile_mark_nothing_that_is_being_written():
    cache = PromptCache()
    with cache.marked(asked()), cache.marked(asked("Another turn.")) as sent:
        assert marks(sent) == []
        assert said(sent)[1] == TASK + HISTORY + "Another turn."


def test_what_is_kept_is_marked_by_all_that_follow():
    cache = PromptCache()
    with cache.marked(asked()):
        pass
    with cache.marked(asked("2")) as one, cache.marked(asked("3")) as other:
        assert marks(one) == marks(other) == [TASK, TASK + HISTORY]


def test_another_history_shares_the_task():
    cache = PromptCache()
    with cache.marked(asked()):
        pass
    new = "Another history. "
    with cache.marked(asked(history=new)) as first, cache.marked(asked("2", new)) as second:
        assert marks(first) == [TASK, TASK + new]
        assert marks(second) == [TASK]


def test_what_was_not_used_for_five_minutes_is_written_once_more(clock):
    cache = PromptCache()
    with cache.marked(asked()):
        pass
    clock.now += 300
    with cache.marked(asked()) as first, cache.marked(asked()) as second:
        assert (len(marks(first)), len(marks(second))) == (2, 0)


def test_a_request_that_failed_has_written_nothing():
    cache = PromptCache()
    with pytest.raises(OSError, match="gone"), cache.marked(asked()):
        raise OSError("gone")
    with cache.marked(asked()) as first, cache.marked(asked()) as second:
        assert (len(marks(first)), len(marks(second))) == (2, 0)


def test_a_repair_reads_what_the_candidates_shared():
    cache = PromptCache()
    with cache.marked(asked()):
        pass
    repair = (*asked(), Message("assistant", "code"), Message("user", "It failed."))
    with cache.marked(repair) as sent:
        assert marks(sent) == [TASK, TASK + HISTORY]
        assert sent[2:] == [
            {"role": "assistant", "content": "code"},
            {"role": "user", "content": "It failed."},
        ]


ANTHROPIC = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 300,
              "cache_read_input_tokens": 600},
}  # fmt: skip


def ask(server, name):
    async def go():
        model = open_model(ModelSettings(name, api_base=server.url, call_timeout=20))
        try:
            return await model.ask(Request(Key(1, 1, role="policy"), asked()))
        finally:
            await model.close()

    return asyncio.run(go())


def test_anthropic_is_sent_marks_and_its_cache_is_counted_and_priced(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    answer = Answer(kind="garbage", text=json.dumps(ANTHROPIC))
    with ScriptedServer(default=answer) as server:
        reply = ask(server, "anthropic/claude-sonnet-4-5")
    body = server.requests[0].body
    assert marks(body["messages"]) == [TASK, TASK + HISTORY]
    assert reply.text == "Hello"
    assert tokens_of(reply.usage) == (1000, 10)
    assert cached_of(reply.usage) == 600
    read, written, rest, out = 0.3e-6, 3.75e-6, 3e-6, 15e-6
    assert reply.cost == pytest.approx(600 * read + 300 * written + 100 * rest + 10 * out)


def test_others_are_sent_no_marks_and_their_cache_is_counted_and_priced(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010,
             "prompt_tokens_details": {"cached_tokens": 800}}  # fmt: skip
    with ScriptedServer(default=Answer(members={"usage": usage})) as server:
        reply = ask(server, "openai/gpt-5")
    assert [m["content"] for m in server.requests[0].body["messages"]] == [
        m.content for m in asked()
    ]
    assert cached_of(reply.usage) == 800
    assert reply.cost == pytest.approx(200 * 1.25e-6 + 800 * 0.125e-6 + 10 * 10e-6)
