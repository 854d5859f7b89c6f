"""Check of the reward: the prompt's function gives what the environment pays, on real steps."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from promptpo.checks.findings import Finding
from promptpo.checks.play import (
    Played,
    Transition,
    columns,
    ends_of_episodes,
    fields_read,
    observation_class,
    table,
    whence,
)
from promptpo.spec import EnvSpec
from promptpo.spec.calls import explain, line_in, reraise_interrupt
from promptpo.spec.environment import BadValue, real
from promptpo.spec.source import source_of

#: A deviation below this share of the largest reward may be that of float32.
_FLOAT32 = 1e-5

#: So many deviating transitions are tried for what would make them right.
_TRIED = 200


class _Failed(Exception):
    """The function gave no number on a transition; says how, and what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem, self.remedy = problem, remedy


class _Compared(NamedTuple):
    """What the environment paid and what the function gives, on each transition in turn.

    Where the function failed, ``given`` ends before that transition.
    """

    paid: NDArray[np.float64]
    given: NDArray[np.float64]
    failed: _Failed | None


def check_reward(played: Played) -> Iterator[Finding]:
    """The reward function of the prompt gives the environment's reward."""
    spec = played.spec
    stub = unfinished(spec.reward)
    if stub and spec.reward_tolerance is None:
        yield Finding("reward", "note", "told in words only, by design")
        return
    where = f"reward() at {_location(spec.reward)}"
    if stub:
        yield Finding(
            "reward",
            "FAIL",
            f"{where} is not written yet: its body is `{stub}`; compute in it what the environment "
            "pays for one step (where that cannot be done: say it in words, and state "
            "reward_tolerance=None)",
        )
        return
    compared = _compare(played)
    wrong = np.flatnonzero(~np.isfinite(compared.given))
    if compared.failed is not None:
        problem, number = compared.failed, len(compared.given)
        told = f"{where} {problem.problem} ({whence(played, number)}); {problem.remedy}"
        yield Finding("reward", "FAIL", told, _seen(played, number))
    elif not wrong.size:
        yield _judged(played, compared, where)
    elif spec.reward_tolerance is None:
        count = f"{wrong.size:,} of {len(compared.given):,}"
        yield Finding("reward", "note", f"qualitative by design; no number on {count} transitions")
    else:
        number = int(wrong[0])
        told = (
            f"{where} gives {compared.given[number]:g} on {wrong.size:,} of "
            f"{len(compared.given):,} transitions; {_undefined(spec, played.transitions[number])}"
        )
        lines = (f"the first, {whence(played, number)}:", *_seen(played, number))
        yield Finding("reward", "FAIL", told, lines)


def unfinished(function: Callable[..., object]) -> str:
    """The one statement of a body that is still to be written; empty where it is written."""
    body = list(source_of(function).node.body)
    if isinstance(body[0], ast.Expr) and isinstance(getattr(body[0].value, "value", None), str):
        del body[0]
    if len(body) > 1:
        return ""
    text = ast.unparse(body[0]) if body else "a docstring only"
    marks = ("...", "pass", "return", "return None", "a docstring only")
    nan = ("return float('nan')", "return math.nan", "return np.nan")
    return text if text in marks + nan or text.startswith("raise NotImplementedError") else ""


def _compare(played: Played) -> _Compared:
    spec, see = played.spec, observation_class(played.spec)
    given, failed = [], None
    for step in played.transitions:
        try:
            hidden = _hidden(spec, step)
            given.append(_given(spec, see(step.before), step.action, see(step.after), hidden))
        except _Failed as error:
            failed = error
            break
    paid = np.array([step.reward for step in played.transitions])
    return _Compared(paid, np.array(given), failed)


def _hidden(spec: EnvSpec, step: Transition) -> Mapping[str, Any]:
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


def _given(
    spec: EnvSpec,
    before: Any,  # noqa: ANN401 - an observation, as the two below
    action: Any,  # noqa: ANN401
    after: Any,  # noqa: ANN401
    hidden: Mapping[str, Any],
) -> float:
    """What the function gives; NaN and infinities are numbers here. Raises _Failed."""
    try:
        with np.errstate(all="ignore"):
            value = spec.reward(before, action, after, **hidden)
    except NotImplementedError as error:
        at, _ = _explained(spec.reward, error)
        remedy = "write what the environment pays in this case, too"
        raise _Failed(f"raises NotImplementedError ({at})", remedy) from error
    except BaseException as error:
        reraise_interrupt(error)
        at, words = _explained(spec.reward, error)
        raise _Failed(f"raises {words} ({at})", "correct it") from error
    if value is None:
        remedy = "end every way through it with: return a number"
        raise _Failed("returns None, as it ends without a return", remedy)
    try:
        return real(value)
    except BadValue as error:
        raise _Failed(f"returns {error}", error.remedy) from error


def _judged(played: Played, compared: _Compared, where: str) -> Finding:
    """How far a function that gives numbers everywhere is from the environment."""
    deviation = np.abs(compared.given - compared.paid)
    at, count = int(deviation.argmax()), len(deviation)
    worst, allowed = float(deviation[at]), played.spec.reward_tolerance
    detail = f"largest deviation {worst:.3g} on {count:,} transitions"
    if allowed is None:
        return Finding("reward", "note", f"qualitative by design; {detail}")
    if worst <= allowed:
        return Finding("reward", "ok", f"{detail}; {allowed:g} allowed")
    beyond = np.flatnonzero(deviation > allowed)
    detail += f", {beyond.size:,} of them beyond the {allowed:g} allowed; correct {where}"
    sums = columns(
        [
            ("the environment paid", f"{compared.paid[at]:.9g}"),
            ("reward() gives", f"{compared.given[at]:.9g}"),
            ("difference", f"{compared.given[at] - compared.paid[at]:.9g}"),
        ]
    )
    lines = [f"the worst, {whence(played, at)}:", *_seen(played, at), *(f"  {s}" for s in sums)]
    if hint := _hint(played, compared, beyond):
        lines.append(f"hint: {hint}")
    return Finding("reward", "FAIL", detail, tuple(lines))


def _hint(played: Played, compared: _Compared, beyond: NDArray[np.intp]) -> str:
    """What would make all deviating transitions right, where something simple would."""
    paid, given, allowed = compared.paid, compared.given, played.spec.reward_tolerance or 0.0
    worst = float(np.abs(given - paid).max())
    if worst <= _FLOAT32 * max(1.0, float(np.abs(paid).max())):
        bound = 10.0 ** math.ceil(math.log10(worst))
        return f"so little may be rounding (float32?); then state reward_tolerance={bound:g}"
    off = (paid - given)[beyond]
    if beyond.size == len(paid) > 1 and np.ptp(off) <= 1e-6 * worst:
        return f"the environment pays {off[0]:+.6g} more, on every transition"
    if np.abs(given[beyond]).min() > 0.0:
        factor = paid[beyond] / given[beyond]
        if beyond.size > 1 and np.ptp(factor) <= 1e-6 * abs(factor[0]):
            return f"the environment pays {factor[0]:.6g} times what reward() gives"
    ends = ends_of_episodes(played)
    if set(beyond.tolist()) <= set(ends):
        count = f"{beyond.size} of {len(ends)}"
        return f"only steps with which an episode terminates deviate: {count} such steps"
    return _exchanged(played, beyond[:_TRIED], max(allowed, 1e-9))


def _exchanged(played: Played, numbers: NDArray[np.intp], allowed: float) -> str:
    """Whether the observation before the step was mistaken for the one after, or the reverse."""
    spec, see = played.spec, observation_class(played.spec)
    ways = {
        "observation in place of next_observation": ("before", "before"),
        "next_observation in place of observation": ("after", "after"),
        "observation and next_observation exchanged": ("after", "before"),
    }
    for words, (first, second) in ways.items():
        for number in numbers.tolist():
            step = played.transitions[number]
            views = see(getattr(step, first)), see(getattr(step, second))
            try:
                value = _given(spec, views[0], step.action, views[1], _hidden(spec, step))
            except _Failed:
                break
            if not abs(value - step.reward) <= allowed:
                break
        else:
            return f"with {words}, reward() would be right"
    return ""


def _undefined(spec: EnvSpec, step: Transition) -> str:
    """Which line makes a NaN or an infinity, where numpy tells; and the remedy."""
    see = observation_class(spec)
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            spec.reward(see(step.before), step.action, see(step.after), **_hidden(spec, step))
    except FloatingPointError as error:
        at, _ = _explained(spec.reward, error)
        return f"{error} ({at}): treat that case apart"
    return "treat apart where its arithmetic is undefined, as inf - inf is"


def _seen(played: Played, number: int) -> tuple[str, ...]:
    """The table of a transition, with the fields that the function reads there."""
    spec, step = played.spec, played.transitions[number]
    try:
        hidden = _hidden(spec, step)
    except _Failed:
        hidden = {}
    read = fields_read(spec, step, hidden)
    return tuple(f"  {line}" for line in table(spec, step, read, hidden))


def _location(function: Callable[..., object]) -> str:
    """File and line of a function; a member of a family stands in no file."""
    code = getattr(function, "__code__", None)
    name = getattr(code, "co_filename", "").removeprefix("<").removesuffix(">")
    return f"{name}:{source_of(function).first_line}"


def _explained(function: Callable[..., object], error: BaseException) -> tuple[str, str]:
    """File and line where a function raised, and what."""
    file = Path(getattr(getattr(function, "__code__", None), "co_filename", "reward"))
    where, words = explain(error, file)
    return (where if line_in(error, file) else str(file)), words
