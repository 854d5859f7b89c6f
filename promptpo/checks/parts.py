"""Checks of what the model reads but action and reward: the observation, the prompt."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from promptpo.checks.action import ROUNDING
from promptpo.checks.findings import Finding, judged
from promptpo.checks.play import Played, observation_class
from promptpo.spec import EnvSpec, Flat, LayoutField, layout, prompt_parts
from promptpo.spec.authoring.source import PartError, source_of


def check_observation(played: Played) -> Iterator[Finding]:
    """Fields are filled as documented, in every observation met; values are owned and plain."""
    fields = layout(played.spec.observation)
    seen = played.observations
    problems = [] if np.isfinite(seen).all() else ["a value is not finite"]
    for item in fields:
        problems += _field_problems(item, seen[:, item.start : item.stop])
    count = f"{len(fields)} fields, {fields[-1].stop} numbers"
    yield judged("observation", problems, f"{count}; {len(seen):,} observations as documented")
    yield judged("owned", _not_owned(played), "plain numbers and arrays of their own")


def _field_problems(item: LayoutField, values: Flat) -> Iterator[str]:
    if not item.field.doc:
        yield f"{item.name} has no doc"
    if item.kind in ("int", "bool") and (values != np.rint(values)).any():
        yield f"{item.name} is documented {item.kind}, but holds fractions"
    for bound, word, worst, sign in (
        (item.field.low, "below", values.min(axis=0), 1.0),
        (item.field.high, "above", values.max(axis=0), -1.0),
    ):
        if bound is None:
            continue
        stated = np.broadcast_to(np.asarray(bound, dtype=np.float64).reshape(-1), worst.shape)
        excess = sign * (stated - worst)
        if (excess > ROUNDING * np.maximum(1.0, np.abs(stated))).any():
            at = int(excess.argmax())
            where = f"{item.name}[{at}]" if item.kind == "array" else item.name
            yield f"{where} reaches {worst[at]:.6g}, {word} its documented {stated[at]:g}"


def _not_owned(played: Played) -> list[str]:
    """Fields of a filled observation that are neither plain numbers nor arrays of their own."""
    see = observation_class(played.spec)
    wrong = []
    for name, value in vars(see(played.firsts[0])).items():
        plain = type(value) in (float, int, bool)
        array = type(value) is np.ndarray and value.dtype == np.float64
        if not plain and not (array and not np.shares_memory(value, played.firsts[0])):
            wrong.append(f"{name} is a {type(value).__name__} that is not its own")
    return wrong


def check_prompt(spec: EnvSpec) -> Iterator[Finding]:
    """The size of the first prompt; it says what the task is, and nothing that is private."""
    from promptpo.prompts import count_tokens
    from promptpo.prompts.promptpo import policy_messages
    from promptpo.run.settings import build

    messages = policy_messages(spec, build())
    tokens = sum(count_tokens(message.content) for message in messages)
    text = prompt_parts(spec).text.lower()
    private = (*spec.withheld, *constructor_phrases(spec))
    problems = [f"contains {phrase!r}" for phrase in private if phrase.lower() in text]
    if spec.title == spec.name and not spec.description:
        problems.append(
            f"does not say what the task is; begin {spec.where} with a docstring: a line that "
            "is the task's title, an empty line, a paragraph that describes it"
        )
    detail = f"about {tokens:,} tokens; none of {len(private)} private phrases in it"
    if not spec.description:
        detail += "; no description but the title, add one to the module docstring"
    yield judged("prompt", problems, detail)


def constructor_phrases(spec: EnvSpec) -> tuple[str, ...]:
    """How the environment is built and read: definitions and calls of the private parts."""
    phrases = ["EnvSpec", "gymnasium", "import "]
    for part in (spec.make, spec.observe, spec.reset, spec.expert):
        if part is None:
            continue
        try:
            node = source_of(part).node
        except PartError:  # a lambda
            continue
        phrases.append(f"def {node.name}(")
        calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        # Constructors are told from other calls by their names: make, gymnasium.make, NoiseWorld.
        names = (ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute))
        phrases += [f"{n}(" for n in names if "make" in n.lower() or n[:1].isupper()]
    return tuple(dict.fromkeys(phrases))
