"""What is known of a model before anything is imported or sent."""

import asyncio
import subprocess
import sys
import time
from email.utils import formatdate

import pytest
from asking import request

from promptpo.errors import ModelError, UsageError
from promptpo.llm import ModelSettings, check_configured, default_model, open_model
from promptpo.llm.answers import retry_after
from promptpo.llm.messages import Message, cached_of
from promptpo.llm.providers import price_of, without_secrets


def test_a_missing_key_is_named_and_a_present_one_is_enough():
    names = {
        "openai/gpt-5": "OPENAI_API_KEY",
        "gpt-5": "OPENAI_API_KEY",
        "anthropic/claude-x": "ANTHROPIC_API_KEY",
        "claude-sonnet-4-5": "ANTHROPIC_API_KEY",
        "gemini/gemini-x": "GEMINI_API_KEY",
        "mistral/x": "MISTRAL_API_KEY",
        "groq/x": "GROQ_API_KEY",
        "deepseek/x": "DEEPSEEK_API_KEY",
        "xai/x": "XAI_API_KEY",
        "openrouter/a/b": "OPENROUTER_API_KEY",
    }
    for name, variable in names.items():
        with pytest.raises(ModelError, match=variable) as caught:
            check_configured(name, env={})
        assert str(caught.value).count("openai/gpt-5") == (name == "openai/gpt-5")
        check_configured(name, env={variable: "secret"})


def test_an_unknown_provider_is_refused_before_anything_is_sent():
    hints = {
        "opnai/gpt-5": "did you mean 'openai/...'?",
        "nosuch": "write PROVIDER/NAME",
        "claude-nosuch": "write PROVIDER/NAME",
    }
    for name, hint in hints.items():
        with pytest.raises(ModelError, match=f"^{name}: no such provider; ") as caught:
            check_configured(name, env={})
        assert hint in str(caught.value)
        check_configured(name, "http://localhost:8000/v1", env={})


def test_a_server_of_ones_own_needs_an_address_and_no_key():
    for name in ("ollama/qwen3", "bedrock/x", "manual", "builtin", "recorded", "recorded:x", ""):
        check_configured(name, env={})
    check_configured("openai/x", "http://localhost:8000/v1", env={})
    check_configured("openai/x", env={"OPENAI_BASE_URL": "http://localhost:8000/v1"})
    check_configured("azure/x", env={"AZURE_API_BASE": "https://x.openai.azure.com"})
    with pytest.raises(ModelError, match="AZURE_API_BASE"):
        check_configured("azure/x", env={"AZURE_API_KEY": "secret"})
    for address in ("localhost:8000", "ftp://host/v1", "http://", "http://a:b/"):
        with pytest.raises(UsageError, match="not a URL"):
            check_configured("openai/x", address, env={})


def test_checks_and_prices_do_not_import_litellm():
    code = (
        "import sys; from promptpo.llm import open_model, ModelSettings\n"
        "from promptpo.llm.providers import price_of\n"
        "open_model(ModelSettings('ollama/qwen3')); assert price_of('gpt-5')\n"
        "sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_price_is_litellms():
    import litellm

    for name in ("gpt-5", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"):
        prompt, reply = litellm.cost_per_token(
            model=name, prompt_tokens=1000, completion_tokens=2000
        )
        price = price_of(name)
        assert price is not None
        assert price.of(1000, 2000) == pytest.approx(prompt + reply)

    others = ("no-such-model", "openai/no-such-model", "anthropic/gpt-5", "ollama/llama2", "",
              "recorded")  # fmt: skip
    assert [price_of(name) for name in others] == [None] * len(others)


def test_cached_tokens_are_read_in_every_providers_form():
    numbers = {"prompt_tokens": 1000, "completion_tokens": 20}
    for more, cached in (
        ({"prompt_tokens_details": {"cached_tokens": 800}}, 800),
        ({"cache_read_input_tokens": 800, "cache_creation_input_tokens": 100}, 800),
        ({"prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 200}, 800),
        ({"cachedContentTokenCount": 800, "prompt_tokens_details": {"text_tokens": 1000}}, 800),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_tokens": 0}, 0),
        ({}, None),
        ({"prompt_tokens_details": "x"}, None),
        ({"prompt_tokens_details": {"cached_tokens": None}}, None),
        ({"cache_read_input_tokens": "800"}, None),
        ({"cache_read_input_tokens": -1}, None),
        ({"prompt_cache_hit_tokens": 1001}, None),
    ):
        assert cached_of({**numbers, **more}) == cached
    assert cached_of(None) is cached_of("usage") is None


def test_the_default_model_is_what_the_variable_says_else_how_to_configure_one():
    for model in ("openai/x", "builtin"):
        assert default_model("no_such_spec", {"PROMPTPO_MODEL": model}) == model
    with pytest.raises(ModelError, match=r"OPENAI_API_KEY.*builtin, which needs no language model"):
        default_model("no_such_spec", {})


def test_retry_after_is_read_and_what_is_no_time_to_wait_ignored():
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"retry-after": "0.5"}) == 0.5
    assert retry_after({"Retry-After-Ms": "1500", "Retry-After": "2"}) == 1.5
    assert retry_after({"Retry-After": formatdate(0, usegmt=True)}) == 0.0
    wait = retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert wait == pytest.approx(60, abs=2)
    assert retry_after({}) is retry_after(None) is None
    values = ["", "soon", "-1", "nan", "inf", "1e400", "9" * 400, "٣" * 3 + "x", "[1]", "1;2",
              "Mon, 99 Foo 0000 99:99:99 GMT", "\x00", "0, 5"]  # fmt: skip
    for name in ("Retry-After", "retry-after-ms"):
        assert [retry_after({name: value}) for value in values] == [None] * len(values)


def test_secrets_are_blotted_out():
    for text in (
        "Incorrect API key provided: sk-proj-abcdef123456.",
        "GET https://host/v1?key=abcdef123456&alt=sse",
        "https://user:abcdef123456@host/v1",
        "token abcdef123456 refused",
    ):
        assert "abcdef" not in without_secrets(text, {"MY_TOKEN": "abcdef123456"})


def test_builtin_answers_by_the_key_alone_costs_nothing_and_needs_a_run():
    model = open_model(ModelSettings("builtin", write=lambda key: f"for {key}"))
    first, second = (
        asyncio.run(model.ask(request(2, (Message("user", words),)))) for words in ("a", "b")
    )
    assert first == second
    assert (first.text, first.model) == ("for r01_c02_policy", "builtin")
    assert (first.cost, first.latency) == (0.0, 0.0)
    assert first.usage == {"prompt_tokens": 0, "completion_tokens": 0}
    with pytest.raises(ModelError, match="within a run"):
        open_model(ModelSettings("builtin"))
