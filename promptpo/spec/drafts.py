"""Sources of new specs: of ids that Gymnasium knows, and with an environment of one's own."""

from __future__ import annotations

import contextlib
import io
import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from promptpo.spec.calls import one_line
from promptpo.spec.definition import Bound, Field, Space, UnknownMember, Unsuitable
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

#: Package -> argument of pip that brings it.
_EXTRAS = {
    "Box2D": "promptpo[box2d]",
    "minigrid": "promptpo[minigrid]",
    "gymnasium_robotics": "promptpo[pointmaze]",
}

#: A spec file as any other; the environment's name stands in it as a class and as a title.
_OWN = Path(__file__).parent / "templates" / "own_environment.py"
_CLASS, _TITLE = "CartOnRail", "Cart on rail"

#: Steps of an episode of an environment that has no limit of its own.
_HORIZON = 1000

#: An observation of more numbers than these is a picture, or might as well be one.
_MOST_NUMBERS = 2_000

#: From here on a bound of float32 means that there is none.
_NO_BOUND = 3.4e38

_TEMPLATE = '''\
{docstring}

{imports}


class Observation:
{class_docstring}

{fields}


ACTION = """
{action}
"""


def reward(observation: Observation, action: {action_type}, next_observation: Observation) -> float:
{reward_docstring}
    return float("nan"){reward_comment}


def make() -> Env:
    """Gymnasium's {env_id}."""
    import gymnasium

    return gymnasium.make("{env_id}", disable_env_checker=True)


SPEC = EnvSpec(
    make=make,
    observation=Observation,
    action=ACTION,
    reward=reward,
{arguments}
)
'''

_FILL_IN = (
    "FILL IN: compute the reward of one step from what the policy sees, exactly as the "
    "environment does; then remove this paragraph. (Where that cannot be done: describe it in "
    "words, and state reward_tolerance=None below.)"
)
_IN_WORDS = "Reward of one step, told in words: the environment computes it."
_LATER = """\
# Where the task has a goal, whether a step met it:
# success=lambda info, reward, terminated: terminated,
# What else counts, and bounds that must hold, e.g. (import Metric, Constraint):
# metrics={"power": Metric(lambda info, reward, terminated: info["power"], "sum", unit="W")},
# constraints={"top": Constraint(height, "max", unit="m", at_most=2.0)},
# Measured: python -m promptpo.spec.baselines THIS_FILE --episodes 100
references={},"""


def own_source(name: str) -> str:
    """Return a spec file with an environment ``NightShift``, titled ``Night shift``, of a name.

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


def registered_ids() -> list[str]:
    """Return the ids that Gymnasium registers itself, without those for older environments."""
    import gymnasium

    return sorted(
        name
        for name, entry in gymnasium.registry.items()
        if str(entry.entry_point).startswith("gymnasium.envs") and not name.startswith("GymV")
    )


def registered_source(env_id: str, *, draft: bool) -> str:
    """Return the source of a spec for an id, which may be ``package:id``; see ``spec_source``.

    Raises:
        UnknownMember: there is no such id.
        Unsuitable: a package is missing, or its observations or actions do not fit.
    """
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
        install = _install_of(package, str(entry.entry_point if entry else ""))
        if lacking := _missing(error, package or "gymnasium", install or "gymnasium[all]"):
            words = f"the package {lacking[0]!r} is not installed; run: pip install '{lacking[1]}'"
            raise Unsuitable(words) from error
        raise Unsuitable(f"the environment does not construct: {one_line(error)}") from error
    with contextlib.closing(env):
        install = _install_of(package, str(getattr(env.spec, "entry_point", "")))
        return spec_source(env, env_id, draft=draft, install=install)


def _missing(error: Exception, package: str, install: str) -> tuple[str, str] | None:
    """Return the package that an error says is missing, and pip's argument for it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ModuleNotFoundError) and cause.name:
            name = cause.name.partition(".")[0]
            return name, _EXTRAS.get(name, name)
        cause = cause.__cause__ or cause.__context__
    return (package, install) if type(error).__name__ == "DependencyNotInstalled" else None


def _install_of(package: str, entry_point: str) -> str:
    """Return pip's argument for an environment's packages beyond those of promptpo itself."""
    if "box2d" in entry_point:
        return _EXTRAS["Box2D"]
    return _EXTRAS.get(package or entry_point.partition(".")[0], "")


def spec_source(env: Any, env_id: str, *, draft: bool, install: str = "") -> str:  # noqa: ANN401
    """Return the text of a spec module for an environment that was made from ``env_id``.

    A ``draft`` is for a person to edit: its reward is marked as to be filled in. Otherwise the
    reward is in words only, as far as it is documented.

    Raises:
        Unsuitable: an observation or action that fields and numbers cannot hold.
    """
    sections = sections_of(env)
    observation = section(sections, "observation", "state")
    fields = _named_fields(env.observation_space, observation)
    arrays = any(item.annotation == "np.ndarray" for item in fields)
    array_action = not hasattr(env.action_space, "n") or bool(env.action_space.shape)
    reward = section(sections, "reward")
    lines = [_FILL_IN] if draft else []
    lines += [reward] if reward else [] if draft else ["It is not documented."]
    limit = env.spec.max_episode_steps if env.spec else None
    rows = [] if draft else ["reward_tolerance=None,  # in words only"]
    rows.append(
        f"horizon={limit}," if limit else f"horizon={_HORIZON},  # it has no limit of its own"
    )
    rows += [f'install="{install}",'] if install else []
    rows += _LATER.splitlines() if draft else []
    paragraphs = [prose_of(observation), table_text(observation) if arrays else ""]
    summary = "What the environment returns, before each action."
    return _TEMPLATE.format(
        docstring=_module_docstring(env, env_id, sections),
        imports=("import numpy as np\n" if arrays or array_action else "")
        + "from promptpo.spec import Env, EnvSpec, field",
        class_docstring=docstring(summary, [text for text in paragraphs if text], indent=4),
        fields="\n".join(field_source(*item) for item in fields),
        action=wrapped(_action_text(env.action_space, section(sections, "action"))),
        action_type="np.ndarray" if array_action else "int",
        reward_docstring=docstring("Reward of one step." if draft else _IN_WORDS, lines, indent=4),
        reward_comment="  # FILL IN" if draft else "",
        env_id=env_id,
        arguments="\n".join(f"    {row}" for row in rows),
    )


def _module_docstring(env: Any, env_id: str, sections: dict[str, str]) -> str:  # noqa: ANN401
    description = prose_of(section(sections, "description", "")) or type(env.unwrapped).__name__
    first = re.split(r"(?<=\w\w)\.(?:\s|$)", description.splitlines()[0])[0]
    name = env_id.rpartition(":")[2]
    title = f"{name}: {first}."
    if len(title) > WIDTH - 3:
        title = f"{name}: the task that is described below."
    parts = [description]
    for text in (section(sections, word) for word in ("starting", "episode")):
        parts += [prose_of(text), table_text(text)]
    return docstring(title, [part for part in parts if part])


def _action_text(space: Space, documentation: str) -> str:
    """Return the space in words, and what is documented of it."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        numbers = [str(int(space.start) + n) for n in range(int(space.n))]
        few = len(numbers) <= 10
        words = ", ".join(numbers) if few else f"from {numbers[0]} to {numbers[-1]}"
        head = f"An int{':' if few else ''} {words}."
    elif isinstance(space, spaces.Box):
        size = f"{np.size(space.low)} float{'' if np.size(space.low) == 1 else 's'}"
        shape = f", shape {tuple(space.shape)}" if len(space.shape) > 1 else ""
        bounds = zip(np.ravel(space.low), np.ravel(space.high), strict=True)
        pairs = [f"[{number_literal(low)}, {number_literal(high)}]" for low, high in bounds]
        words = f"each in {pairs[0]}" if len(pairs) > 1 else f"in {pairs[0]}"
        words = words if len(set(pairs)) == 1 else f"in turn in {', '.join(pairs)}"
        head = f"An array of {size}{shape}, {words} (values beyond are clipped)."
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


class _NamedField(NamedTuple):
    """One field of an observation: its name, annotation and description."""

    name: str
    annotation: str
    field: Field


def _named_fields(space: Space, documentation: str) -> list[_NamedField]:
    """Return the fields of a space, in the order of its numbers, with a name each.

    ``documentation`` is what is documented of it. Those that have no name, or another's, are
    numbered. Raises Unsuitable where numbers cannot hold it.
    """
    items = list(_fields(space, documentation))
    wanted = [identifier(item.name) or f"value_{n}" for n, item in enumerate(items, 1)]
    names: list[str] = []
    for name in wanted:
        own, number = name, 1
        while own in names or (number > 1 and own in wanted):
            number += 1
            own = f"{name}_{number}"
        names.append(own)
    return [item._replace(name=name) for item, name in zip(items, names, strict=True)]


def _fields(space: Space, documentation: str, name: str = "") -> Iterator[_NamedField]:
    """Yield the fields of a space, in the order of its numbers; ``name`` is that of the whole."""
    from gymnasium import spaces

    state = name or "state"
    part = re.fullmatch(r"part_\d+", name)
    words = f"{name.replace('_', ' ')}{' of what is told above' if part else ''}"
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _fields(inner, "", f"{name}_{key}" if name else str(key))
    elif isinstance(space, spaces.Tuple):
        for number, inner in enumerate(space.spaces, 1):
            yield from _fields(inner, "", f"{name or 'part'}_{number}")
    elif isinstance(space, spaces.Discrete):
        last = int(space.start) + int(space.n) - 1
        field = Field(low=int(space.start), high=last, doc=words or "a whole number")
        yield _NamedField(state, "int", field)
    elif isinstance(space, spaces.MultiDiscrete):
        most = tuple(int(n) - 1 for n in np.ravel(space.nvec))
        field = Field(space.shape, low=0, high=most, doc=words or "whole numbers")
        yield _NamedField(state, "np.ndarray", field)
    elif isinstance(space, spaces.MultiBinary):
        field = Field(tuple(space.shape), low=0, high=1, doc=words or "zeros and ones")
        yield _NamedField(state, "np.ndarray", field)
    elif isinstance(space, spaces.Box):
        yield from _box_fields(space, documentation, name, words)
    else:
        raise Unsuitable(
            f"{f'its part {name!r}' if name else 'its observation'} is of type "
            f"{type(space).__name__}, which has no fixed number of numbers; "
            "write a spec file whose observe(raw, env) returns numbers"
        )


def _box_fields(space: Space, documentation: str, name: str, words: str) -> Iterator[_NamedField]:
    picture = space.dtype == np.uint8 and len(space.shape) >= 2
    if picture or math.prod(space.shape) > _MOST_NUMBERS:
        raise Unsuitable(
            f"its observation {name + ' ' if name else ''}of shape {space.shape} is "
            f"{'a picture' if picture else 'too large'}; write a spec file whose "
            "observe(raw, env) returns what a policy needs of it as numbers"
        )
    count = space.shape[0] if len(space.shape) == 1 else 0
    low, high = _bounds(space.low, -math.inf), _bounds(space.high, math.inf)
    if rows := element_names(documentation, count):
        for index, (element, meaning, unit) in enumerate(rows):
            low, high = (_bounds(end[index], math.nan) for end in (space.low, space.high))
            yield _NamedField(element, "float", Field(None, unit, low, high, doc=meaning))
    elif space.shape:
        field = Field(tuple(space.shape), "", low, high, doc=words or "as told above")
        yield _NamedField(name or "state", "np.ndarray", field)
    else:
        yield _NamedField(
            name or "state", "float", Field(None, "", low, high, doc=words or "a number")
        )


def _bounds(values: np.ndarray, none: float) -> Bound:
    """Return one side of a Box as a field has it; ``none`` stands for an element without bound."""
    bounded = np.abs(values.astype(float)) < _NO_BOUND
    if not bounded.any():
        return None
    numbers = tuple(np.where(bounded, values, none).astype(float).ravel().tolist())
    return numbers[0] if len(set(numbers)) == 1 else numbers
