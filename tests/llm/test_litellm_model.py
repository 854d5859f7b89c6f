"""The real client against a real server on loopback."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path

import pytest
import tenacity
from llm_server import DEFAULT_TEXT, Answer, ScriptedServer

from promptpo.errors import ModelError, ModelUnavailable
from promptpo.llm import ModelSettings, open_model
from promptpo.llm.litellm_model import pause, with_cache_marks
from promptpo.llm.messages import TOO_LARGE, Message, Request, cached_of, tokens_of
from promptpo.types import Key


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def request(candidate=1):
    return Request(Key(1, candidate, role="policy"), (Message("user", "Write a policy, please."),))


def settings(server, **changes):
    base = ModelSettings("openai/local", api_base=server.url, call_timeout=20, max_concurrency=16)
    return replace(base, **changes)


def ask(model_settings, count=1):
    """The replies (or errors) to ``count`` calls at once."""

    async def go():
        model = open_model(model_settings)
        try:
            asks = (model.ask(request(c)) for c in range(1, count + 1))
            return await asyncio.gather(*asks, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(go())


def ask_one(model_settings):
    (reply,) = ask(model_settings)
    if isinstance(reply, BaseException):
        raise reply
    return reply


def refusal(model_settings, kind=ModelError):
    """The message of the error, which is of exactly this kind and one line."""
    with pytest.raises(kind) as caught:
        ask_one(model_settings)
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_reply_comes_with_its_usage_and_an_unknown_price_is_none():
    with ScriptedServer() as server:
        reply = ask_one(settings(server))
        assert ask_one(settings(server, name="openai/gpt-4o")).cost > 0
    assert reply.text == DEFAULT_TEXT
    assert (reply.model, reply.finish_reason, reply.cost) == ("openai/local", "stop", None)
    assert reply.usage["completion_tokens"] == len(DEFAULT_TEXT) // 4
    assert reply.latency > 0


def test_a_usage_without_counts_is_recorded_and_has_no_price():
    negative = {"prompt_tokens": -5, "completion_tokens": -3}
    huge = {"prompt_tokens": 10**300, "completion_tokens": 10**30}
    for usage in (None, negative, huge):
        with ScriptedServer(default=Answer(members={"usage": usage})) as server:
            reply = ask_one(settings(server, name="openai/gpt-4o"))
        assert (reply.text, reply.cost) == (DEFAULT_TEXT, None)
        assert tokens_of(reply.usage) == (None, None)
        assert json.loads(json.dumps(reply.usage, allow_nan=False)) == reply.usage


def test_of_several_choices_the_first_with_text_counts():
    choices = [{"message": {"role": "assistant", "content": text}} for text in (None, DEFAULT_TEXT)]
    with ScriptedServer(default=Answer(members={"choices": choices, "model": [1]})) as server:
        reply = ask_one(settings(server))
    assert (reply.text, reply.model, reply.finish_reason) == (DEFAULT_TEXT, "openai/local", "stop")


@pytest.mark.parametrize("members", [{"usage": [1, 2]}, {"choices": {"0": 1}}, {"choices": [5]}])
def test_an_answer_that_cannot_be_parsed_is_a_failed_call_with_its_beginning(members):
    with ScriptedServer(default=Answer(members=members)) as server:
        line = refusal(settings(server), ModelUnavailable)
    assert 'not a chat completion: {"id": ' in line
    assert "given up after 3 tries" in line
    assert len(server.requests) == 3
    assert len(line) < 500


def test_an_answer_without_end_is_read_up_to_a_bound_and_once():
    for answer in (Answer(kind="endless"), Answer(text="x" * 50_000_000, packed=True)):
        with ScriptedServer(default=answer) as server:
            reply = ask_one(settings(server))
        assert len(server.requests) == 1
        assert (reply.text, reply.finish_reason) == ("", TOO_LARGE)


def test_an_answer_that_is_packed_unasked_is_read():
    with ScriptedServer(default=Answer(packed=True)) as server:
        assert ask_one(settings(server)).text == DEFAULT_TEXT
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_an_error_of_megabytes_is_a_short_line():
    error = {"message": "no " * 2_000_000}
    with ScriptedServer(default=Answer(status=400, error=error)) as server:
        assert len(refusal(settings(server))) < 500


def test_the_request_holds_the_messages_and_what_was_asked_for():
    with ScriptedServer() as server:
        ask_one(settings(server))
        ask_one(settings(server, temperature=0.3, max_reply_tokens=99))
        ask_one(settings(server, name="openai/gpt-5", temperature=0.3))
    first, second, third = server.requests
    messages = [{"role": "user", "content": "Write a policy, please."}]
    assert first.body == {"model": "local", "messages": messages}
    assert first.call == "r01_c01_policy"
    assert (second.body["temperature"], second.body["max_tokens"]) == (0.3, 99)
    assert "temperature" not in third.body, "the model refuses one"


def test_names_that_a_local_server_goes_by_are_routed_to_it():
    names = {
        "meta-llama/Llama-3": ("/v1/chat/completions", "meta-llama/Llama-3"),
        "qwen3": ("/v1/chat/completions", "qwen3"),
        "ollama/qwen3": ("/v1/api/chat", "qwen3"),
    }
    for name, sent in names.items():
        with ScriptedServer([Answer(status=401)]) as server:
            refusal(settings(server, name=name))
        assert (server.requests[0].path, server.requests[0].body["model"]) == sent


def test_the_server_may_be_named_by_the_environment(monkeypatch):
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert ask_one(settings(server, api_base=None)).text == DEFAULT_TEXT


def test_max_concurrency_bounds_the_calls_in_flight():
    for most, count in ((16, 10), (2, 6)):
        with ScriptedServer(latency=0.5) as server:
            replies = ask(settings(server, max_concurrency=most), count)
        assert [r.text for r in replies] == [DEFAULT_TEXT] * count
        assert server.most_in_flight == min(most, count)


def test_the_wait_for_a_slot_does_not_count_as_time_of_the_call():
    with ScriptedServer(latency=1.0) as server:
        replies = ask(settings(server, max_concurrency=1, call_timeout=2.5), 3)
    assert [r.text for r in replies] == [DEFAULT_TEXT] * 3


def test_a_fault_that_passes_is_tried_again_once():
    bodies = ("<html>Bad gateway</html>", '{"choices": []}', "{}")
    for fault in (
        *(Answer(status=status) for status in (429, 500, 503, 529, 408)),
        Answer(kind="reset"),
        *(Answer(kind="garbage", text=text) for text in bodies),
    ):
        notices = []
        with ScriptedServer([fault]) as server:
            reply = ask_one(settings(server, notify=notices.append))
        assert reply.text == DEFAULT_TEXT
        assert len(server.requests) == 2
        assert len(notices) == 1
        assert "trying again" in notices[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured(form):
    def script(received):
        date = formatdate(received.time + 3, usegmt=True)  # whole seconds: 2 to 3 s from now
        value = {"seconds": "2", "date": date}[form]
        return Answer() if received.number else Answer(status=429, headers={"Retry-After": value})

    with ScriptedServer(script) as server:
        ask_one(settings(server))
    first, second = (r.time for r in server.requests)
    assert 1.9 <= second - first < 5


def test_calls_that_fail_together_do_not_come_back_together():
    state = tenacity.RetryCallState(None, None, (), {})
    pauses = [pause(state) for _ in range(50)]
    assert min(pauses) >= 0.5
    assert max(pauses) - min(pauses) > 0.1


def test_a_fault_that_stays_is_one_request_and_one_line():
    def error(status, **members):
        return Answer(status=status, error={"message": "no", **members})

    remedies = [
        (error(401), "check OPENAI_API_KEY"),
        (error(403), "check OPENAI_API_KEY"),
        (error(400, message="API key not valid. Pass a valid API key."), "check OPENAI_API_KEY"),
        (error(402), "no credit"),
        (error(404), "check --model and --api-base"),
        (error(400), "check --model"),
        (error(422), "check --model"),
        (error(413), "history_tokens"),
        (
            error(400, message="This model's maximum context length is 8192 tokens."),
            "history_tokens",
        ),
        (error(429, code="insufficient_quota"), "no credit"),
    ]
    for fault, remedy in remedies:
        with ScriptedServer(default=fault) as server:
            assert remedy in refusal(settings(server))
        assert len(server.requests) == 1


def test_the_key_never_shows_in_a_message(monkeypatch):
    key = "sk-proj-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    fault = Answer(status=401, error={"message": f"Incorrect API key provided: {key}"})
    with ScriptedServer(default=fault) as server:
        line = refusal(settings(server))
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert "Incorrect API key" in line
    assert "0123456789" not in line


def test_a_rate_limit_that_never_ends_is_given_up_at_the_deadline():
    started = time.monotonic()
    with ScriptedServer(default=Answer(status=429)) as server:
        line = refusal(settings(server, call_timeout=3), ModelUnavailable)
    assert time.monotonic() - started < 4
    assert len(server.requests) >= 2
    assert "rate limit" in line
    assert f"{len(server.requests)} tries" in line
    assert "--resume" in line


def test_a_retry_after_beyond_the_deadline_is_not_waited_for():
    started = time.monotonic()
    with ScriptedServer([Answer(status=429, headers={"Retry-After": "3600"})]) as server:
        assert "asks to wait 3600 s" in refusal(settings(server), ModelUnavailable)
    assert time.monotonic() - started < 10


def test_a_server_that_hangs_is_given_up_at_the_deadline():
    ask_one_warm()
    started = time.monotonic()
    with ScriptedServer([Answer(kind="hang")]) as server:
        assert "no reply in time" in refusal(settings(server, call_timeout=1), ModelUnavailable)
    assert time.monotonic() - started < 2


@pytest.mark.slow
def test_a_reply_that_came_while_the_process_was_stopped_is_taken():
    ask_one_warm()

    async def go(server):
        model = open_model(settings(server, call_timeout=1))
        asked = asyncio.create_task(model.ask(request()))
        try:
            while not server.requests:
                await asyncio.sleep(0.01)
            # What the event loop sees of SIGSTOP and SIGCONT: nothing runs, and the clock goes on.
            time.sleep(2.5)
            return await asked
        finally:
            await model.close()

    with ScriptedServer(latency=0.5) as server:
        assert asyncio.run(go(server)).text == DEFAULT_TEXT
    assert len(server.requests) == 1


@pytest.mark.parametrize(("latency", "recorded"), [(0.3, 1), (5.0, 0)])
def test_a_reply_that_arrives_just_after_an_interruption_is_handed_over(latency, recorded):
    ask_one_warm()
    taken = []

    async def go(server):
        model = open_model(settings(server, max_concurrency=1))

        async def call(candidate):
            taken.append(await model.ask(request(candidate)))
            await asyncio.sleep(60)

        calls = [asyncio.create_task(call(c)) for c in (1, 2)]
        while not server.requests:
            await asyncio.sleep(0.01)
        for task in calls:
            task.cancel()
        started = time.monotonic()
        ends = await asyncio.gather(*calls, return_exceptions=True)
        await model.close()
        return ends, time.monotonic() - started

    with ScriptedServer(latency=latency) as server:
        ends, took = asyncio.run(go(server))
    assert [type(e) for e in ends] == [asyncio.CancelledError] * 2
    assert took < 2
    assert (len(taken), len(server.requests)) == (recorded, 1)


def ask_one_warm():
    """Have litellm imported, so that the import does not count."""
    with ScriptedServer() as server:
        ask_one(settings(server))


def test_a_server_that_is_not_there_is_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://user:secret@127.0.0.1:{free.getsockname()[1]}/v1"
        line = refusal(ModelSettings("openai/x", address, call_timeout=1), ModelUnavailable)
    assert "no connection" in line
    assert f"http://127.0.0.1:{address.rpartition(':')[2]}" in line
    assert "secret" not in line


def test_the_same_trouble_is_told_once_for_all_calls():
    notices = []
    with ScriptedServer([Answer(status=503)] * 8) as server:
        ask(settings(server, notify=notices.append), 8)
    assert len(notices) == 1


def test_a_reply_that_is_empty_or_cut_off_is_a_reply():
    answers = [Answer(text=""), Answer(text=None), Answer(finish_reason="length")]
    with ScriptedServer(answers) as server:
        empty, none, cut = ask(settings(server, max_concurrency=1), 3)
    assert (empty.text, none.text, cut.finish_reason) == ("", "", "length")


def test_a_prompt_that_the_content_filter_refuses_fails_one_candidate_only():
    error = {"message": "rejected by the safety system", "code": "content_policy_violation"}
    with ScriptedServer([Answer(status=400, error=error)]) as server:
        refused, good = ask(settings(server, max_concurrency=1), 2)
    assert (refused.text, refused.finish_reason) == ("", "content_filter")
    assert good.text == DEFAULT_TEXT


def test_a_model_can_be_opened_again_after_it_was_closed():
    with ScriptedServer() as server:
        assert [ask_one(settings(server)).text for _ in range(2)] == [DEFAULT_TEXT] * 2


def test_closing_one_model_leaves_the_calls_of_another_alone():
    async def go(server):
        first, second = open_model(settings(server)), open_model(settings(server))
        await first.ask(request())
        call = asyncio.create_task(second.ask(request(2)))
        await asyncio.sleep(0.1)
        await first.close()
        reply = await call
        await second.close()
        return reply

    with ScriptedServer(latency=0.3) as server:
        assert asyncio.run(go(server)).text == DEFAULT_TEXT


SYSTEM = Message("system", "You write policies.")
TASK, HISTORY, TURN = "The task. ", "What has been tried. ", "Your turn."


def shared_prompt(turn=TURN, history=HISTORY):
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


def test_the_ends_of_shared_beginnings_are_marked():
    repair = (*shared_prompt(), Message("assistant", "code"), Message("user", "It failed."))
    for prompt in (shared_prompt(), repair):
        sent = with_cache_marks(prompt)
        assert marks(sent) == [TASK, TASK + HISTORY]
        assert said(sent) == [m.content for m in prompt]
    assert with_cache_marks((SYSTEM,)) == [{"role": "system", "content": SYSTEM.content}]
    many = (Message("user", "abcdef", (1, 2, 3)), Message("user", "ghi", (1, 2)))
    assert [len(marks([m])) for m in with_cache_marks(many)] == [2, 2]


ANTHROPIC = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 300,
              "cache_read_input_tokens": 600},
}  # fmt: skip


def ask_cached(server, name):
    async def go():
        model = open_model(ModelSettings(name, api_base=server.url, call_timeout=20))
        try:
            return await model.ask(Request(Key(1, 1, role="policy"), shared_prompt()))
        finally:
            await model.close()

    return asyncio.run(go())


def test_anthropic_is_sent_marks_and_its_cache_is_counted_and_priced(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    answer = Answer(kind="garbage", text=json.dumps(ANTHROPIC))
    with ScriptedServer(default=answer) as server:
        reply = ask_cached(server, "anthropic/claude-sonnet-4-5")
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
        reply = ask_cached(server, "openai/gpt-5")
    assert [m["content"] for m in server.requests[0].body["messages"]] == [
        m.content for m in shared_prompt()
    ]
    assert cached_of(reply.usage) == 800
    assert reply.cost == pytest.approx(200 * 1.25e-6 + 800 * 0.125e-6 + 10 * 10e-6)


def start(tmp_path, server, body, timeout=60):
    """A Python process of its own that runs ``body`` with a model, as a user's program would."""
    code = f"""
    import asyncio
    from promptpo.llm import ModelSettings, open_model
    from promptpo.llm.messages import Message, Request
    from promptpo.types import Key
    async def main():
        model = open_model(ModelSettings("openai/x", {server.url!r}, call_timeout={timeout}))
        messages = (Message("user", "Hello"),)
        def asks():
            return [model.ask(Request(Key(1, c, role="policy"), messages)) for c in (1, 2)]
        try:
            {body}
        finally:
            await model.close()
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        print("stopped")
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code), encoding="utf-8")
    pipe = subprocess.PIPE
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-W", "default", tmp_path / "program.py"],
        stdout=pipe, stderr=pipe, text=True, env={"PYTHONPATH": str(root)},
    )  # fmt: skip


@pytest.mark.slow  # importing litellm alone takes seconds
def test_a_process_prints_only_what_it_is_told_to_and_ctrl_c_cancels_its_calls(tmp_path):
    faults = [Answer(status=503), Answer(status=429)]
    with ScriptedServer([*faults, Answer(), Answer()], default=Answer(kind="hang")) as server:
        body = "print(len(await asyncio.gather(*asks()))); await asyncio.gather(*asks())"
        process = start(tmp_path, server, body)
        while len(server.requests) < 6 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # The server does not answer any more, and the calls' own deadline is 60 s.
        assert process.communicate(timeout=10) == ("2\nstopped\n", "")
