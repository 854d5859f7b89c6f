"""Sources of new specs: of ids that Gymnasium knows, and with an environment of one's own."""

from __future__ import annotations

import contextlib
import io
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from promptpo.spec.calls import one_line
from promptpo.spec.definition import Field, Space, UnknownMember, Unsuitable
from promptpo.spec.writing import (
    WIDTH,
    docstring,
    element_names,
    field_source,
    identifier,
    number_literal,
    prose_of,
    section,
    sections_of,
    table_text,
    wrapped,
)

#: Package -> what brings it.
_EXTRAS = {
    "Box2D": "promptpo[box2d]",
    "minigrid": "promptpo[minigrid]",
    "gymnasium_robotics": "promptpo[pointmaze]",
}


def registered_ids() -> list[str]:
    """The ids that Gymnasium registers itself, its adapters for older environments left out."""
    import gymnasium

    return sorted(
        name
        for name, entry in gymnasium.registry.items()
        if str(entry.entry_point).startswith("gymnasium.envs") and not name.startswith("GymV")
    )


def registered_source(env_id: str, *, draft: bool) -> str:
    """The source of a spec for an id, which may be ``package:id``; see ``spec_source``.

    Raises:
        UnknownMember: there is no such id.
        Unsuitable: a package is missing, or its observations or actions do not fit.
    """
    with _made(env_id) as env:
        module = str(getattr(env.spec, "entry_point", ""))
        return spec_source(env, env_id, draft=draft, install=_install_of(env_id, module))


@contextlib.contextmanager
def _made(env_id: str) -> Iterator[Any]:
    import gymnasium

    package, colon, _ = env_id.rpartition(":")
    if not colon and env_id not in gymnasium.registry:
        raise UnknownMember(env_id)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            env = gymnasium.make(env_id, disable_env_checker=True)
    except gymnasium.error.UnregisteredEnv as error:
        raise UnknownMember(env_id) from error
    except Exception as error:
        entry = gymnasium.registry.get(env_id)
        lacking = _missing(error, package, str(entry.entry_point if entry else ""))
        if lacking is None:
            raise Unsuitable(f"the environment does not construct: {one_line(error)}") from error
        name, install = lacking
        raise Unsuitable(
            f"the package {name!r} is not installed; run: pip install '{install}'"
        ) from error
    try:
        yield env
    finally:
        env.close()


def _missing(error: Exception, package: str, entry: str) -> tuple[str, str] | None:
    """The package that an error says is missing, and what brings it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            name = cause.name.partition(".")[0]
            return name, _EXTRAS.get(name, name)
        cause = cause.__cause__ or cause.__context__
    if type(error).__name__ == "DependencyNotInstalled":
        return package or "gymnasium", _install_of(package, entry) or "gymnasium[all]"
    return None


def _install_of(env_id: str, entry_point: str) -> str:
    """What brings the packages of an environment beyond those that promptpo needs itself."""
    if "box2d" in entry_point:
        return _EXTRAS["Box2D"]
    package = env_id.rpartition(":")[0] or entry_point.partition(".")[0]
    return _EXTRAS.get(package, "")


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


#: An observation of more numbers than these is a picture, or might as well be one.
_MOST_NUMBERS = 2_000

#: From here on a bound of float32 means that there is none.
_NO_BOUND = 3.4e38


@dataclass(frozen=True)
class NamedField:
    """One field: its name, annotation and description."""

    name: str
    annotation: str
    field: Field


def fields_of(space: Space, documentation: str) -> list[NamedField]:
    """The fields of a space, in the order of its numbers, with a name each.

    ``documentation`` is what is documented of it. Those that have no name, or another's, are
    numbered. Raises Unsuitable where numbers cannot hold it.
    """
    items = list(_fields(space, documentation))
    given = [item.name or f"value_{place}" for place, item in enumerate(items, 1)]
    names: list[str] = []
    for name in given:
        own, number = name, 1
        while own in names or (number > 1 and own in given):
            number += 1
            own = f"{name}_{number}"
        names.append(own)
    return [replace(item, name=name) for item, name in zip(items, names, strict=True)]


def _fields(space: Space, documentation: str, name: str = "") -> Iterator[NamedField]:
    """The fields of a space, in the order of its numbers; ``name`` is that of the whole."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        for key, part in space.spaces.items():
            yield from _fields(part, "", f"{name}_{key}" if name else str(key))
    elif isinstance(space, spaces.Tuple):
        for number, part in enumerate(space.spaces, 1):
            yield from _fields(part, "", f"{name or 'part'}_{number}")
    elif isinstance(space, spaces.Discrete):
        start = int(space.start)
        last = start + int(space.n) - 1
        field = Field(low=start, high=last, doc=_doc(name, "a whole number"))
        yield _item(name or "state", "int", field)
    elif isinstance(space, spaces.MultiDiscrete):
        high = tuple(int(n) - 1 for n in np.ravel(space.nvec))
        field = Field(space.shape, low=0, high=high, doc=_doc(name, "whole numbers"))
        yield _item(name or "state", "np.ndarray", field)
    elif isinstance(space, spaces.MultiBinary):
        field = Field(tuple(space.shape), low=0, high=1, doc=_doc(name, "zeros and ones"))
        yield _item(name or "state", "np.ndarray", field)
    elif isinstance(space, spaces.Box):
        yield from _box_fields(space, documentation, name)
    else:
        what = f"its part {name!r}" if name else "its observation"
        raise Unsuitable(
            f"{what} is of type {type(space).__name__}, which has no fixed number of numbers; "
            "write a spec file whose observe(raw, env) returns numbers"
        )


def _box_fields(space: Space, documentation: str, name: str) -> Iterator[NamedField]:
    picture = space.dtype == np.uint8 and len(space.shape) >= 2
    if picture or math.prod(space.shape) > _MOST_NUMBERS:
        what = "a picture" if picture else "too large"
        raise Unsuitable(
            f"its observation {name + ' ' if name else ''}of shape {space.shape} is {what}; write "
            "a spec file whose observe(raw, env) returns what a policy needs of it as numbers"
        )
    if not space.shape:
        yield _item(name or "state", "float", Field(doc=_doc(name, "a number"), **_bounds(space)))
        return
    count = int(space.shape[0])
    rows = element_names(documentation, count) if len(space.shape) == 1 else None
    if rows is None:
        field = Field(tuple(space.shape), **_bounds(space), doc=_doc(name, "as told above"))
        yield _item(name or "state", "np.ndarray", field)
        return
    for index, (element, words, unit) in enumerate(rows):
        low, high = _bound(space.low[index]), _bound(space.high[index])
        yield _item(element, "float", Field(unit=unit, low=low, high=high, doc=words))


def _item(name: str, annotation: str, field: Field) -> NamedField:
    return NamedField(identifier(name), annotation, field)


def _doc(name: str, otherwise: str) -> str:
    if re.fullmatch(r"part_\d+", name):
        return f"{name.replace('_', ' ')} of what is told above"
    return name.replace("_", " ") or otherwise


def _bounds(space: Space) -> dict[str, Any]:
    """Bounds of a Box as a field has them."""
    found: dict[str, Any] = {}
    for side in ("low", "high"):
        values = [_bound(value) for value in np.ravel(getattr(space, side))]
        if all(value is None for value in values):
            continue
        if len(set(values)) == 1:
            found[side] = values[0]
        else:
            none = -math.inf if side == "low" else math.inf
            found[side] = tuple(none if value is None else value for value in values)
    return found


def _bound(value: float) -> float | None:
    return float(value) if abs(float(value)) < _NO_BOUND else None


#: A spec file as any other; the environment's name stands in it as a class and as a title.
_OWN = Path(__file__).parent / "templates" / "own_environment.py"
_CLASS, _TITLE = "CartOnRail", "Cart on rail"


def own_source(name: str) -> str:
    """The template's text with ``NightShift`` and ``Night shift`` for ``night_shift``.

    Raises:
        ValueError: the name has other characters than ASCII letters, digits, ``_``, ``-`` and
            spaces, or begins with no letter.
    """
    text = _OWN.read_text(encoding="utf-8")
    # Import sorters set a project's own packages apart: here promptpo is one, there it is not.
    text = text.replace("\n\nfrom promptpo", "\nfrom promptpo")
    if not re.fullmatch(r"[A-Za-z][\w -]*", name, re.ASCII):
        raise ValueError(name)
    words = re.findall(r"[A-Za-z0-9]+", name)
    own = "".join(word[:1].upper() + word[1:] for word in words)
    if re.search(rf"\b{own}\b", text):  # such as Observation
        own += "Env"
    title = " ".join(words)
    return text.replace(_CLASS, own).replace(_TITLE, title[:1].upper() + title[1:])
