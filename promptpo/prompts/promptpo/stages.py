"""The messages of every kind of model call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from promptpo.common import bounds
from promptpo.common.plaintext import clean, shortened
from promptpo.config import RunConfig
from promptpo.llm.messages import Message
from promptpo.prompts.promptpo.history import REFLECTION, render_history
from promptpo.prompts.task import filled, imports_text, task_text, template
from promptpo.types import Candidate, Episode, Key, Note, Rollout, Round

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

Messages = tuple[Message, ...]


def policy_messages(
    spec: EnvSpec, config: RunConfig, rounds: Sequence[Round] = (), notes: Sequence[Note] = ()
) -> Messages:
    """Ask for a policy, given what earlier rounds showed and the reflection among the notes."""
    history = _history(config, rounds)
    for note in notes:
        history += f"## Reflection on the last round\n\n{note.text}\n\n"
    return filled(
        "promptpo/policy",
        task=task_text(spec, config),
        history=history,
        improve=", better than all before it" if rounds else "",
        imports=imports_text(spec),
        act_timeout=f"{config.act_timeout:g}",
        episode_timeout=f"{config.episode_timeout:g}",
    )


def feedback_messages(spec: EnvSpec, config: RunConfig) -> Messages:
    """Ask for the class that turns episodes into text."""
    return filled(
        "promptpo/feedback",
        task=task_text(spec, config),
        imports=imports_text(spec),
        text_chars=bounds.SUMMARY,
        success="True or False" if spec.success else "None (this task defines no success)",
    )


def reflection_messages(spec: EnvSpec, config: RunConfig, rounds: Sequence[Round]) -> Messages:
    """Ask how the last round's winner compares, and why."""
    return filled(
        "promptpo/reflection",
        task=task_text(spec, config),
        history=_history(config, rounds),
        round=rounds[-1].number,
    )


def repair_messages(
    asked: Messages, reply: str, what: str, error: str, output: str = ""
) -> Messages:
    """Continue a conversation: the reply to ``asked`` failed with ``error``."""
    output, error = _quoted(output, bounds.ERROR), _quoted(error, bounds.ERROR)
    printed = f"\nIt had printed:\n\n```\n{output}\n```\n" if output else ""
    text = template("promptpo/repair").substitute(what=what, error=error, output=printed)
    quoted = shortened(clean(reply), bounds.QUOTE)
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))


def reflection_text(reply: str) -> str:
    """What the prompts after a reflection quote of it."""
    return _quoted(reply, bounds.REFLECTION)


def _quoted(text: str, most: int) -> str:
    """Text that a prompt quotes: without what surrounds it, control characters and excess."""
    return shortened(clean(text.strip()), most)


def render_all(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """Every stage's messages; what only a run can fill in stands in angle brackets."""
    rounds = [_placeholder_round(spec)]
    first = policy_messages(spec, config)
    reflected = Note(REFLECTION, "<the reply to the reflection prompt>")
    code = "```python\n<the source that failed>\n```"
    return [
        ("feedback", feedback_messages(spec, config)),
        ("policy, round 1", first),
        ("reflection, after round 1", reflection_messages(spec, config, rounds)),
        (
            "policy, round 2 and later",
            policy_messages(spec, config, rounds, [reflected]),
        ),
        ("repair of a policy", repair_messages(first, code, "policy", "<the error>")),
    ]


def _placeholder_round(spec: EnvSpec) -> Round:
    blank = Episode(0, float("nan"), 0, False if spec.success else None)
    winner = Candidate(
        Key(1, 1), "<the source of the winner of round 1>", Rollout("search", (), (blank,))
    )
    loser = Candidate(Key(1, 2), None, error="<why candidate 2 failed, or its score>")
    told = episode_notes(["<what Feedback made of this episode>"])
    return Round(1, (winner, loser), winner, told)


def episode_notes(texts: Sequence[str]) -> tuple[Note, ...]:
    """What a Feedback class made of a winner's episodes, as notes of its round."""
    return tuple(Note(f"Episode {i}", text) for i, text in enumerate(texts, 1))


def _history(config: RunConfig, rounds: Sequence[Round]) -> str:
    return render_history(rounds, config.options.history_tokens) if rounds else ""
