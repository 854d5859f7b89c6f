"""The model that is none, and where it is offered."""

import asyncio

import pytest

from promptpo.errors import ModelError
from promptpo.llm import ModelSettings, default_model, open_model
from promptpo.llm.messages import Message, Request
from promptpo.types import Key


def test_it_answers_by_the_key_alone_and_costs_nothing():
    model = open_model(ModelSettings("builtin", write=lambda key: f"for {key}"))
    requests = [
        Request(Key(1, 2, role="policy"), (Message("user", words),)) for words in ("a", "b")
    ]
    first, second = (asyncio.run(model.ask(request)) for request in requests)
    assert first == second
    assert (first.text, first.model) == ("for r01_c02_policy", "builtin")
    assert (first.cost, first.latency) == (0.0, 0.0)
    assert first.usage == {"prompt_tokens": 0, "completion_tokens": 0}


def test_it_needs_a_run():
    with pytest.raises(ModelError, match="within a run"):
        open_model(ModelSettings("builtin"))


def test_it_is_offered_where_there_is_neither_model_nor_recording():
    with pytest.raises(ModelError, match="--model builtin, which needs no language model"):
        default_model("of_nobody", {})
    assert default_model("of_nobody", {"PROMPTPO_MODEL": "builtin"}) == "builtin"
