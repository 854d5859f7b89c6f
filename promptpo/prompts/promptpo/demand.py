"""What PromptPO's prompts come to, before a run: in tokens, of rounds of typical length."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from promptpo.config import RunConfig
from promptpo.prompts.promptpo.memory import BEST, MEDIAN, REFLECTION, WORST, Memory
from promptpo.prompts.promptpo.stages import (
    Messages,
    episode_notes,
    feedback_messages,
    policy_messages,
    reflection_messages,
)
from promptpo.prompts.task import count_tokens
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: Rounds, and candidates and episodes of each in the history, looked at where there are more.
_LOOKED_AT = 20


def prompt_tokens(spec: EnvSpec, config: RunConfig, reply_tokens: int) -> int:
    """About how many tokens the prompts of a run have, with replies of so many each.

    Of very many rounds some are looked at.
    """
    last = config.rounds
    step = (last - 1) / (_LOOKED_AT - 1)
    looked = range(1, last + 1) if last <= _LOOKED_AT else [1 + step * i for i in range(_LOOKED_AT)]
    numbers = [round(number) for number in looked]
    tokens = [_of_round(spec, config, number, reply_tokens) for number in numbers]
    between = zip(pairwise(numbers), pairwise(tokens), strict=True)
    area = sum((b - a) * (x + y) / 2 for (a, b), (x, y) in between)
    return _tokens(feedback_messages(spec, config)) + round(area + (tokens[0] + tokens[-1]) / 2)


def _tokens(messages: Messages) -> int:
    return sum(count_tokens(m.content) for m in messages)


def _of_round(spec: EnvSpec, config: RunConfig, number: int, reply_tokens: int) -> int:
    rounds = _typical_rounds(number - 1, config, reply_tokens)
    feedback = "#" * (reply_tokens * 3)
    second = rounds[-1].candidates[-1] if rounds and config.options.second_line else None
    memory = Memory(
        tuple(rounds),
        second,
        reflection="." * 700 if rounds and config.options.reflection else "",
        feedback=feedback,
    )
    tokens = config.candidates * _tokens(policy_messages(spec, config, memory))
    if rounds and config.options.reflection:
        tokens += _tokens(reflection_messages(spec, config, memory))
    return tokens


def _typical_rounds(count: int, config: RunConfig, reply_tokens: int) -> list[Round]:
    """Rounds with sources and summaries of typical length."""
    run = Rollout("search", (0,), (Episode(0, 0.0, 1),), 1)
    shown = config.candidates if count <= _LOOKED_AT else min(config.candidates, _LOOKED_AT)
    told = tuple(Note(title, "." * 600) for title in (WORST, MEDIAN, BEST))
    candidates = tuple(
        Candidate(Key(1, i + 1), f"# {i}\n" + "#" * (reply_tokens * 3), run, notes=told)
        for i in range(shown)
    )
    published = config.options.history == "published"
    summaries = episode_notes(["." * 600] * min(config.first_episodes, _LOOKED_AT))
    rounds = range(1, min(count, 10 * _LOOKED_AT) + 1)
    notes = (Note(REFLECTION, "." * 500), *(summaries if published else ()))
    return [Round(i, candidates, candidates[0], notes) for i in rounds]
