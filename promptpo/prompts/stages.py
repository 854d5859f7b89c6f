"""The messages of every kind of model call."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

from promptpo import bounds
from promptpo.config import RunConfig
from promptpo.plaintext import clean, shortened
from promptpo.prompts.history import render_history
from promptpo.rollout.jobs import SUMMARY_CHARS
from promptpo.spec import EnvSpec, layout, prompt_parts
from promptpo.types import Candidate, Message, Rollout, Round

Messages = tuple[Message, ...]

_LIFETIME = {
    "episode": "A new `Policy` object is made for every episode.",
    "evaluation": (
        "One `Policy` object lives through all episodes of an evaluation, one after another;"
        " if it has a method `reset(self)`, that is called between episodes."
    ),
}


def policy_messages(
    spec: EnvSpec, config: RunConfig, rounds: Sequence[Round] = (), reflection: str = ""
) -> Messages:
    """Ask for a policy, given what earlier rounds showed."""
    history = render_history(rounds, config.history_tokens)
    if reflection:
        history += f"## Reflection on the last round\n\n{reflection}\n\n"
    return _messages(
        "policy",
        task=_task(spec, config),
        history=history,
        improve=", better than all before it" if rounds else "",
        imports=_imports(spec),
        act_timeout=f"{config.act_timeout:g}",
        episode_timeout=f"{config.episode_timeout:g}",
    )


def feedback_messages(spec: EnvSpec, config: RunConfig) -> Messages:
    """Ask for the class that turns episodes into text."""
    return _messages(
        "feedback",
        task=_task(spec, config),
        imports=_imports(spec),
        text_chars=SUMMARY_CHARS,
        success="True or False" if spec.success else "None (this task defines no success)",
    )


def reflection_messages(spec: EnvSpec, config: RunConfig, rounds: Sequence[Round]) -> Messages:
    """Ask how the last round's winner compares, and why."""
    return _messages(
        "reflection",
        task=_task(spec, config),
        history=render_history(rounds, config.history_tokens),
        round=rounds[-1].number,
    )


def repair_messages(
    asked: Messages, reply: str, what: str, error: str, output: str = ""
) -> Messages:
    """Continue a conversation: the reply to ``asked`` failed with ``error``."""
    output, error = _told(output, bounds.ERROR), _told(error, bounds.ERROR)
    printed = f"\nIt had printed:\n\n```\n{output}\n```\n" if output else ""
    text = _template("repair").substitute(what=what, error=error, output=printed)
    quoted = shortened(clean(reply), bounds.QUOTE)
    return (*asked, Message("assistant", quoted), Message("user", text.strip()))


def reflection_text(reply: str) -> str:
    """What the prompts after a reflection quote of it."""
    return _told(reply, bounds.REFLECTION)


def _told(text: str, most: int) -> str:
    """Text that a prompt quotes: without what surrounds it, control characters and excess."""
    return shortened(clean(text.strip()), most)


def render_all(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
    """Every stage's messages; what only a run can fill in stands in angle brackets."""
    rounds = [_placeholder_round(spec)]
    first = policy_messages(spec, config)
    code = "```python\n<the source that failed>\n```"
    return [
        ("feedback", feedback_messages(spec, config)),
        ("policy, round 1", first),
        ("reflection, after round 1", reflection_messages(spec, config, rounds)),
        (
            "policy, round 2 and later",
            policy_messages(spec, config, rounds, "<the reply to the reflection prompt>"),
        ),
        ("repair of a policy", repair_messages(first, code, "policy", "<the error>")),
    ]


def _placeholder_round(spec: EnvSpec) -> Round:
    run = Rollout("search", (), successes=(False if spec.success else None,))
    winner = Candidate(1, 1, "<the source of the winner of round 1>", run)
    loser = Candidate(1, 2, None, None, error="<why candidate 2 failed, or its score>")
    return Round(1, (winner, loser), winner, ("<what Feedback made of this episode>",))


def _task(spec: EnvSpec, config: RunConfig) -> str:
    parts = prompt_parts(spec)
    lifetime = config.policy_lifetime or spec.policy_lifetime
    scoring = (
        "A policy is scored by the share of episodes that succeed, ties by the mean return"
        " (an episode's return is the sum of its rewards)."
        if spec.success
        else "A policy is scored by its mean return; an episode's return is the sum of its rewards."
    )
    return (
        _template("task")
        .substitute(
            title=parts.title,
            description=parts.description,
            observation=parts.observation,
            first_field=layout(spec.observation)[0].name,
            action=parts.action,
            reward=parts.reward,
            horizon=parts.horizon,
            scoring=scoring,
            lifetime=_LIFETIME[lifetime],
        )
        .strip()
    )


def _imports(spec: EnvSpec) -> str:
    import sandbox

    names = ", ".join(f"`{name}`" for name in (*sandbox.ALLOWED_IMPORTS, *spec.extra_imports))
    return textwrap.fill(f"- Available: {names}.", 96, subsequent_indent="  ")


def _messages(stage: str, **values: object) -> Messages:
    return (
        Message("system", " ".join(_template("system").template.split())),
        Message("user", _template(stage).substitute(values).strip()),
    )


@cache
def _template(name: str) -> Template:
    path = files("promptpo.prompts") / "templates" / f"{name}.md"
    return Template(path.read_text(encoding="utf-8"))
