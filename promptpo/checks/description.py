"""Checks of what the model reads but the reward: observation, action, facts, prompt."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from promptpo.checks.findings import Finding, judged
from promptpo.checks.play import Played
from promptpo.common.text import plural
from promptpo.spec import EnvSpec, Flat, LayoutField, Space, Task, layout, prompt_parts
from promptpo.spec.observation import observation_class
from promptpo.spec.source import PartError, source_of

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


def check_observation(played: Played) -> Iterator[Finding]:
    """Check that fields are filled as documented, with plain values of their own."""
    fields = layout(played.spec.observation)
    seen = played.observations
    problems = [] if np.isfinite(seen).all() else ["a value is not finite"]
    for item in fields:
        problems += _field_problems(item, seen[:, item.slice])
    count = f"{len(fields)} fields, {fields[-1].stop} numbers"
    yield judged("observation", problems, f"{count}; {len(seen):,} observations as documented")
    first = played.firsts[0]
    problems = []
    for name, value in vars(observation_class(played.spec.observation)(first)).items():
        array = type(value) is np.ndarray and value.dtype == np.float64
        owned = array and not np.shares_memory(value, first)
        if type(value) not in (float, int, bool) and not owned:
            problems.append(f"{name} is a {type(value).__name__} that is not its own")
    yield judged("owned", problems, "plain numbers and arrays of their own")


def _field_problems(item: LayoutField, values: Flat) -> Iterator[str]:
    if not item.field.doc:
        yield f"{item.name} has no doc"
    if item.kind in ("int", "bool") and (values != np.rint(values)).any():
        yield f"{item.name} is documented {item.kind}, but holds fractions"
    for bound, word, worst, sign in (
        (item.field.low, "below", values.min(axis=0), 1.0),
        (item.field.high, "above", values.max(axis=0), -1.0),
    ):
        if bound is None:
            continue
        stated = np.broadcast_to(np.asarray(bound, dtype=np.float64).reshape(-1), worst.shape)
        excess = sign * (stated - worst)
        if (excess > ROUNDING * np.maximum(1.0, np.abs(stated))).any():
            at = int(excess.argmax())
            where = f"{item.name}[{at}]" if item.kind == "array" else item.name
            yield f"{where} reaches {worst[at]:.6g}, {word} its documented {stated[at]:g}"


def check_action(task: Task) -> Iterator[Finding]:
    """Check that the description names size and bounds, and legal actions are accepted."""
    space = task.env.action_space
    problems = description_problems(task.spec.action, space)
    yield judged("action", problems, f"described as the space is: {space}")
    if hasattr(space, "n") and not space.shape:
        start = int(getattr(space, "start", 0))
        actions = list(range(start, start + min(int(space.n), 50)))
    else:
        space.seed(0)
        ends = (getattr(space, side, np.nan) for side in ("low", "high"))
        actions = [space.sample() for _ in range(10)] + [e for e in ends if np.isfinite(e).all()]
    for action in actions:
        task.reset(0)
        task.step(np.asarray(action, dtype=np.float64).reshape(-1))
    yield Finding("legal actions", "ok", f"{len(actions)} at and between the bounds accepted")


def description_problems(text: str, space: Space) -> list[str]:
    """Return what a description of a space lacks or has wrong."""
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
        listed = ", ".join(list(dict.fromkeys(_words(s.bounds) for s in stated))[:4])
        bounds = ", ".join(map(_words, wrong[:4]))
        return [
            *problems,
            f"the description says {listed}, but the bounds are {bounds}; write these",
        ]
    return [*problems, *_entry_problems(text, each, stated)]


def stated_bounds(text: str) -> list[Stated]:
    """Return every two numbers that a text gives as bounds, in order."""
    stated = []
    for match in _PAIR.finditer(text):
        numbers = [_value(number) for number in match.groups() if number]
        low, high = numbers if len(numbers) == 2 else (-numbers[0], numbers[0])
        if low != high:
            stated.append(Stated((low, high), match.start()))
    return stated


def _entry_problems(text: str, each: Sequence[Bounds], stated: Sequence[Stated]) -> Iterator[str]:
    """Yield problems of entries with bounds of their own, stated beside their names or in turn."""
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
            words = _words(beside[0])
            yield f"the bounds of action[{number}] are {_words(each[number])}, not {words}"


def _value(text: str) -> float:
    """Return the value of a number as ``_N`` matches it: -1.5, pi, 2 pi, -pi/2."""
    number, _, divisor = text.lower().replace(" ", "").replace("*", "").partition("/")
    if number.endswith("pi"):
        number = number.removesuffix("pi")
        factor = float(f"{number}1" if number in ("", "-", "+") else number) * math.pi
    else:
        factor = float(number)
    return factor / float(divisor or 1)


def _same(one: Bounds, other: Bounds) -> bool:
    return all(_near(a, b) for a, b in zip(one, other, strict=True))


def _near(number: float, other: float) -> bool:
    return abs(number - other) <= ROUNDING * max(1.0, abs(number))


def _words(bounds: Bounds) -> str:
    return f"[{bounds[0]:.7g}, {bounds[1]:.7g}]"


def _lacking(text: str, numbers: Sequence[float], space: Space) -> list[str]:
    """Return which of some numbers a text does not name."""
    named = {float(number) for number in _NUMBER.findall(text)}
    missing = [f"{n:g}" for n in numbers if not any(_near(n, k) for k in named)]
    return [f"the description lacks {', '.join(missing)} of {space}"] if missing else []


def _counts(space: Any) -> list[float]:  # noqa: ANN401 - a space of Gymnasium
    """Return the numbers that a description of a space of whole numbers cannot do without."""
    if hasattr(space, "nvec"):
        return [float(n) for n in np.unique(space.nvec)]
    if space.shape:  # MultiBinary
        return [0.0, 1.0, *map(float, space.shape)]
    start = int(space.start)
    last = start + int(space.n) - 1
    # Few actions are described one by one.
    return [float(n) for n in (range(start, last + 1) if space.n <= 10 else (start, last))]


def check_facts(task: Task) -> Iterator[Finding]:
    """Check that the facts, line by line, are those of the environment."""
    spec = task.spec
    stated = _lines(spec.facts)
    count = plural(len(stated), "line")
    if spec.measured_facts is None:
        if stated:
            remedy = "give the spec measured_facts=... to hold them against its environment"
            yield Finding("facts", "note", f"{count}; {remedy}")
        return
    text = spec.measured_facts(task.env)
    if not isinstance(text, str):
        problem = f"measured_facts must return a text, not {type(text).__name__}"
        yield Finding("facts", "FAIL", problem)
        return
    measured = _lines(text)
    if not stated:
        problem = "there are none; what the environment says, to be copied into facts"
        yield Finding("facts", "FAIL", problem, tuple(measured))
        return
    for number, (ours, theirs) in enumerate(zip_longest(stated, measured), 1):
        if ours != theirs:
            problem = f"line {number} of facts is not what the environment says"
            first = "Write the measured line" if theirs is not None else "Leave the line out"
            more = (
                f"  facts:    {ours if ours is not None else '(they end before)'}",
                f"  measured: {theirs if theirs is not None else '(it ends before)'}",
                f"{first}, or correct measured_facts",
            )
            yield Finding("facts", "FAIL", problem, more)
            return
    yield Finding("facts", "ok", f"{count}, as the environment has them")


def _lines(words: str) -> list[str]:
    """Return the lines as they stand in a prompt."""
    return [line.rstrip() for line in inspect.cleandoc(words).strip().splitlines()]


def check_prompt(spec: EnvSpec) -> Iterator[Finding]:
    """Check that the first prompt says what the task is, and nothing private; state its size."""
    from promptpo.prompts.promptpo import policy_messages
    from promptpo.prompts.task import count_tokens
    from promptpo.run.settings import build

    messages = policy_messages(spec, build())
    tokens = sum(count_tokens(message.content) for message in messages)
    text = prompt_parts(spec).text.lower()
    private = (*spec.withheld, *_constructor_phrases(spec))
    problems = [f"contains {phrase!r}" for phrase in private if phrase.lower() in text]
    if spec.title == spec.name and not spec.description:
        problems.append(
            f"does not say what the task is; begin {spec.where} with a docstring: a line that "
            "is the task's title, an empty line, a paragraph that describes it"
        )
    detail = f"about {tokens:,} tokens; none of {len(private)} private phrases in it"
    if not spec.description:
        detail += "; no description but the title, add one to the module docstring"
    yield judged("prompt", problems, detail)


def _constructor_phrases(spec: EnvSpec) -> tuple[str, ...]:
    """Return how the environment is built and read: definitions and calls of private parts."""
    phrases = ["EnvSpec", "gymnasium", "import "]
    for part in (spec.make, spec.observe, spec.reset, spec.expert):
        if part is None:
            continue
        try:
            node = source_of(part).node
        except PartError:  # a lambda
            continue
        phrases.append(f"def {node.name}(")
        calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
        # Constructors are told from other calls by their names: make, gymnasium.make, NoiseWorld.
        names = (ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute))
        phrases += [f"{n}(" for n in names if "make" in n.lower() or n[:1].isupper()]
    return tuple(dict.fromkeys(phrases))
