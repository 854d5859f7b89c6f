"""Checks of the action: its description states the size and the bounds of the space."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from promptpo.checks.findings import Finding, judged
from promptpo.spec import Flat, Space, Task

#: Environments of float32 round a bound by up to this share of it.
ROUNDING = 1e-6

Bounds: TypeAlias = tuple[float, float]

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|(?<=[\w.]-)\d+(?:\.\d+)?")

# How two bounds may be written: [0, 3], (0, 3), Box(0, 3, ...), 0 to 3, 0 kW to 3 kW, 0..3,
# between 0 and 3, 0 <= x <= 3, min 0 and max 3, +-3.
_N = r"([-+]?(?:pi\b|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?:\s?\*?\s?pi\b)?)(?:\s?/\s?[1-9]\d*)?)"
_UNIT = r"(?:\s(?!to\b|and\b)[a-z%°/^*]+\d?){0,2}"
_PAIR = re.compile(
    rf"(?:(?<!shape )[\[(]\s*{_N}\s*[,;]\s*{_N}(?=\s*[\])]))"
    rf"|\bbox\(\s*{_N}\s*,\s*{_N}"
    rf"|(?<![\w.]){_N}{_UNIT}\s*(?:to|\.\.+|…|\u2013)\s*{_N}"
    rf"|\bbetween\s+{_N}{_UNIT}\s+and\s+{_N}"
    rf"|(?<![\w.]){_N}\s*(?:<=?|≤)[^\d<≤]{{1,20}}(?:<=?|≤)\s*{_N}"
    rf"|\bmin(?:imum)?(?:\s(?:is|of))?\W{{1,3}}?{_N}.{{0,20}}?"
    rf"\bmax(?:imum)?(?:\s(?:is|of))?\W{{1,3}}?{_N}"
    rf"|(?:±|\+/?-|plus or minus)\s?{_N}",
    re.IGNORECASE | re.DOTALL,
)
_ENTRY = re.compile(r"(?:\baction\s?\[|\b(?:entry|element|component|dimension) )(\d+)\]?")


class Stated(NamedTuple):
    """Two bounds that a description states, and where."""

    bounds: Bounds
    start: int


def check_action(task: Task) -> Iterator[Finding]:
    """The description names size and bounds of the space; legal actions are accepted."""
    space = task.env.action_space
    problems = description_problems(task.spec.action, space)
    yield judged("action", problems, f"described as the space is: {space}")
    rows = _legal_rows(task)
    for row in rows:
        task.reset(0)
        task.step(row)
    yield Finding("legal actions", "ok", f"{len(rows)} at and between the bounds accepted")


def description_problems(text: str, space: Space) -> list[str]:
    """What a description of a space lacks or has wrong."""
    text = text.replace("\N{MINUS SIGN}", "-")
    if not hasattr(space, "low"):
        return _lacking(text, _counts(space), space)
    each = list(zip(np.ravel(space.low).tolist(), np.ravel(space.high).tolist(), strict=True))
    pairs = [bounds for bounds in dict.fromkeys(each) if all(map(math.isfinite, bounds))]
    single = [n for bounds in each if bounds not in pairs for n in bounds if math.isfinite(n)]
    several = [float(length) for length in space.shape if length > 1]
    problems = _lacking(_PAIR.sub(" ", text), several, space)  # a bound is not the size, too
    problems += _lacking(text, [1.0] * (len(several) < len(space.shape)) + single, space)
    stated = stated_bounds(text)
    if not stated:  # each bound in words of its own
        return problems or _lacking(text, sorted({n for pair in pairs for n in pair}), space)
    wrong = [bounds for bounds in pairs if not any(_same(bounds, s.bounds) for s in stated)]
    if wrong:
        said = ", ".join(list(dict.fromkeys(_words(s.bounds) for s in stated))[:4])
        bounds = ", ".join(map(_words, wrong[:4]))
        return [*problems, f"the description says {said}, but the bounds are {bounds}; write these"]
    return [*problems, *_entry_problems(text, each, stated)]


def stated_bounds(text: str) -> list[Stated]:
    """Every two numbers that a text gives as bounds, in order."""
    found = []
    for match in _PAIR.finditer(text):
        numbers = [_value(number) for number in match.groups() if number]
        low, high = numbers if len(numbers) == 2 else (-numbers[0], numbers[0])
        if low != high:
            found.append(Stated((low, high), match.start()))
    return found


def _entry_problems(text: str, each: Sequence[Bounds], stated: Sequence[Stated]) -> Iterator[str]:
    """Entries with bounds of their own: each has the right ones beside its name, or in turn."""
    if len(set(each)) == 1:
        return
    entries = list(_ENTRY.finditer(text))
    own = [s.bounds for s in stated if any(_same(s.bounds, bounds) for bounds in each)]
    if not entries or stated[0].start < entries[0].start():
        if len(own) == len(each) and not all(map(_same, own, each)):
            yield f"the order of the bounds is {', '.join(map(_words, each))}; write them in it"
        return
    ends = [entry.start() for entry in entries[1:]] + [len(text)]
    for entry, end in zip(entries, ends, strict=True):
        number = int(entry[1])
        beside = [s.bounds for s in stated if entry.end() <= s.start < end]
        if beside and number < len(each) and not any(_same(each[number], b) for b in beside):
            said = _words(beside[0])
            yield f"the bounds of action[{number}] are {_words(each[number])}, not {said}"


def _value(text: str) -> float:
    """The value of a number as ``_N`` finds it: -1.5, pi, 2 pi, -pi/2."""
    number, _, divisor = text.lower().replace(" ", "").replace("*", "").partition("/")
    if number.endswith("pi"):
        number = number.removesuffix("pi")
        factor = float(f"{number}1" if number in ("", "-", "+") else number) * math.pi
    else:
        factor = float(number)
    return factor / float(divisor or 1)


def _same(one: Bounds, other: Bounds) -> bool:
    return all(_near(a, b) for a, b in zip(one, other, strict=True))


def _near(number: float, known: float) -> bool:
    return abs(number - known) <= ROUNDING * max(1.0, abs(number))


def _words(bounds: Bounds) -> str:
    return f"[{bounds[0]:.7g}, {bounds[1]:.7g}]"


def _lacking(text: str, numbers: Sequence[float], space: Space) -> list[str]:
    """Which of some numbers a text does not name."""
    known = {float(number) for number in _NUMBER.findall(text)}
    missing = [f"{n:g}" for n in numbers if not any(_near(n, k) for k in known)]
    return [f"the description lacks {', '.join(missing)} of {space}"] if missing else []


def _counts(space: Any) -> list[float]:  # noqa: ANN401 - a space of Gymnasium
    """The numbers that a description of a space of whole numbers cannot do without."""
    if hasattr(space, "nvec"):
        return [float(n) for n in np.unique(space.nvec)]
    if space.shape:  # MultiBinary
        return [0.0, 1.0, *map(float, space.shape)]
    start = int(space.start)
    last = start + int(space.n) - 1
    # Few actions are described one by one.
    return [float(n) for n in (range(start, last + 1) if space.n <= 10 else (start, last))]


def _legal_rows(task: Task) -> list[Flat]:
    space = task.env.action_space
    if hasattr(space, "n") and not space.shape:
        start, count = int(getattr(space, "start", 0)), int(space.n)
        return [np.array([float(start + n)]) for n in range(min(count, 50))]
    space.seed(0)
    rows = [np.asarray(space.sample(), dtype=np.float64).reshape(-1) for _ in range(10)]
    if hasattr(space, "low"):
        ends = [np.asarray(end, dtype=np.float64).reshape(-1) for end in (space.low, space.high)]
        rows += [end for end in ends if np.isfinite(end).all()]
    return rows
