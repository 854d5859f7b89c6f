"""What providers tell of the tokens that they read from their caches."""

import pytest

from promptpo.llm.usage import cached_of

NUMBERS = {"prompt_tokens": 1000, "completion_tokens": 20}


@pytest.mark.parametrize(
    "told",
    [
        {"prompt_tokens_details": {"cached_tokens": 800}},
        {"cache_read_input_tokens": 800, "cache_creation_input_tokens": 100},
        {"prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 200},
        {"cachedContentTokenCount": 800, "prompt_tokens_details": {"text_tokens": 1000}},
    ],
    ids=["openai", "anthropic", "deepseek", "gemini"],
)
def test_tokens_from_the_cache_are_found_in_every_providers_form(told):
    assert cached_of({**NUMBERS, **told}) == 800


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "usage",
        NUMBERS,
        {**NUMBERS, "prompt_tokens_details": "x"},
        {**NUMBERS, "prompt_tokens_details": {"cached_tokens": None}},
        {**NUMBERS, "cache_read_input_tokens": "800"},
        {**NUMBERS, "cache_read_input_tokens": -1},
        {**NUMBERS, "prompt_cache_hit_tokens": 1001},
    ],
)
def test_what_is_not_told_or_cannot_be_is_unknown(usage):
    assert cached_of(usage) is None


def test_nothing_of_the_prompt_may_have_been_cached():
    assert cached_of({**NUMBERS, "prompt_tokens_details": {"cached_tokens": 0}}) == 0


def test_where_nothing_was_sent_nothing_was_cached():
    assert cached_of({"prompt_tokens": 0, "completion_tokens": 0}) == 0
