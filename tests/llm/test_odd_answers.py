"""Answers of any shape, by a real server: each is a reply or an ordinary failure of the call."""

import json
import random
import re

import pytest
from asking import ask, request, settings
from llm_server import DEFAULT_TEXT, Answer, ScriptedServer, first_tries
from scripted import run_small

from promptpo.errors import ModelError
from promptpo.llm.messages import Reply
from promptpo.llm.recording import reply_event

PROVIDERS = ("openai/gpt-4o", "anthropic/claude-sonnet-4-5", "ollama/qwen3")

ODD = [
    None, True, 0, -1, 7, 1.5, float("nan"), float("inf"), 10**30, "", "x", "12", "NaN", "\ud800",
    "\x1b[2J", "<html>", [], [1], [[1]], [None], {}, {"a": [1]}, {"code": [1]}, {"message": {}},
    {"role": [1], "content": {"text": [5]}}, "y" * 5000,
]  # fmt: skip

NO_JSON = [
    "", " ", "<html><body>Bad gateway</body></html>", "[", "{", "\x00\x01", "data: {}\n\n",
    "[" * 20_000, '{"error":' * 5_000, '{"choices":' * 5_000, '"\\ud800"', "NaN", "9" * 6000,
]  # fmt: skip

STATUSES = (200, 201, 301, 400, 401, 403, 404, 408, 413, 418, 422, 429, 451, 500, 503, 529, 600)

HEADERS = [
    {}, {"Retry-After": "0.1"}, {"Retry-After": "soon"}, {"Retry-After": "-1"},
    {"Retry-After": "9" * 400}, {"Retry-After": "Mon, 99 Foo 0000 99:99:99 GMT"},
    {"retry-after-ms": "nan"}, {"x-ratelimit-remaining-tokens": "[1]"},
]  # fmt: skip


def completion():
    """An answer as OpenAI's protocol has it, with all that may stand in it."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"role": "assistant", "content": DEFAULT_TEXT, "tool_calls": [call], "refusal": None}
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached": 1}}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [choice], "usage": usage}  # fmt: skip


def failure():
    """An error as providers tell it."""
    error = {"message": "no", "type": "invalid_request_error", "param": "model", "code": "bad"}
    return {"type": "error", "error": error, "detail": "x"}


def places(value, path=()):
    """Where something in a JSON value can be replaced."""
    found = [path] if path else []
    for name in value if isinstance(value, dict) else range(isinstance(value, list)):
        found += places(value[name], (*path, name))
    return found


def put(value, path, odd):
    for name in path[:-1]:
        value = value[name]
    value[path[-1]] = odd


def answers():
    """Every part of an answer and of an error replaced by something odd, and what is no JSON."""
    generator = random.Random(5)
    bodies = []
    for whole, statuses in ((completion, [200]), (failure, STATUSES)):
        for path in places(whole()):
            for odd in generator.sample(ODD, 3):
                body = whole()
                put(body, path, odd)
                bodies.append((generator.choice(statuses), json.dumps(body)))
    whole = [json.dumps(odd) for odd in ODD] + NO_JSON
    bodies += [(status, body) for body in whole for status in generator.sample(STATUSES, 2)]
    return [
        Answer(kind="garbage", status=status, text=body, headers=generator.choice(HEADERS))
        for status, body in bodies
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_whatever_is_answered_is_a_reply_or_a_failed_call(provider):
    odd = answers()[PROVIDERS.index(provider) :: len(PROVIDERS)]
    with ScriptedServer(first_tries(odd, Answer())) as server:
        replies = ask(settings(server, provider), len(odd))
    for candidate, (sent, got) in enumerate(zip(odd, replies, strict=True), 1):
        assert isinstance(got, Reply | ModelError), (sent, got)
        if isinstance(got, Reply):
            json.dumps(reply_event(request(candidate), got), allow_nan=False)
        else:
            assert re.fullmatch(r"[^\n\x00-\x1f]{20,900}", str(got)), (sent, got)


def test_a_model_that_cannot_work_is_refused_before_there_is_a_folder(tmp_path):
    (tmp_path / "events.jsonl").write_text("{}\n")
    models = {
        "opnai/gpt-5": "no such provider",
        "nosuch": "no such provider",
        "openai/gpt-5": "set OPENAI_API_KEY",
        "recorded": "this spec has no recording",
        f"recorded:{tmp_path / 'none'}": "give recorded:PATH",
        f"recorded:{tmp_path}": "missing required field `type`",
    }
    for model, words in models.items():
        with pytest.raises(ModelError, match=words):
            run_small(tmp_path, "frozen_lake", model=model, probe=0)
    assert not (tmp_path / "runs").exists()


def test_a_run_does_not_stay_running_over_an_error_of_any_shape(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    answer = Answer(kind="garbage", status=400, text='{"error": {"code": [1]}}')
    with ScriptedServer(default=answer) as server, pytest.raises(ModelError, match=r"\(400: "):
        run_small(tmp_path, model="openai/gpt-4o", api_base=server.url, probe=0)
    [info] = (tmp_path / "runs").rglob("run.json")
    assert json.loads(info.read_text())["status"] == "failed"
