"""What is known of a model before anything is imported or sent."""

import subprocess
import sys
import time
from email.utils import formatdate

import pytest

from promptpo.errors import ModelError, UsageError
from promptpo.llm import check_configured, default_model
from promptpo.llm.failures import retry_after
from promptpo.llm.providers import without_secrets


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("gpt-5", "OPENAI_API_KEY"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY"),
        ("claude-x", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-x", "GEMINI_API_KEY"),
        ("mistral/x", "MISTRAL_API_KEY"),
        ("groq/x", "GROQ_API_KEY"),
        ("deepseek/x", "DEEPSEEK_API_KEY"),
        ("xai/x", "XAI_API_KEY"),
        ("openrouter/a/b", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_named_and_a_present_one_is_enough(name, variable):
    with pytest.raises(ModelError, match=variable):
        check_configured(name, env={})
    check_configured(name, env={variable: "secret"})


def test_azure_needs_an_address():
    with pytest.raises(ModelError, match="AZURE_API_BASE"):
        check_configured("azure/x", env={"AZURE_API_KEY": "secret"})
    check_configured("azure/x", env={"AZURE_API_BASE": "https://x.openai.azure.com"})


@pytest.mark.parametrize(
    "name", ["ollama/qwen3", "manual", "builtin", "recorded", "recorded:x", "rare/x"]
)
def test_models_without_a_known_key_pass(name):
    check_configured(name, env={})


def test_a_server_of_ones_own_needs_no_key():
    check_configured("openai/x", "http://localhost:8000/v1", env={})
    check_configured("openai/x", env={"OPENAI_BASE_URL": "http://localhost:8000/v1"})


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://host/v1", "http://", "http://a:b/"])
def test_an_address_that_is_no_url_is_an_error(address):
    with pytest.raises(UsageError, match="not a URL"):
        check_configured("openai/x", address, env={})


def test_checking_a_model_does_not_import_litellm():
    code = (
        "import sys; from promptpo.llm import open_model, ModelSettings\n"
        "open_model(ModelSettings('ollama/qwen3')); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_default_model_is_what_the_variable_says():
    assert default_model("no_such_spec", {"PROMPTPO_MODEL": "openai/x"}) == "openai/x"


def test_without_a_model_and_a_recording_the_line_says_how_to_configure_one():
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        default_model("no_such_spec", {})


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After-Ms": "1500", "Retry-After": "2"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({}, None),
        (None, None),
        ({"Retry-After": formatdate(0, usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_read(headers, seconds):
    assert retry_after(headers) == seconds


def test_retry_after_may_be_a_date():
    wait = retry_after({"Retry-After": formatdate(time.time() + 60, usegmt=True)})
    assert wait == pytest.approx(60, abs=2)


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdef123456.",
        "GET https://host/v1?key=abcdef123456&alt=sse",
        "https://user:abcdef123456@host/v1",
        "token abcdef123456 refused",
    ],
)
def test_secrets_are_blotted_out(text):
    assert "abcdef" not in without_secrets(text, {"MY_TOKEN": "abcdef123456"})
