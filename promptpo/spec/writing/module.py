"""Specs of Gymnasium ids, assembled from spaces, bounds and docstrings."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from promptpo.spec.authoring.definition import Space, Unsuitable
from promptpo.spec.writing.documentation import (
    prose_of,
    section,
    sections_of,
    table_text,
)
from promptpo.spec.writing.formatting import WIDTH, docstring, field_source, number_literal, wrapped
from promptpo.spec.writing.space_fields import NamedField, fields_of

#: Steps of an episode of an environment that has no limit of its own.
HORIZON = 1000

_TEMPLATE = '''\
{docstring}

{imports}


class Observation:
{class_docstring}

{fields}


ACTION = """
{action}
"""


def reward(
    observation: Observation, action: {action_type}, next_observation: Observation
) -> float:
{reward_docstring}
    return float("nan"){reward_comment}


def make() -> Env:
    """{made}"""
    import gymnasium

    return gymnasium.make("{env_id}", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
{arguments})
'''

_FILL_IN = (
    "FILL IN: compute the reward of one step from what the policy sees, exactly as the "
    "environment does; then remove this paragraph. (Where that cannot be done: describe it in "
    "words, and state reward_tolerance=None below.)"
)
_IN_WORDS = "Reward of one step, told in words: the environment computes it."


def spec_source(env: Any, env_id: str, *, draft: bool, install: str = "") -> str:  # noqa: ANN401
    """The text of a spec module for an environment that was made from ``env_id``.

    A ``draft`` is for a person to edit: its reward is marked as to be filled in. Otherwise the
    reward is in words only, as far as it is documented.

    Raises:
        Unsuitable: an observation or action that fields and numbers cannot hold.
    """
    documented = sections_of(env)
    limit = env.spec.max_episode_steps if env.spec else None
    fields = fields_of(env.observation_space, section(documented, "observation", "state"))
    documentation = section(documented, "reward")
    lines = [_FILL_IN] if draft else []
    lines += [documentation] if documentation else [] if draft else ["It is not documented."]
    summary = "Reward of one step." if draft else _IN_WORDS
    comment = "  # FILL IN" if draft else ""
    arrays = any(item.annotation == "np.ndarray" for item in fields) or _is_array(env)
    text = _TEMPLATE.format(
        docstring=_module_docstring(env, env_id, documented),
        imports=("import numpy as np\n" if arrays else "")
        + "from promptpo.spec import Env, EnvSpec, field",
        class_docstring=_class_docstring(documented, fields),
        fields="\n".join(field_source(i.name, i.annotation, i.field) for i in fields),
        action=wrapped(_action_text(env.action_space, section(documented, "action"))),
        action_type="np.ndarray" if _is_array(env) else "int",
        reward_docstring=docstring(summary, lines, indent=4),
        reward_comment=comment,
        made=f"Gymnasium's {env_id}.",
        env_id=env_id,
        arguments=_arguments(limit, install, draft=draft),
    )
    return _one_line_signature(text)


def _one_line_signature(text: str) -> str:
    """Join the signature of ``reward`` where it fits on one line, as ruff would."""
    for kind in ("int", "np.ndarray"):
        split = (
            f"def reward(\n    observation: Observation, action: {kind}, "
            "next_observation: Observation\n) -> float:"
        )
        joined = split.replace("(\n    ", "(").replace("\n) ->", ") ->")
        if len(joined) <= WIDTH:
            text = text.replace(split, joined)
    return text


def _arguments(limit: int | None, install: str, *, draft: bool) -> str:
    rows = [] if draft else ["reward_tolerance=None,  # in words only"]
    rows.append(
        f"horizon={limit}," if limit else f"horizon={HORIZON},  # it has no limit of its own"
    )
    if install:
        rows.append(f'install="{install}",')
    if draft:
        rows += [
            "# Where the task has a goal, whether a step met it:",
            "# success=lambda info, reward, terminated: terminated,",
            "# Measured: python -m promptpo.spec.baselines THIS_FILE --episodes 100",
            "references={},",
        ]
    return "".join(f"    {row}\n" for row in rows)


def _module_docstring(env: Any, env_id: str, documented: dict[str, str]) -> str:  # noqa: ANN401
    description = prose_of(section(documented, "description", "")) or type(env.unwrapped).__name__
    first = re.split(r"(?<=\w\w)\.(?:\s|$)", description.splitlines()[0])[0]
    name = env_id.rpartition(":")[2]
    title = f"{name}: {first}."
    if len(title) > WIDTH - 3:
        title = f"{name}: the task that is described below."
    parts = [description]
    for text in (section(documented, word) for word in ("starting", "episode")):
        parts += [prose_of(text), table_text(text)]
    return docstring(title, [part for part in parts if part])


def _class_docstring(documented: dict[str, str], fields: list[NamedField]) -> str:
    documentation = section(documented, "observation", "state")
    named = all(item.annotation != "np.ndarray" for item in fields)
    paragraphs = [prose_of(documentation), "" if named else table_text(documentation)]
    summary = "What the environment returns, before each action."
    return docstring(summary, [text for text in paragraphs if text], indent=4)


def _is_array(env: Any) -> bool:  # noqa: ANN401 - a Gymnasium environment
    return not hasattr(env.action_space, "n") or bool(env.action_space.shape)


def _action_text(space: Space, documentation: str) -> str:
    """The space in words, and what is documented of it."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        numbers = [str(int(space.start) + n) for n in range(int(space.n))]
        few = len(numbers) <= 10
        words = ", ".join(numbers) if few else f"from {numbers[0]} to {numbers[-1]}"
        head = f"An int{':' if few else ''} {words}."
    elif isinstance(space, spaces.Box):
        head = _box_action(space)
    elif isinstance(space, spaces.MultiDiscrete):
        counts = ", ".join(str(int(n)) for n in np.ravel(space.nvec))
        head = f"An array of {space.nvec.size} ints from 0 on; so many values each: {counts}."
    elif isinstance(space, spaces.MultiBinary):
        head = f"An array of {math.prod(space.shape)} ints, each 0 or 1 (2 values)."
    else:
        raise Unsuitable(
            f"its actions are of type {type(space).__name__}; write a spec file whose make() "
            "wraps it so that actions are Discrete, MultiDiscrete or Box"
        )
    rows = [head, prose_of(documentation).replace("\n\n", "\n"), table_text(documentation)]
    return "\n".join(row for row in rows if row)


def _box_action(space: Space) -> str:
    low, high = np.ravel(space.low), np.ravel(space.high)
    size = f"{low.size} float{'' if low.size == 1 else 's'}"
    shape = f", shape {tuple(space.shape)}" if len(space.shape) > 1 else ""
    pairs = [f"[{number_literal(a)}, {number_literal(b)}]" for a, b in zip(low, high, strict=True)]
    if len(set(pairs)) == 1:
        each = f"in {pairs[0]}" if low.size == 1 else f"each in {pairs[0]}"
    else:
        each = f"in turn in {', '.join(pairs)}"
    return f"An array of {size}{shape}, {each} (values beyond are clipped)."
