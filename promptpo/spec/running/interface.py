"""Gymnasium's API as an environment must have it: what is missing or of old Gym, in one line."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from promptpo.errors import SpecError
from promptpo.spec.authoring.definition import Env, EnvSpec, Raw
from promptpo.spec.authoring.source import PartError, source_of
from promptpo.spec.running.faults import EnvironmentFault

#: What is needed of an environment, and how it may be written.
_REMEDIES = {
    "reset": "def reset(self, *, seed=None, options=None): ... return observation, {}",
    "step": "def step(self, action): ... return observation, reward, terminated, truncated, {}",
    "action_space": "action_space = gymnasium.spaces.Box(-1.0, 1.0, (2,)), or Discrete(3)",
    "observation_space": "observation_space = gymnasium.spaces.Box(-1.0, 1.0, (3,)); "
    "or give EnvSpec an observe(raw, env) that returns the fields",
}


def function_location(spec: EnvSpec, function: object) -> str:
    """The spec's file, and the line of a function if it is written there."""
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
    from gymnasium.spaces import Space

    for member, remedy in _REMEDIES.items():
        if member == "observation_space" and spec.observe is not None:
            continue
        owner = f"{method_location(spec, env)}: the environment {type([*layers(env)][-1]).__name__}"
        if not hasattr(env, member):
            raise SpecError(f"{owner} has no {member}; add {remedy}")
        if member.endswith("space") and not isinstance(getattr(env, member), Space):
            kind = type(getattr(env, member))
            name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
            raise SpecError(f"{owner} has an {member} of type {name}, not a Space; write {remedy}")


def observation_of_reset(spec: EnvSpec, env: Env, seed: int) -> Raw:
    """Reset an environment, as the spec says or else as Gymnasium does; return its observation.

    Raises SpecError where the answer has the wrong form; what ``reset`` raises passes through.
    """
    if spec.reset is not None:
        return _of_own_reset(spec, env, spec.reset(env, seed))
    try:
        answer = env.reset(seed=seed)
    except TypeError as error:
        if "keyword argument 'seed'" not in str(error):
            raise
        where = method_location(spec, env, "reset")
        raise SpecError(
            f"{where}: reset takes no seed; write def reset(self, *, seed=None, options=None), "
            "and draw all chance from a generator of that seed"
        ) from error
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], Mapping):
        return answer[0]
    got = f"{len(answer)} values" if isinstance(answer, tuple) else type(answer).__name__
    problem = f"reset returns {got}, not an observation and a dict"
    raise EnvironmentFault(
        method_location(spec, env, "reset"), problem, "end it with: return observation, {}"
    )


def _of_own_reset(spec: EnvSpec, env: Env, raw: Raw) -> Raw:
    """What the spec's ``reset`` returned, unless it is all that the environment's returns."""
    pair = isinstance(raw, tuple) and len(raw) == 2 and isinstance(raw[1], Mapping)
    if not pair or spec.observe is not None:
        return raw
    from gymnasium.spaces import Tuple

    if not isinstance(env.observation_space, Tuple):
        raise SpecError(
            f"{function_location(spec, spec.reset)}: reset(env, seed) returns an observation and a"
            " dict; return the observation only: env.reset(seed=seed)[0]"
        )
    return raw


def step_fault(spec: EnvSpec, env: Env, answer: object) -> EnvironmentFault | None:
    """What is wrong with the form of an answer of ``step``; None if it is that of Gymnasium."""
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
    """An environment and what its wrappers hold, from the outside in."""
    while env is not None:
        yield env
        env = vars(env).get("env") if hasattr(env, "__dict__") else None


def method_location(spec: EnvSpec, env: Env, method: str = "") -> str:
    """The spec's file, and the line of the environment's class or method if it is written there."""
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
