"""The real client against a real server on loopback."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from asking import ask, ask_one, refusal, request, settings
from llm_server import DEFAULT_TEXT, Answer, ScriptedServer, first_tries

from promptpo.errors import ModelUnavailable
from promptpo.llm import ModelSettings, open_model
from promptpo.llm.litellm_model import with_cache_marks
from promptpo.llm.messages import TOO_LARGE, Message, cached_of, tokens_of


def test_the_request_holds_what_was_asked_for_and_the_reply_its_usage_and_price():
    with ScriptedServer() as server:
        reply = ask_one(settings(server))
        priced = ask_one(settings(server, "openai/gpt-4o", temperature=0.3, max_reply_tokens=99))
        ask_one(settings(server, "openai/gpt-5", temperature=0.3))
    assert (reply.text, reply.finish_reason) == (DEFAULT_TEXT, "stop")
    assert (reply.model, reply.cost) == ("openai/local", None)
    assert reply.usage["completion_tokens"] == len(DEFAULT_TEXT) // 4
    assert reply.latency > 0
    assert priced.cost > 0
    first, second, third = server.requests
    messages = [{"role": "user", "content": "Write a policy, please."}]
    assert first.body == {"model": "local", "messages": messages}
    assert first.call == "r01_c01_policy"
    assert (second.body["temperature"], second.body["max_tokens"]) == (0.3, 99)
    assert "temperature" not in third.body, "the model refuses one"


def test_names_that_a_local_server_goes_by_are_routed_to_it(monkeypatch):
    names = {
        "meta-llama/Llama-3": ("/v1/chat/completions", "meta-llama/Llama-3"),
        "qwen3": ("/v1/chat/completions", "qwen3"),
        "ollama/qwen3": ("/v1/api/chat", "qwen3"),
    }
    for name, sent in names.items():
        with ScriptedServer([Answer(status=401)]) as server:
            refusal(settings(server, name))
        assert (server.requests[0].path, server.requests[0].body["model"]) == sent
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert ask_one(ModelSettings("openai/local", call_timeout=20)).text == DEFAULT_TEXT


def test_usage_choices_and_texts_may_be_anything():
    usages = (
        None,
        {"prompt_tokens": -5, "completion_tokens": -3},
        {"prompt_tokens": 10**300, "completion_tokens": 10**30},
    )
    choices = [{"message": {"role": "assistant", "content": text}} for text in (None, DEFAULT_TEXT)]
    odd = (
        *(Answer(members={"usage": usage}) for usage in usages),
        Answer(members={"choices": choices, "model": [1]}),
        Answer(text=""),
        Answer(text=None),
        Answer(finish_reason="length"),
        Answer(packed=True),
    )
    with ScriptedServer(first_tries(odd, Answer(status=401))) as server:
        replies = ask(settings(server, "openai/gpt-4o"), len(odd))
    for reply in replies[:3]:
        assert (reply.text, reply.cost, tokens_of(reply.usage)) == (
            DEFAULT_TEXT,
            None,
            (None, None),
        )
        assert json.loads(json.dumps(reply.usage, allow_nan=False)) == reply.usage
    second, empty, none, cut, packed = replies[3:]  # of two choices the one with text
    assert (second.text, second.model, second.finish_reason) == (
        DEFAULT_TEXT, "openai/gpt-4o", "stop",
    )  # fmt: skip
    assert (empty.text, none.text, cut.finish_reason) == ("", "", "length")
    assert packed.text == DEFAULT_TEXT
    assert server.requests[0].headers["accept-encoding"] == "identity"


def test_an_answer_without_end_is_read_up_to_a_bound_and_once():
    for answer in (Answer(kind="endless"), Answer(text="x" * 50_000_000, packed=True)):
        with ScriptedServer(default=answer) as server:
            reply = ask_one(settings(server))
        assert len(server.requests) == 1
        assert (reply.text, reply.finish_reason) == ("", TOO_LARGE)
    error = {"message": "no " * 2_000_000}
    with ScriptedServer(default=Answer(status=400, error=error)) as server:
        assert len(refusal(settings(server))) < 500


def test_an_answer_that_cannot_be_parsed_is_a_failed_call_with_its_beginning():
    odd = [Answer(members=members) for members in (
        {"usage": [1, 2]}, {"choices": {"0": 1}}, {"choices": [5]},
    )]  # fmt: skip
    with ScriptedServer(lambda r: odd[int(r.call[5:7]) - 1]) as server:
        errors = ask(settings(server), len(odd))
    assert len(server.requests) == 3 * len(odd)
    for error in errors:
        assert type(error) is ModelUnavailable
        assert 'not a chat completion: {"id": ' in str(error)
        assert "given up after 3 tries" in str(error)
        assert len(str(error)) < 500
    bodies = ("<html>Sorry</html>", '{"sorry": [1]}', '{"error": {"sorry": []}}')
    odd = [Answer(kind="garbage", status=s, text=body) for body in bodies for s in (200, 400)]
    with ScriptedServer(lambda r: odd[int(r.call[5:7]) - 1]) as server:
        assert all("orry" in str(error) for error in ask(settings(server), len(odd)))


def test_the_calls_in_flight_are_bounded_and_waiting_for_a_slot_is_no_time_of_a_call():
    for most, count in ((16, 10), (2, 6)):
        with ScriptedServer(latency=0.5) as server:
            replies = ask(settings(server, max_concurrency=most, call_timeout=1.2), count)
        assert [r.text for r in replies] == [DEFAULT_TEXT] * count
        assert server.most_in_flight == min(most, count)


def test_a_fault_that_passes_is_tried_again_once_and_the_same_told_once():
    bodies = ("<html>Bad gateway</html>", '{"choices": []}', "{}")
    faults = (
        *(Answer(status=status) for status in (429, 500, 503, 529, 408)),
        *[Answer(status=503)] * 4,
        Answer(kind="reset"),
        *(Answer(kind="garbage", text=text) for text in bodies),
    )
    notices = []
    with ScriptedServer(first_tries(faults, Answer())) as server:
        replies = ask(settings(server, notify=notices.append), len(faults))
    assert [r.text for r in replies] == [DEFAULT_TEXT] * len(faults)
    assert len(server.requests) == 2 * len(faults)
    assert len({*notices}) == len(faults) - 4
    assert all("trying again" in notice for notice in notices)


@pytest.mark.slow
def test_retry_after_is_honoured():
    def script(received):
        if len({r.call for r in server.requests}) < len(server.requests):
            return Answer()
        date = formatdate(received.time + 3, usegmt=True)  # whole seconds: 2 to 3 s from now
        value = "2" if received.call == "r01_c01_policy" else date
        return Answer(status=429, headers={"Retry-After": value})

    with ScriptedServer(script) as server:
        ask(settings(server), 2)
    for call in ("r01_c01_policy", "r01_c02_policy"):
        first, second = (r.time for r in server.requests if r.call == call)
        assert 1.9 <= second - first < 5


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


def test_a_prompt_that_the_content_filter_refuses_fails_one_candidate_only():
    error = {"message": "rejected by the safety system", "code": "content_policy_violation"}
    with ScriptedServer([Answer(status=400, error=error)]) as server:
        refused, good = ask(settings(server, max_concurrency=1), 2)
    assert (refused.text, refused.finish_reason) == ("", "content_filter")
    assert good.text == DEFAULT_TEXT


@pytest.fixture
def warm():
    """Have litellm imported, so that the import does not count."""
    with ScriptedServer() as server:
        ask_one(settings(server))


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer(status=429), "rate limit"),
        (Answer(status=429, headers={"Retry-After": "3600"}), "asks to wait 3600 s"),
        (Answer(kind="hang"), "no reply in time"),
    ],
)
def test_what_never_comes_is_given_up_at_the_deadline(answer, words):
    took = []
    for _ in range(3):  # a machine that is busy may hold up any one of them
        started = time.monotonic()
        with ScriptedServer(default=answer) as server:
            line = refusal(settings(server, call_timeout=1.5), ModelUnavailable)
        took.append(time.monotonic() - started)
        assert words in line
        assert f"given up after {len(server.requests)} tr" in line
        assert "--resume" in line
        if took[-1] < 2.5:
            break
    assert min(took) < 2.5


@pytest.mark.slow
@pytest.mark.usefixtures("warm")
def test_a_reply_that_came_while_the_process_was_stopped_is_taken():
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


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize(("latency", "recorded"), [(0.3, 1), (5.0, 0)])
def test_a_reply_that_arrives_just_after_an_interruption_is_handed_over(latency, recorded):
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


def test_a_server_that_is_not_there_is_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://user:secret@127.0.0.1:{free.getsockname()[1]}/v1"
        line = refusal(ModelSettings("openai/x", address, call_timeout=1), ModelUnavailable)
    assert "no connection" in line
    assert f"http://127.0.0.1:{address.rpartition(':')[2]}" in line
    assert "secret" not in line


def test_closing_one_model_leaves_the_calls_of_another_alone_which_can_be_opened_again():
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
        for _ in range(2):
            assert asyncio.run(go(server)).text == DEFAULT_TEXT


SYSTEM = Message("system", "You write policies.")
TASK, HISTORY, TURN = "The task. ", "What has been tried. ", "Your turn."


def shared_prompt():
    return SYSTEM, Message("user", TASK + HISTORY + TURN, (len(TASK), len(TASK + HISTORY)))


def marks(sent):
    """The texts up to each mark of the last message that has any."""
    blocks = next((m["content"] for m in reversed(sent) if isinstance(m["content"], list)), [])
    return ["".join(b["text"] for b in blocks[: i + 1]) for i, block in enumerate(blocks)
            if "cache_control" in block]  # fmt: skip


def test_the_ends_of_shared_beginnings_are_marked():
    repair = (*shared_prompt(), Message("assistant", "code"), Message("user", "It failed."))
    for prompt in (shared_prompt(), repair):
        sent = with_cache_marks(prompt)
        assert marks(sent) == [TASK, TASK + HISTORY]
        texts = [c if isinstance(c, str) else "".join(b["text"] for b in c)
                 for c in (m["content"] for m in sent)]  # fmt: skip
        assert texts == [m.content for m in prompt]
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


def test_anthropic_is_sent_marks_and_its_cache_is_counted_and_priced(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    answer = Answer(kind="garbage", text=json.dumps(ANTHROPIC))
    with ScriptedServer(default=answer) as server:
        reply = ask_one(settings(server, "anthropic/claude-sonnet-4-5"), shared_prompt())
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
        reply = ask_one(settings(server, "openai/gpt-5"), shared_prompt())
    assert [m["content"] for m in server.requests[0].body["messages"]] == [
        m.content for m in shared_prompt()
    ]
    assert cached_of(reply.usage) == 800
    assert reply.cost == pytest.approx(200 * 1.25e-6 + 800 * 0.125e-6 + 10 * 10e-6)


PROGRAM = """
import asyncio
from promptpo.llm import ModelSettings, open_model
from promptpo.llm.messages import Message, Request
from promptpo.types import Key
def request(candidate):
    return Request(Key(1, candidate, role="policy"), (Message("user", "Hello"),))
async def main():
    model = open_model(ModelSettings("openai/x", {url!r}, call_timeout=60))
    try:
        print(len(await asyncio.gather(*(model.ask(request(c)) for c in (1, 2)))))
        await asyncio.gather(*(model.ask(request(c)) for c in (1, 2)))
    finally:
        await model.close()
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.slow  # importing litellm alone takes seconds
def test_a_process_prints_only_what_it_is_told_to_and_ctrl_c_cancels_its_calls():
    faults = [Answer(status=503), Answer(status=429)]
    with ScriptedServer([*faults, Answer(), Answer()], default=Answer(kind="hang")) as server:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            [sys.executable, "-W", "default", "-c", PROGRAM.format(url=server.url)],
            stdout=pipe, stderr=pipe, text=True,
            env={"PYTHONPATH": str(Path(__file__).parents[2])},
        )  # fmt: skip
        while len(server.requests) < 6 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        # The server does not answer any more, and the calls' own deadline is 60 s.
        assert process.communicate(timeout=30) == ("2\nstopped\n", "")
