"""The parts that prompts of all methods share: the task, templates, and quoted text.

Text of programs and of replies stands in a fence that is longer than any row of backticks in it, or
it stands in a paragraph, and there a line of it that could pass for a heading, a fence or the score
of a policy is marked as quoted, with ``> `` before it.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from promptpo.common.plaintext import clean
from promptpo.common.text import GATHERED, bound_words
from promptpo.llm.messages import Message

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.spec import EnvSpec

Messages = tuple[Message, ...]

#: Characters per token, on average, for English and Python. A rule of thumb: tokenizers differ
#: between providers, and a budget needs no better.
CHARS_PER_TOKEN = 4


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return len(text) // CHARS_PER_TOKEN + 1


def message_tokens(messages: Messages) -> int:
    """Return about how many tokens the messages of a call have."""
    return sum(count_tokens(m.content) for m in messages)


def task_text(spec: EnvSpec, config: RunConfig) -> str:
    """Return the task as a model may see it: observation, action, facts, reward, scoring."""
    from promptpo.spec import layout, prompt_parts

    parts = prompt_parts(spec)
    config = config.for_spec(spec)
    ranked = objective_words(spec, config)
    lowest = "" if ranked == "mean return" else "; of fewer than ten episodes the lowest counts"
    scoring = (
        f"A policy is scored by the share of episodes that succeed, ties by the {ranked}"
        f" (an episode's return is the sum of its rewards{lowest})."
        if spec.defines_success
        else f"A policy is scored by its {ranked}; an episode's return is the sum of its rewards"
        f"{lowest}."
    )
    lifetime = "A new `Policy` object is made for every episode."
    if config.policy_lifetime == "evaluation":
        lifetime = template("lifetime").substitute(life=config.life).strip()
    return (
        template("task")
        .substitute(
            title=parts.title,
            description=parts.description,
            observation=parts.observation,
            first_field=layout(spec.observation)[0].name,
            action=parts.action,
            facts=f"## Facts of the body\n\n{parts.facts}\n\n"
            if parts.facts and config.facts
            else "",
            reward=parts.reward,
            horizon=parts.horizon,
            scoring=scoring + ("" if config.published_prompt else _best_possible(spec)),
            lifetime=lifetime,
            measured=_measured(spec),
        )
        .strip()
    )


def objective_words(spec: EnvSpec, config: RunConfig) -> str:
    """Return the return that ranks policies, in words."""
    if (config.objective or spec.objective) == "mean":
        return "mean return"
    return "mean return of the worst tenth of its episodes"


def _measured(spec: EnvSpec) -> str:
    """Return a section on metrics and constraints; empty for a spec without any."""
    parts = []
    if spec.metrics:
        parts.append("## What else is measured in an episode\n")
        for name, metric in spec.metrics.items():
            gauge = metric.gauge
            better = f"{gauge.better}er is better" if gauge.better else ""
            words = ", ".join(filter(None, (gauge.unit, GATHERED[gauge.gather], better)))
            parts.append(_entry(f"{name} ({words})", metric.doc))
    if spec.constraints:
        also = "is no success" if spec.success else "fails; one in which all hold succeeds"
        parts.append(f"\n## Constraints\n\nAn episode that breaks one of these {also}:\n")
        for name, constraint in spec.constraints.items():
            parts.append(_entry(f"{name}, {bound_words(constraint.gauge)}", constraint.doc))
    return "\n\n" + "\n".join(parts).strip() if parts else ""


def _entry(words: str, doc: str) -> str:
    text = f"- {words}{': ' * bool(doc)}{doc}"
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False)


def _best_possible(spec: EnvSpec) -> str:
    """Return what can be reached at most, where the spec states its optimum."""
    optimum = spec.reference_scores.get("optimum")
    if optimum is None:
        return ""
    rate = optimum.success_rate
    success = "" if rate is None else f" and a success rate of {rate:.3g}"
    best = f"{optimum.mean_return:.6g}"
    return f" The best that any policy can reach is a mean return of {best}{success}."


def imports_text(spec: EnvSpec) -> str:
    """Return the line that names what a policy may import."""
    import sandbox

    names = ", ".join(f"`{name}`" for name in (*sandbox.ALLOWED_IMPORTS, *spec.extra_imports))
    return textwrap.fill(f"- Available: {names}.", 96, subsequent_indent="  ")


def filled(name: str, system: str = "system", /, **values: object) -> Messages:
    """Return the message ``system``, and a template with its values as the user's.

    All that are asked about a task share it (``task``), which comes first; those that are asked of
    a round share what has been found before it, too (``history``), and those that are asked at once
    all but what is said to one alone, where that comes last (``turn``).
    """
    text = template(name).substitute(values).strip()
    task, history, turn = (
        str(values.get(part, "")).strip() for part in ("task", "history", "turn")
    )
    shared = []
    if task and text.startswith(task):
        shared.append(len(task))
        if history and text.startswith(beginning := f"{task}\n\n{history}"):
            shared.append(len(beginning))
    if turn and text.endswith(turn):
        shared.append(len(text) - len(turn))
    return (
        Message("system", " ".join(template(system).template.split())),
        Message("user", text, tuple(shared)),
    )


@cache
def template(name: str) -> Template:
    """Return a template, by its path below ``templates`` without ``.md``."""
    path = files("promptpo.prompts").joinpath(f"templates/{name}.md")
    return Template(path.read_text(encoding="utf-8"))


_NAMED = r"(?:r\d+_c\d+|candidate[ ]\d+)"

_FORGING = re.compile(
    rf"""^(?=[ \t]*(?:
        [#]{{1,6}}(?:[ \t]|$) | `{{3}} | ~{{3}} | [=-]{{3,}}[ \t]*$
        | (?:[-*+][ \t]+)?[*]{{0,2}}{_NAMED}[*]{{0,2}}[ \t]*(?:\([^()\n]*\)[ \t]*)?[:,][ \t]*
          (?:success|return|mean[ ]return|failed)\b
        | [*]{{2}}{_NAMED}[*]{{2}}
        | score:[ \t]*(?:success|return|failed)\b | winner:[ \t]*{_NAMED}
        | best[ ]so[ ]far:[ \t]*the[ ]winner | the[ ]best[ ]so[ ]far[ ]is[ ]{_NAMED}
    ))""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)


def quoted(text: str) -> str:
    """Return text for a paragraph without control characters, what could pass for ours marked."""
    return _FORGING.sub("> ", clean(text))
