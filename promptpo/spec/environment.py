"""Members and answers of an environment: checked, and turned into plain numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.errors import SpecError
from promptpo.spec.calls import EnvironmentFault, UnsupportedSpace, one_line
from promptpo.spec.definition import Env, EnvSpec, Flat, Raw, Space
from promptpo.spec.observation import LayoutField, layout, observation_size
from promptpo.spec.source import PartError, source_of

#: Kinds of dtype that are real numbers: float, int, unsigned, bool.
_KINDS = "fiub"
_NUMBERS = "return an array of numbers"


class BadValue(Exception):
    """Raised for a value of the wrong kind; the message describes it.

    Attributes:
        part: ``observation``, ``reward``, ``terminated``, ``success``, ...
        remedy: what to return instead.
    """

    def __init__(self, part: str, problem: str, remedy: str) -> None:
        super().__init__(problem)
        self.part, self.remedy = part, remedy


def vector(value: Any) -> NDArray[np.float64]:  # noqa: ANN401 - whatever an environment returned
    """Return a fresh float64 array of whole or real numbers, of the value's own shape.

    Raises BadValue for text, None, complex numbers and rows of unequal length.
    """
    if type(value) is np.ndarray and value.dtype.kind in _KINDS:
        return value.astype(np.float64)
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        problem = f"an observation that is no array ({one_line(error)})"
        raise BadValue("observation", problem, _NUMBERS) from error
    if array.dtype.kind not in _KINDS:
        kind = {"O": "objects", "c": "complex numbers", "U": "text", "S": "bytes"}
        held = "None" if value is None else kind.get(array.dtype.kind, str(array.dtype))
        raise BadValue("observation", f"{held} as the observation, not numbers", _NUMBERS)
    return array.astype(np.float64)


def all_finite(numbers: NDArray[np.float64], zeros: NDArray[np.float64]) -> bool:
    """Return whether no number is NaN or infinite, by as many zeros: numpy's quickest way."""
    with np.errstate(invalid="ignore"):
        return bool(numbers.dot(zeros) == 0.0)  # 0 times NaN or infinity is NaN


def real(value: Any, name: str = "reward") -> float:  # noqa: ANN401
    """Return a reward or a metric as a float; an array of one number counts. Raises BadValue."""
    if isinstance(value, np.ndarray | np.generic):
        if value.size == 1 and value.dtype.kind in _KINDS:
            return float(value.item())
    elif value is not None and not isinstance(value, str | bytes | bytearray | complex):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    shape = f" of shape {value.shape}" if getattr(value, "shape", None) else ""
    problem = f"{type(value).__name__}{shape} as the {name}, not a number"
    raise BadValue(name, problem, "make it a float")


def truth(value: Any, name: str) -> bool:  # noqa: ANN401
    """Return a flag as a bool; 0, 1 and an array of one flag count. Raises BadValue."""
    if type(value) is np.bool_:
        return bool(value)
    flag = value
    if not isinstance(flag, bool | int | float) and getattr(flag, "size", 0) == 1:
        flag = flag.item()
    if isinstance(flag, bool | int | float) and flag in (0, 1):
        return bool(flag)
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = ""
    text = text if len(text) <= 40 else f"{text[:40]}..."
    problem = f"{type(value).__name__} {text} as {name}, not True or False"
    raise BadValue(name, problem, f"make it bool({name})")


_PLAIN = (float, int, np.floating, np.integer)


def flat_function(spec: EnvSpec, env: Env) -> Callable[[Raw], Flat]:
    """Return the way from a raw observation to a fresh flat float64 vector.

    The function raises BadValue for what is no number or has not a field's size, and whatever
    ``observe`` raises. Its own callers look at the size of the whole, and whether it is finite.
    """
    observe = spec.observe
    if observe is None:
        return _flattener(env.observation_space)
    fields = layout(spec.observation)
    size = observation_size(spec.observation)
    names = {item.name for item in fields}

    def fill(raw: Raw) -> Flat:
        seen = observe(raw, env)
        if not isinstance(seen, dict):
            return vector(seen).reshape(-1)
        if seen.keys() != names:
            returned = set(map(str, seen))
            missing, unknown = sorted(names - returned), sorted(returned - names)
            parts = [f"lacks {', '.join(missing)}"] if missing else []
            parts += [f"has no field for {', '.join(unknown)}"] if unknown else []
            problem = f"a mapping that {' and '.join(parts)}"
            raise BadValue("observation", problem, "return every field by its name")
        flat = np.empty(size)
        for item in fields:
            value = seen[item.name]
            if item.kind != "array" and isinstance(value, _PLAIN):
                flat[item.start] = value
            else:
                flat[item.start : item.stop] = _of_size(item, value)
        return flat

    return fill


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


def nonfinite(spec: EnvSpec, flat: Flat) -> str:
    """Return the first field that is not finite, as ``'speed'[1] is nan``; empty without any."""
    for item in layout(spec.observation):
        part = flat[item.slice]
        if not np.isfinite(part).all():
            at = int(np.isfinite(part).argmin())
            index = [int(i) for i in np.unravel_index(at, item.shape)] if item.shape else ""
            return f"{item.name!r}{index} is {part[at]:g}"
    return ""


def _flattener(space: Space) -> Callable[[Raw], Flat]:
    """Return a function from a raw observation of ``space`` to a fresh flat float64 vector.

    Arrays are raveled, numbers give one element, Dict and Tuple their parts in order.

    Raises:
        UnsupportedSpace: for spaces without a fixed number of elements.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        named = [(key, _flattener(part)) for key, part in space.spaces.items()]
        return lambda raw: np.concatenate([flat(raw[key]) for key, flat in named])
    if isinstance(space, spaces.Tuple):
        parts = [_flattener(part) for part in space.spaces]
        return lambda raw: np.concatenate(
            [flat(value) for flat, value in zip(parts, raw, strict=True)]
        )
    flat = spaces.Discrete | spaces.Box | spaces.MultiBinary | spaces.MultiDiscrete
    if not isinstance(space, flat):
        raise UnsupportedSpace(
            f"observation space {type(space).__name__} has no fixed size; "
            "give EnvSpec an observe(raw, env) that returns the fields"
        )
    array, wide = np.ndarray, np.dtype(np.float64)
    own = space.dtype if space.dtype.kind in _KINDS else wide

    def flatten(raw: Raw) -> Flat:
        if type(raw) is array and raw.dtype is own:  # converted at once
            flat = raw.astype(wide)
        elif isinstance(raw, int | np.integer):
            return np.array([raw], dtype=wide)
        else:
            flat = vector(raw)
        return flat if flat.ndim == 1 else flat.reshape(-1)

    return flatten


#: What is needed of an environment, and how it may be written.
_REMEDIES = {
    "reset": "def reset(self, *, seed=None, options=None): ... return observation, {}",
    "step": "def step(self, action): ... return observation, reward, terminated, truncated, {}",
    "action_space": "action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,)), or Discrete(3)",
    "observation_space": "observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,)); "
    "or give EnvSpec an observe(raw, env) that returns the fields",
}


def function_location(spec: EnvSpec, function: object) -> str:
    """Return the spec's file, and the line of a function if it is written there."""
    code = getattr(function, "__code__", None)
    if code is not None and code.co_filename == str(spec.path):
        return f"{spec.path}:{code.co_firstlineno}"
    return spec.where


def require_members(spec: EnvSpec, env: Env) -> None:
    """Raise SpecError where ``make`` returned no environment, or one that lacks a member."""
    if not (hasattr(env, "reset") or hasattr(env, "step")):
        raise SpecError(
            f"{spec.where}: make() returned {type(env).__name__}, not a Gymnasium environment; "
            "end it with: return env"
        )
    from gymnasium import spaces

    for member, remedy in _REMEDIES.items():
        if member == "observation_space" and spec.observe is not None:
            continue
        owner = f"{method_location(spec, env)}: the environment {type([*layers(env)][-1]).__name__}"
        if not hasattr(env, member):
            raise SpecError(f"{owner} has no {member}; add {remedy}")
        if member.endswith("space") and not isinstance(getattr(env, member), spaces.Space):
            kind = type(getattr(env, member))
            name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
            raise SpecError(f"{owner} has an {member} of type {name}, not a Space; write {remedy}")


def observation_of_reset(spec: EnvSpec, env: Env, seed: int) -> Raw:
    """Reset an environment, as the spec says or else as Gymnasium does; return its observation.

    Raises SpecError where the answer has the wrong form; what ``reset`` raises passes through.
    """
    own = spec.reset
    try:
        answer = own(env, seed) if own else env.reset(seed=seed)
    except TypeError as error:
        if own or "keyword argument 'seed'" not in str(error):
            raise
        where = method_location(spec, env, "reset")
        raise SpecError(
            f"{where}: reset takes no seed; write def reset(self, *, seed=None, options=None), "
            "and draw all chance from a generator of that seed"
        ) from error
    pair = isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping)
    if own is None:
        if pair:
            return answer[0]
        got = f"{len(answer)} values" if isinstance(answer, tuple) else type(answer).__name__
        where = method_location(spec, env, "reset")
        problem = f"reset returns {got}, not an observation and a dict"
        raise EnvironmentFault(where, problem, "end it with: return observation, {}")
    from gymnasium.spaces import Tuple

    # All that the environment's reset returns is an observation only of a space of pairs.
    if pair and spec.observe is None and not isinstance(env.observation_space, Tuple):
        raise SpecError(
            f"{function_location(spec, own)}: reset(env, seed) returns an observation and a"
            " dict; return the observation only: env.reset(seed=seed)[0]"
        )
    return answer


def step_fault(spec: EnvSpec, env: Env, answer: object) -> EnvironmentFault | None:
    """Return the fault of an answer of ``step`` that has not Gymnasium's form, else None."""
    remedy = "end it with: return observation, reward, terminated, truncated, info"
    if not isinstance(answer, tuple | list):
        problem = f"step returns {type(answer).__name__}, not 5 values"
    elif len(answer) != 5:
        remedy += " (old Gym's done is terminated)" if len(answer) == 4 else ""
        problem = f"step returns {len(answer)} values, not 5"
    else:
        return None
    return EnvironmentFault(method_location(spec, env, "step"), problem, remedy)


def layers(env: Env) -> Iterator[Env]:
    """Yield an environment and the ones in its wrappers, from the outside in."""
    while env is not None:
        yield env
        env = vars(env).get("env") if hasattr(env, "__dict__") else None


def method_location(spec: EnvSpec, env: Env, method: str = "") -> str:
    """Return the spec's file, and the line of the environment's class or method if it is there."""
    for layer in layers(env):
        kind = type(layer)
        file = getattr(sys.modules.get(kind.__module__), "__file__", None)
        if spec.path is None or file != str(spec.path):
            continue
        try:
            return f"{spec.path}:{source_of(vars(kind).get(method, kind)).first_line}"
        except PartError:  # a class that was made without a class statement
            continue
    return spec.where
