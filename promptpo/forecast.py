"""What a run may take, before it takes it: ``--dry-run``."""

from __future__ import annotations

from dataclasses import dataclass

from promptpo.config import RunConfig
from promptpo.prompts import feedback_messages, policy_messages, reflection_messages
from promptpo.prompts.history import count_tokens
from promptpo.spec import load_spec
from promptpo.types import Candidate, Message, Rollout, Round

#: Tokens of a typical reply: a policy with some thought before it.
REPLY_TOKENS = 1500


@dataclass(frozen=True)
class Forecast:
    """Calls, tokens and environment steps to expect.

    ``calls`` is without repairs, ``max_calls`` with every candidate repaired as often as it may
    be. Tokens are rough: four characters a token, prompts that grow up to the history's budget.
    Steps are the most that whole episodes can take, by stream.
    """

    calls: int
    max_calls: int
    prompt_tokens: int
    completion_tokens: int
    search_steps: int
    selection_steps: int
    test_steps: int


def forecast(config: RunConfig) -> Forecast:
    """Count what ``config`` asks for. Raises SpecError."""
    spec = load_spec(config.spec, published=config.published_prompt, limit=config.env_timeout)
    n, rounds = config.candidates, config.rounds
    reflections = rounds - 1 if config.reflection else 0
    calls = 1 + n * rounds + reflections
    prompts = _tokens(feedback_messages(spec, config))
    for number in range(1, rounds + 1):
        history = _typical_rounds(number - 1, config)
        prompts += n * _tokens(policy_messages(spec, config, history))
        if history and config.reflection:
            prompts += _tokens(reflection_messages(spec, config, history))
    finalists = rounds if rounds > 1 else 0
    return Forecast(
        calls=calls,
        max_calls=calls + (n * rounds + 1) * config.max_repairs,
        prompt_tokens=prompts,
        completion_tokens=REPLY_TOKENS * (1 + n * rounds) + 150 * reflections,
        search_steps=rounds * n * config.episodes * spec.horizon,
        selection_steps=finalists * config.selection_episodes * spec.horizon,
        test_steps=config.test_episodes * spec.horizon,
    )


def _tokens(messages: tuple[Message, ...]) -> int:
    return sum(count_tokens(m.content) for m in messages)


def _typical_rounds(count: int, config: RunConfig) -> list[Round]:
    """Rounds with sources and summaries of typical length."""
    source = "#" * (REPLY_TOKENS * 3)
    run = Rollout("search", (0,), (0.0,), (1,), (None,), 1)
    candidates = tuple(Candidate(1, i + 1, source, run) for i in range(config.candidates))
    summaries = ("." * 600,) * config.episodes
    return [Round(i + 1, candidates, candidates[0], summaries, "." * 500) for i in range(count)]
