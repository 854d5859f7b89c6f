"""Calls of a model in a loop of their own."""

import asyncio

import pytest

from promptpo.errors import ModelError
from promptpo.llm import ModelSettings, open_model
from promptpo.llm.messages import Message, Request
from promptpo.types import Key

HELLO = (Message("user", "Write a policy, please."),)


def request(candidate=1, messages=HELLO):
    return Request(Key(1, candidate, role="policy"), messages)


def settings(server, name="openai/local", **changes):
    base = {"api_base": server.url, "call_timeout": 20, "max_concurrency": 60}
    return ModelSettings(name, **{**base, **changes})


def ask(model_settings, count=1, messages=HELLO):
    """The replies (or errors) to ``count`` calls at once, each of another candidate."""

    async def go():
        model = open_model(model_settings)
        try:
            asks = (model.ask(request(c, messages)) for c in range(1, count + 1))
            return await asyncio.gather(*asks, return_exceptions=True)
        finally:
            await model.close()

    return asyncio.run(go())


def ask_one(model_settings, messages=HELLO):
    (reply,) = ask(model_settings, 1, messages)
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
