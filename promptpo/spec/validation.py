"""Checks of a spec's parts that need no environment; its published form."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from promptpo.common.plaintext import control_character
from promptpo.outcomes import Gather, Objective
from promptpo.spec.definition import Constraint, EnvSpec, Metric, Reference
from promptpo.spec.observation import observation_class, observation_size
from promptpo.spec.source import PartError, free_names, source_of

#: Ends a reference to the published form: ``pointmaze_large@published``.
PUBLISHED = "@published"

#: The parts of a spec that its published form may replace: what the model sees, and what goes
#: with that.
PARTS = (
    "title",
    "description",
    "observation",
    "action",
    "reward",
    "reward_helpers",
    "reward_inputs",
    "reward_tolerance",
    "withheld",
)


def published_form(spec: EnvSpec) -> EnvSpec:
    """Return the spec with the parts of its ``published``; itself where there are none.

    Raises:
        PartError: ``published`` names another part, or its fields take other numbers.
    """
    if not spec.published:
        return spec
    for part in spec.published:
        if part not in PARTS:
            problem = f"published cannot replace {part!r}; it may: {', '.join(PARTS)}"
            raise PartError("published", problem)
    form = replace(spec, **spec.published, published={}, ref=spec.ref + PUBLISHED)
    ours, theirs = (observation_size(s.observation) for s in (spec, form))
    if ours != theirs:
        raise PartError(
            "published",
            f"the published fields take {theirs} numbers, but the spec's own take {ours}; both are"
            " filled from the same observation",
        )
    return form


_MOST_STEPS = 10**9


def check_parts(spec: EnvSpec) -> None:
    """Raise PartError for the first part of a spec that cannot work."""
    _check_types(spec)
    _check_functions(spec)
    _check_observation(spec)
    _check_reward(spec)


def _check_types(spec: EnvSpec) -> None:
    def require(part: str, fits: object, needed: str) -> None:
        if not fits:
            value = getattr(spec, part)
            problem = f"{part} must be {needed}, not {type(value).__name__} {value!r:.60}"
            raise PartError(part, problem)

    require("observation", isinstance(spec.observation, type), "a class")
    require("action", isinstance(spec.action, str) and spec.action.strip(), "a text")
    require("horizon", _is_whole(spec.horizon) and spec.horizon > 0, "a positive int")
    require("horizon", spec.horizon <= _MOST_STEPS, f"{_MOST_STEPS} at most")
    for part in ("name", "title", "ref"):
        require(part, isinstance(getattr(spec, part), str), "a text, or left out")
    plain = re.fullmatch(r"[\w.-]*", spec.name) and not spec.name.startswith(".")
    require("name", plain, "letters, digits, _, - and . only, as it names a folder")
    for part in ("description", "facts", "install", "twin_of"):
        require(part, isinstance(getattr(spec, part), str), "a text")
    for part in ("title", "action", "description", "facts", "install"):
        visible = control_character(getattr(spec, part)) is None
        require(part, visible, "a text without control characters")
    require("references", isinstance(spec.references, Mapping), 'a dict such as {"random": 22.0}')
    for name, value in spec.references.items():
        if problem := _reference_problem(name, value):
            raise PartError("references", f"references[{name!r}] {problem}")
    require("metrics", isinstance(spec.metrics, Mapping), 'a dict such as {"energy": Metric(...)}')
    require("constraints", isinstance(spec.constraints, Mapping), "a dict of Constraint(...)")
    require("objective", spec.objective in get_args(Objective), '"mean" or "cvar10"')
    for part, kind in (("metrics", Metric), ("constraints", Constraint)):
        for name, value in getattr(spec, part).items():
            if problem := _metric_problem(spec, name, value, kind):
                raise PartError(part, f"{part}[{name!r:.60}] {problem}")
    share = spec.smallest_difference
    require("smallest_difference", _is_number(share) and 0 <= share <= 1, "a number from 0 to 1")
    require("target", spec.target is None or _is_number(spec.target), "a finite number or None")
    require("published", isinstance(spec.published, Mapping), 'a dict such as {"title": "..."}')
    require("deterministic", isinstance(spec.deterministic, bool), "True or False")
    lifetimes = ("episode", "evaluation")
    require("policy_lifetime", spec.policy_lifetime in lifetimes, '"episode" or "evaluation"')
    several = _is_whole(spec.evaluation_episodes) and spec.evaluation_episodes >= 2
    require("evaluation_episodes", several, "a whole number, 2 or more")
    for part in ("extra_imports", "withheld"):
        value = getattr(spec, part)
        texts = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
        require(part, texts, "a tuple of texts (mind the comma)")
    tolerance = spec.reward_tolerance
    fits = tolerance is None or (isinstance(tolerance, int | float) and tolerance >= 0)
    require("reward_tolerance", fits, "a number >= 0, or None")
    helpers = isinstance(spec.reward_helpers, tuple) and all(map(callable, spec.reward_helpers))
    require("reward_helpers", helpers, "a tuple of functions (mind the comma)")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _reference_problem(name: object, value: object) -> str:
    """Return the problem of one entry of ``references``, with the remedy; empty without any."""
    if not isinstance(name, str):
        return f"has a name that is no text; write {str(name)!r}: ..."
    if isinstance(value, Reference):
        for part in ("mean_return", "worst_tenth"):
            own = getattr(value, part)
            if not _is_number(own) and (own is not None or part == "mean_return"):
                return f"has {part}={own!r:.40}; it must be a number"
        limits = {"success_rate": 1.0, "deviation": math.inf, "episodes": math.inf}
        for part, most in limits.items():
            own = getattr(value, part)
            if own is not None and not (_is_number(own) and 0 <= own <= most):
                words = "from 0 to 1" if most == 1.0 else "of 0 or more"
                return f"has {part}={own!r:.40}; it must be a number {words}, or None"
        return ""
    if _is_number(value):
        return ""
    remedy = "write a number, or Reference(mean_return, success_rate)"
    if isinstance(value, tuple | list) and 0 < len(value) <= 2 and all(map(_is_number, value)):
        remedy = f"write Reference({', '.join(map(repr, value))})"
    return f"is a {type(value).__name__} {value!r:.40}; {remedy}"


#: Names of measures that no metric may have, and characters of a name, at most.
_TAKEN, _MOST_NAME = ("success", "return", "worst tenth"), 60


def _metric_problem(spec: EnvSpec, name: object, value: object, kind: type[Metric]) -> str:
    """Return the problem of a metric or a constraint, with the remedy; empty without any."""
    if not _is_line(name):
        return "has a name that is no text on one line"
    if len(str(name)) > _MOST_NAME or name in _TAKEN:
        return f"needs another name: {_MOST_NAME} characters at most, and none of {_TAKEN}"
    if not isinstance(value, kind) or (isinstance(value, Constraint) and kind is Metric):
        return f"must be a {kind.__name__}(...), not {type(value).__name__} {value!r:.40}"
    gathers, limited = get_args(Gather), isinstance(value, Constraint)
    bounds = [value.at_most, value.at_least] if isinstance(value, Constraint) else []
    stated = [bound for bound in bounds if bound is not None]
    problems = [
        (value.gather not in gathers, f"must gather by one of {', '.join(gathers)}"),
        (value.better not in ("low", "high", ""), 'has a better that is neither "low" nor "high"'),
        (value.unit and not _is_line(value.unit), "has a unit that is no text on one line"),
        (value.doc and not _is_line(value.doc), "has a doc that is no text on one line"),
        (limited and name in spec.metrics, "has the name of a metric; give it another one"),
        (
            limited and not (stated and all(map(_is_number, stated))),
            "needs at_most=NUMBER, at_least=NUMBER, or both",
        ),
    ]
    return next((words for applies, words in problems if applies), "")


def _is_line(value: object) -> bool:
    plain = isinstance(value, str) and control_character(value) is None
    return plain and bool(str(value).strip()) and "\n" not in str(value)


#: The call of each function of a spec.
_SIGNATURES = {
    "make": "make()",
    "reward": "reward(observation, action, next_observation)",
    "measured_facts": "measured_facts(env)",
    "observe": "observe(raw, env)",
    "reset": "reset(env, seed)",
    "new_life": "new_life(env, seed)",
    "reward_inputs": "reward_inputs(info)",
    "success": "success(info, reward, terminated)",
    "expert": "expert(env)",
}


def _check_functions(spec: EnvSpec) -> None:
    functions = {part: (part, getattr(spec, part), call) for part, call in _SIGNATURES.items()}
    for part in ("metrics", "constraints"):
        for name, metric in getattr(spec, part).items():
            functions[f"{part}[{name!r}]"] = part, metric.value, "(info, reward, terminated)"
    for words, (part, function, call) in functions.items():
        if function is None and part not in ("make", "reward", "metrics", "constraints"):
            continue
        if not callable(function):
            kind = type(function).__name__
            raise PartError(part, f"{words} must be a function called as {call}, not {kind}")
        count = call.count(",") + 1 if not call.endswith("()") else 0
        try:
            signature = inspect.signature(function)
            # reward_inputs gives the reward other arguments.
            partly = part == "reward" and spec.reward_inputs is not None
            (signature.bind_partial if partly else signature.bind)(*range(count))
        except TypeError:
            line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
            raise PartError(part, f"{words} must take the arguments of {call}", line) from None
        except ValueError:  # a builtin that does not tell its signature
            continue


def _check_observation(spec: EnvSpec) -> None:
    """Build the class that policies will see, and fill it once."""
    size = observation_size(spec.observation)
    see = observation_class(spec.observation)
    try:
        see(np.zeros(size))
    except Exception as error:
        message = f"the observation class cannot be filled: {type(error).__name__}: {error}"
        raise PartError("observation", message) from error


def _check_reward(spec: EnvSpec) -> None:
    """Raise PartError for a name in the reward that the model would not see."""
    helpers = {function.__name__ for function in spec.reward_helpers}
    visible = helpers | {"np", "math", spec.reward.__name__, spec.observation.__name__}
    for function in (*spec.reward_helpers, spec.reward):
        source = source_of(function)
        for name in free_names(source.text):
            if name not in visible:
                message = (
                    f"{function.__name__} uses {name!r}, which the model would not see; define it "
                    "inside the function, or list a helper function in reward_helpers=(...)"
                )
                raise PartError("reward", message, source.first_line)
