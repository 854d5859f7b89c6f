"""Raw observations, and what a spec's ``observe`` makes of them, as fresh flat vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from promptpo.spec.authoring.definition import Env, EnvSpec, Flat, Raw, Space
from promptpo.spec.authoring.observation import LayoutField, layout, observation_size
from promptpo.spec.running.faults import UnsupportedSpace
from promptpo.spec.running.values import BadValue, vector

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


def flattener(space: Space) -> Callable[[Raw], Flat]:
    """Return a function from a raw observation of ``space`` to a fresh flat float64 vector.

    Arrays are raveled, numbers give one element, Dict and Tuple their parts in order.

    Raises:
        UnsupportedSpace: for spaces without a fixed number of elements.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return _one_number
    if isinstance(space, spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete):
        return _line_of(space.dtype)
    if isinstance(space, spaces.Dict):
        named = [(key, flattener(part)) for key, part in space.spaces.items()]
        return lambda raw: np.concatenate([flat(raw[key]) for key, flat in named])
    if isinstance(space, spaces.Tuple):
        parts = [flattener(part) for part in space.spaces]
        return lambda raw: np.concatenate(
            [flat(value) for flat, value in zip(parts, raw, strict=True)]
        )
    raise UnsupportedSpace(
        f"observation space {type(space).__name__} has no fixed size; "
        "give EnvSpec an observe(raw, env) that returns the fields"
    )


def _line_of(dtype: np.dtype[Any]) -> Callable[[Raw], Flat]:
    """The numbers of an observation in a line, at once where they have the space's own type."""
    wide, array = np.dtype(np.float64), np.ndarray
    kept = dtype if dtype.kind in "fiub" else wide

    def line(raw: Raw) -> Flat:
        flat = raw.astype(wide) if type(raw) is array and raw.dtype is kept else vector(raw)
        return flat if flat.ndim == 1 else flat.reshape(-1)

    return line


def _one_number(raw: Raw) -> Flat:
    if isinstance(raw, int | np.integer):
        return np.array([raw], dtype=np.float64)
    return vector(raw).reshape(-1)
