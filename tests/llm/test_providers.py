"""What is known of a model before anything is imported or sent."""

import asyncio
import subprocess
import sys
import time
from email.utils import formatdate

import pytest

from promptpo.errors import ModelError, UsageError
from promptpo.llm import ModelSettings, check_configured, default_model, open_model
from promptpo.llm.answers import retry_after
from promptpo.llm.messages import Message, Request, cached_of
from promptpo.llm.providers import price_of, without_secrets
from promptpo.types import Key


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


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai/gpt-5", "did you mean 'openai/...'?"),
        ("nosuch", "write PROVIDER/NAME"),
        ("claude-nosuch", "write PROVIDER/NAME"),
    ],
)
def test_an_unknown_provider_is_refused_before_anything_is_sent(name, hint):
    with pytest.raises(ModelError, match=f"^{name}: no such provider; ") as caught:
        check_configured(name, env={})
    assert hint in str(caught.value)
    check_configured(name, "http://localhost:8000/v1", env={})


def test_azure_needs_an_address():
    with pytest.raises(ModelError, match="AZURE_API_BASE"):
        check_configured("azure/x", env={"AZURE_API_KEY": "secret"})
    check_configured("azure/x", env={"AZURE_API_BASE": "https://x.openai.azure.com"})


def test_models_without_a_key_pass():
    for name in ("ollama/qwen3", "bedrock/x", "manual", "builtin", "recorded", "recorded:x", ""):
        check_configured(name, env={})


def test_a_server_of_ones_own_needs_no_key():
    check_configured("openai/x", "http://localhost:8000/v1", env={})
    check_configured("openai/x", env={"OPENAI_BASE_URL": "http://localhost:8000/v1"})


def test_an_address_that_is_no_url_is_an_error():
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


def test_other_models_have_no_price():
    names = ("no-such-model", "openai/no-such-model", "anthropic/gpt-5", "ollama/llama2", "",
             "recorded")  # fmt: skip
    assert [price_of(name) for name in names] == [None] * len(names)


NUMBERS = {"prompt_tokens": 1000, "completion_tokens": 20}


def test_cached_tokens_are_read_in_every_providers_form():
    for numbers in (
        {"prompt_tokens_details": {"cached_tokens": 800}},
        {"cache_read_input_tokens": 800, "cache_creation_input_tokens": 100},
        {"prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 200},
        {"cachedContentTokenCount": 800, "prompt_tokens_details": {"text_tokens": 1000}},
    ):
        assert cached_of({**NUMBERS, **numbers}) == 800


def test_cached_tokens_that_are_missing_or_impossible_are_unknown():
    for usage in (
        None,
        "usage",
        NUMBERS,
        {**NUMBERS, "prompt_tokens_details": "x"},
        {**NUMBERS, "prompt_tokens_details": {"cached_tokens": None}},
        {**NUMBERS, "cache_read_input_tokens": "800"},
        {**NUMBERS, "cache_read_input_tokens": -1},
        {**NUMBERS, "prompt_cache_hit_tokens": 1001},
    ):
        assert cached_of(usage) is None


def test_no_cached_tokens_are_0():
    assert cached_of({**NUMBERS, "prompt_tokens_details": {"cached_tokens": 0}}) == 0
    assert cached_of({"prompt_tokens": 0, "completion_tokens": 0}) == 0


def test_the_default_model_is_what_the_variable_says():
    assert default_model("no_such_spec", {"PROMPTPO_MODEL": "openai/x"}) == "openai/x"


def test_without_a_model_and_a_recording_the_line_says_how_to_configure_one():
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        default_model("no_such_spec", {})


def test_retry_after_is_read():
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"retry-after": "0.5"}) == 0.5
    assert retry_after({"Retry-After-Ms": "1500", "Retry-After": "2"}) == 1.5
    assert retry_after({"Retry-After": formatdate(0, usegmt=True)}) == 0.0
    assert retry_after({}) is retry_after(None) is None


def test_retry_after_may_be_a_date():
    wait = retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert wait == pytest.approx(60, abs=2)


def test_a_retry_after_that_is_no_time_to_wait_is_ignored():
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


def test_builtin_answers_by_the_key_alone_and_costs_nothing():
    model = open_model(ModelSettings("builtin", write=lambda key: f"for {key}"))
    requests = [
        Request(Key(1, 2, role="policy"), (Message("user", words),)) for words in ("a", "b")
    ]
    first, second = (asyncio.run(model.ask(request)) for request in requests)
    assert first == second
    assert (first.text, first.model) == ("for r01_c02_policy", "builtin")
    assert (first.cost, first.latency) == (0.0, 0.0)
    assert first.usage == {"prompt_tokens": 0, "completion_tokens": 0}


def test_builtin_needs_a_run():
    with pytest.raises(ModelError, match="within a run"):
        open_model(ModelSettings("builtin"))


def test_builtin_is_offered_where_there_is_neither_model_nor_recording():
    with pytest.raises(ModelError, match="--model builtin, which needs no language model"):
        default_model("of_nobody", {})
    assert default_model("of_nobody", {"PROMPTPO_MODEL": "builtin"}) == "builtin"
