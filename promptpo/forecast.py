"""What a run may take, before it takes it: ``--dry-run``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from promptpo.config import RunConfig
from promptpo.prompts import feedback_messages, policy_messages, reflection_messages
from promptpo.prompts.history import count_tokens
from promptpo.spec import EnvSpec, load_spec
from promptpo.types import Candidate, Message, Rollout, Round

#: Tokens of a typical reply: a policy with some thought before it.
REPLY_TOKENS = 1500

#: Rounds, and candidates and episodes of each in the history, looked at where there are more.
_LOOKED_AT = 20


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
    finalists = rounds if rounds > 1 else 0
    return Forecast(
        calls=calls,
        max_calls=calls + (n * rounds + 1) * config.max_repairs,
        prompt_tokens=_tokens(feedback_messages(spec, config)) + _round_tokens(spec, config),
        completion_tokens=REPLY_TOKENS * (1 + n * rounds) + 150 * reflections,
        search_steps=rounds * n * config.episodes * spec.horizon,
        selection_steps=finalists * config.selection_episodes * spec.horizon,
        test_steps=config.test_episodes * spec.horizon,
    )


def _tokens(messages: tuple[Message, ...]) -> int:
    return sum(count_tokens(m.content) for m in messages)


def _round_tokens(spec: EnvSpec, config: RunConfig) -> int:
    """Tokens of the prompts of all rounds; of very many rounds some are looked at."""
    last = config.rounds
    step = (last - 1) / (_LOOKED_AT - 1)
    looked = range(1, last + 1) if last <= _LOOKED_AT else [1 + step * i for i in range(_LOOKED_AT)]
    numbers = [round(number) for number in looked]
    tokens = [_tokens_of_round(spec, config, number) for number in numbers]
    between = zip(pairwise(numbers), pairwise(tokens), strict=True)
    area = sum((b - a) * (x + y) / 2 for (a, b), (x, y) in between)
    return round(area + (tokens[0] + tokens[-1]) / 2)


def _tokens_of_round(spec: EnvSpec, config: RunConfig, number: int) -> int:
    history = _typical_rounds(number - 1, config)
    tokens = config.candidates * _tokens(policy_messages(spec, config, history))
    if history and config.reflection:
        tokens += _tokens(reflection_messages(spec, config, history))
    return tokens


def _typical_rounds(count: int, config: RunConfig) -> list[Round]:
    """Rounds with sources and summaries of typical length."""
    source = "#" * (REPLY_TOKENS * 3)
    run = Rollout("search", (0,), (0.0,), (1,), (None,), 1)
    shown = config.candidates if count <= _LOOKED_AT else min(config.candidates, _LOOKED_AT)
    candidates = tuple(Candidate(1, i + 1, source, run) for i in range(shown))
    summaries = ("." * 600,) * min(config.episodes, _LOOKED_AT)
    told = range(1, min(count, 10 * _LOOKED_AT) + 1)
    return [Round(i, candidates, candidates[0], summaries, "." * 500) for i in told]
