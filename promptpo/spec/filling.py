"""From what an environment or a spec's ``observe`` returns to a fresh flat vector."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from promptpo.spec.definition import Env, EnvSpec, Raw
from promptpo.spec.observation import LayoutField, layout, observation_size
from promptpo.spec.spaces import Flat, flattener
from promptpo.spec.values import BadValue, vector

_PLAIN = (float, int, np.floating, np.integer)


def flat_function(spec: EnvSpec, env: Env) -> Callable[[Raw], Flat]:
    """Return the way from a raw observation to a fresh flat float64 vector.

    The function raises BadValue for what is no number or has not a field's size, and whatever
    ``observe`` raises. Its own callers look at the size of the whole, and whether it is finite.
    """
    observe = spec.observe
    if observe is None:
        return flattener(env.observation_space)
    fields = layout(spec.observation)
    size = observation_size(spec.observation)
    names = {item.name for item in fields}

    def fill(raw: Raw) -> Flat:
        seen = observe(raw, env)
        if not isinstance(seen, dict):
            return vector(seen).reshape(-1)
        if seen.keys() != names:
            _name_difference(names, seen.keys())
        flat = np.empty(size)
        for item in fields:
            value = seen[item.name]
            if item.kind != "array" and isinstance(value, _PLAIN):
                flat[item.start] = value
            else:
                flat[item.start : item.stop] = _of_size(item, value)
        return flat

    return fill


def nonfinite(spec: EnvSpec, flat: Flat) -> str:
    """The first field that is not finite, with its index and value: ``'speed'[1] is nan``."""
    for item in layout(spec.observation):
        part = flat[item.slice]
        if np.isfinite(part).all():
            continue
        at = int(np.isfinite(part).argmin())
        index = [int(i) for i in np.unravel_index(at, item.shape)] if item.shape else ""
        return f"{item.name!r}{index} is {part[at]:g}"
    return ""


def _of_size(item: LayoutField, value: Any) -> Flat:  # noqa: ANN401 - whatever observe returned
    try:
        numbers = vector(value)
    except BadValue as error:
        problem = str(error).replace("the observation", f"field {item.name!r}")
        raise BadValue(error.part, problem, "return a number, or an array of numbers") from error
    if numbers.size != item.stop - item.start:
        wanted = f"shape {item.shape}" if item.shape else "one number"
        problem = f"an array of shape {numbers.shape} as field {item.name!r}, which has {wanted}"
        raise BadValue("observation", problem, "return each field in its shape")
    return numbers.reshape(-1)


def _name_difference(names: set[str], given: Iterable[object]) -> None:
    found = set(map(str, given))
    missing, unknown = sorted(names - found), sorted(found - names)
    parts = [f"lacks {', '.join(missing)}"] if missing else []
    parts += [f"has no field for {', '.join(unknown)}"] if unknown else []
    problem = f"a mapping that {' and '.join(parts)}"
    raise BadValue("observation", problem, "return every field by its name")
