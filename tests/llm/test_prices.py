"""Prices by litellm's own table, found without importing litellm."""

import subprocess
import sys

import pytest

from promptpo.llm.prices import Price, price_of


def test_a_price_is_litellms(tmp_path):
    import litellm

    for name in ("gpt-5", "openai/gpt-5", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"):
        prompt, reply = litellm.cost_per_token(
            model=name, prompt_tokens=1000, completion_tokens=2000
        )
        found = price_of(name)
        assert found is not None
        assert found.of(1000, 2000) == pytest.approx(prompt + reply)


@pytest.mark.parametrize(
    "name",
    ["no-such-model", "openai/no-such-model", "anthropic/gpt-5", "ollama/llama2", "", "recorded"],
)
def test_what_has_no_price_is_not_known(name):
    assert price_of(name) is None


def test_a_price_is_for_tokens():
    assert Price(1e-6, 1e-5).of(1_000_000, 100_000) == pytest.approx(2.0)


def test_litellm_is_not_imported_for_it():
    script = (
        "import sys; from promptpo.llm.prices import price_of;"
        " print(price_of('gpt-5') is not None, 'litellm' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False"]
