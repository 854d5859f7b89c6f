"""Check of the reward: the prompt's function gives what the environment pays, on real steps."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from promptpo.checks.findings import Finding
from promptpo.checks.play import Played, Transition, transition_table
from promptpo.spec import EnvSpec
from promptpo.spec.calls import explain, line_in, reraise_interrupt
from promptpo.spec.environment import BadValue, real
from promptpo.spec.observation import observation_class
from promptpo.spec.source import source_of
from promptpo.spec.writing import table

#: A deviation below this share of the largest reward may be that of float32.
_FLOAT32 = 1e-5

#: So many deviating transitions are tried for what would make them right.
_TRIED = 200


class _Failed(Exception):
    """Raised where the function gives no number; its arguments are the problem and a remedy."""


def check_reward(played: Played) -> Iterator[Finding]:
    """Check that the reward function of the prompt gives the environment's reward."""
    spec, steps = played.spec, played.transitions
    stub = unfinished(spec.reward)
    if stub and spec.reward_tolerance is None:
        yield Finding("reward", "note", "told in words only, by design")
        return
    where = f"reward() at {_location(spec.reward)}"
    if stub:
        problem = (
            f"{where} is not written yet: its body is `{stub}`; compute in it what the environment "
            "pays for one step (where that cannot be done: say it in words, and state "
            "reward_tolerance=None)"
        )
        yield Finding("reward", "FAIL", problem)
        return
    values = []
    for number, step in enumerate(steps):
        try:
            values.append(_value(spec, step))
        except _Failed as error:
            problem, remedy = error.args
            problem = f"{where} {problem} ({played.origin(number)}); {remedy}"
            yield Finding("reward", "FAIL", problem, _shown(played, number))
            return
    returned, paid = np.array(values), np.array([step.reward for step in steps])
    undefined = np.flatnonzero(~np.isfinite(returned))
    if not undefined.size:
        yield _compared(played, returned, paid, where)
        return
    count = f"{undefined.size:,} of {len(returned):,} transitions"
    if spec.reward_tolerance is None:
        yield Finding("reward", "note", f"qualitative by design; no number on {count}")
        return
    first = int(undefined[0])
    problem = f"{where} gives {returned[first]:g} on {count}; {_undefined(spec, steps[first])}"
    lines = (f"the first, {played.origin(first)}:", *_shown(played, first))
    yield Finding("reward", "FAIL", problem, lines)


def unfinished(function: Callable[..., object]) -> str:
    """Return the one statement of a body that is still to be written; empty where it is written."""
    body = list(source_of(function).node.body)
    if isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, "value", None), str):
        del body[0]
    if len(body) > 1:
        return ""
    text = ast.unparse(body[0]) if body else "a docstring only"
    marks = ("...", "pass", "return", "return None", "a docstring only")
    nan = ("return float('nan')", "return math.nan", "return np.nan")
    return text if text in marks + nan or text.startswith("raise NotImplementedError") else ""


def _value(spec: EnvSpec, step: Transition, first: str = "before", second: str = "after") -> float:
    """Return the function's reward; NaN and infinities are numbers here. Raises _Failed.

    ``first`` and ``second`` are the observations of the transition that it gets.
    """
    see = observation_class(spec.observation)
    views = see(getattr(step, first)), see(getattr(step, second))
    hidden = _hidden(spec, step)
    try:
        with np.errstate(all="ignore"):
            value = spec.reward(views[0], step.action, views[1], **hidden)
    except BaseException as error:
        reraise_interrupt(error)
        at, words = _explained(spec.reward, error)
        if isinstance(error, NotImplementedError):
            remedy = "write what the environment pays in this case, too"
            raise _Failed(f"raises NotImplementedError ({at})", remedy) from error
        raise _Failed(f"raises {words} ({at})", "correct it") from error
    if value is None:
        remedy = "end every way through it with: return a number"
        raise _Failed("returns None, as it ends without a return", remedy)
    try:
        return real(value)
    except BadValue as error:
        raise _Failed(f"returns {error}", error.remedy) from error


def _hidden(spec: EnvSpec, step: Transition) -> Mapping[str, Any]:
    """Return what only the reward function gets. Raises _Failed."""
    if spec.reward_inputs is None:
        return {}
    try:
        return dict(spec.reward_inputs(step.info))
    except BaseException as error:
        reraise_interrupt(error)
        at, words = _explained(spec.reward_inputs, error)
        keys = ", ".join(map(repr, step.info)) or "nothing"
        remedy = f"correct reward_inputs(info) at {at}: info holds {keys}"
        raise _Failed(f"gets no inputs: {words}", remedy) from error


def _compared(
    played: Played, returned: NDArray[np.float64], paid: NDArray[np.float64], where: str
) -> Finding:
    """Return how far a function that gives numbers everywhere is from the environment."""
    deviation = np.abs(returned - paid)
    at, allowed = int(deviation.argmax()), played.spec.reward_tolerance
    worst = float(deviation[at])
    detail = f"largest deviation {worst:.3g} on {len(paid):,} transitions"
    if allowed is None:
        return Finding("reward", "note", f"qualitative by design; {detail}")
    if worst <= allowed:
        return Finding("reward", "ok", f"{detail}; {allowed:g} allowed")
    beyond = np.flatnonzero(deviation > allowed)
    detail += f", {beyond.size:,} of them beyond the {allowed:g} allowed; correct {where}"
    sums = (
        ("  the environment paid", f"{paid[at]:.9g}"),
        ("  reward() gives", f"{returned[at]:.9g}"),
        ("  difference", f"{returned[at] - paid[at]:.9g}"),
    )
    lines = [f"the worst, {played.origin(at)}:", *_shown(played, at), *table(sums).splitlines()]
    if hint := _hint(played, returned, paid, beyond):
        lines.append(f"hint: {hint}")
    return Finding("reward", "FAIL", detail, tuple(lines))


def _hint(
    played: Played,
    returned: NDArray[np.float64],
    paid: NDArray[np.float64],
    beyond: NDArray[np.intp],
) -> str:
    """Return what makes all deviating transitions right, where something simple does."""
    off = (paid - returned)[beyond]
    worst = float(np.abs(off).max())
    if worst <= _FLOAT32 * max(1.0, float(np.abs(paid).max())):
        bound = 10.0 ** math.ceil(math.log10(worst))
        return f"so little may be rounding (float32?); then state reward_tolerance={bound:g}"
    if beyond.size == len(paid) > 1 and np.ptp(off) <= 1e-6 * worst:
        return f"the environment pays {off[0]:+.6g} more, on every transition"
    if np.abs(returned[beyond]).min() > 0.0:
        factor = paid[beyond] / returned[beyond]
        if beyond.size > 1 and np.ptp(factor) <= 1e-6 * abs(factor[0]):
            return f"the environment pays {factor[0]:.6g} times what reward() gives"
    ends = played.last_steps
    if set(beyond.tolist()) <= set(ends):
        count = f"{beyond.size} of {len(ends)}"
        return f"only steps with which an episode terminates deviate: {count} such steps"
    allowed = max(played.spec.reward_tolerance or 0.0, 1e-9)
    ways = {
        "observation in place of next_observation": ("before", "before"),
        "next_observation in place of observation": ("after", "after"),
        "observation and next_observation exchanged": ("after", "before"),
    }
    for words, (first, second) in ways.items():
        steps = (played.transitions[number] for number in beyond[:_TRIED])
        try:
            if all(abs(_value(played.spec, s, first, second) - s.reward) <= allowed for s in steps):
                return f"with {words}, reward() would be right"
        except _Failed:
            continue
    return ""


def _undefined(spec: EnvSpec, step: Transition) -> str:
    """Return which line makes a NaN or an infinity, where numpy reports it; and the remedy."""
    see = observation_class(spec.observation)
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            spec.reward(see(step.before), step.action, see(step.after), **_hidden(spec, step))
    except FloatingPointError as error:
        at, _ = _explained(spec.reward, error)
        return f"{error} ({at}): treat that case apart"
    return "treat apart where its arithmetic is undefined, as inf - inf is"


def _shown(played: Played, number: int) -> tuple[str, ...]:
    """Return the table of a transition, with the fields that the function reads there."""
    spec, step = played.spec, played.transitions[number]
    try:
        hidden = _hidden(spec, step)
    except _Failed:
        hidden = {}
    return tuple(f"  {line}" for line in transition_table(spec, step, hidden).splitlines())


def _location(function: Callable[..., object]) -> str:
    """Return file and line of a function; of a member of a family, its reference."""
    code = getattr(function, "__code__", None)
    name = getattr(code, "co_filename", "").removeprefix("<").removesuffix(">")
    return f"{name}:{source_of(function).first_line}"


def _explained(function: Callable[..., object], error: BaseException) -> tuple[str, str]:
    """Return file and line where a function raised, and the error in words."""
    file = Path(getattr(getattr(function, "__code__", None), "co_filename", "reward"))
    where, words = explain(error, file)
    return (where if line_in(error, file) else str(file)), words
