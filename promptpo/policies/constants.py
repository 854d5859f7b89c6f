"""The numbers of a policy's source that an optimizer may choose: found, given ranges, written back.

A policy *declares* them where it uses them, ``kp = tunable(1.5, 0.1, 10, log=True)``: value, low,
high. Any other policy has them too: numbers that modules, classes and ``__init__`` assign, defaults
of parameters, and numbers within ``act`` and what it calls; those are *found*, and each gets a
range from its magnitude and sign, or from the field of the observation that it is compared with.
"""

from __future__ import annotations

import ast
import math
import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING

from promptpo.common.plaintext import clean_line
from promptpo.common.python_text import decorating, reading, short
from promptpo.errors import UsageError
from promptpo.policies.inner import beside_fields, inner_numbers, returned
from promptpo.policies.parametric import FAR, Actions, Program, bounds
from promptpo.policies.sources import (
    LARGEST,
    Literal,
    Source,
    called,
    changed,
    cut,
    elements,
    idle_names,
    lines_of,
    measured,
    number,
    structural,
)

if TYPE_CHECKING:
    from promptpo.spec import EnvSpec

#: The word by which a policy declares a constant; it never runs.
WORD = "tunable"

#: Constants of one program, at most: no optimizer here finds more.
MOST = 1000

#: How far a range reaches to either side of a number that is compared with a field of the
#: observation, as a share of the field's own range; of temperatures without bounds, in degrees.
SHARE, _DEGREES = 0.25, 10.0

#: Units whose zero is nowhere in particular.
_TEMPERATURES = frozenset(
    {"°c", "c", "degc", "deg c", "celsius", "°f", "f", "degf", "deg f", "fahrenheit"}
)

#: Numbers within functions that are more often form than measure, whole or not; and magnitudes
#: beyond which one is a guard against zero, or a first value of a minimum.
_FORM, _LEAST_INNER, _MOST_INNER = (0, 1, 2), 1e-5, 1e6

#: The comment of an earlier tuning.
_WAS = re.compile(r"(?:; *)?\bwas [-+.,\de ]+$")


class TunableError(Exception):
    """A declaration that is refused: its ``line``, and ``why`` with what to write instead."""

    def __init__(self, line: int, why: str) -> None:
        self.line = line
        self.why = f"{why}; write for example kp = {WORD}(1.5, 0.1, 10, log=True)"
        super().__init__(f"line {line}: {self.why}")


@dataclass(frozen=True)
class Constant:
    """One number of a source: its name, its value, and its range.

    Attributes:
        name: where it stands: ``LIMIT``, ``Policy.GAINS[2]``, ``self.kp``, ``act(speed)``.
        value: as written, from -1e100 to 1e100; an int where ``integer``.
        low, high: the range, which holds the value, within the same bounds.
        log: the logarithm is searched; then ``low`` is above 0.
        integer: it is a whole number.
        declared: the source says so itself.
        literal: the text in the source that is the number.
    """

    name: str
    value: float
    low: float
    high: float
    literal: Literal
    log: bool = False
    integer: bool = False
    declared: bool = False

    @property
    def place(self) -> tuple[int, int, int, int, bool]:
        """The place in the source, as ``sandbox.Place`` has it."""
        return (*self.literal.where, self.integer)

    @property
    def line(self) -> int:
        """The line in the source, from 1."""
        return self.literal.line

    def clipped(self, value: float) -> float:
        """Return a number within the range; a whole one where the constant is."""
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.integer else inside


@dataclass(frozen=True)
class Scale:
    """A field of the observation, or an element of the action, as ranges go by it.

    They go by its bounds, and by how far a range reaches.

    ``zero``: its 0 means none of it, so that a third and three times of a number mean something.
    """

    low: float
    high: float
    reach: float
    zero: bool = True
    whole: bool = False

    def range_of(self, value: float) -> tuple[float, float] | None:
        """Return the range of a number that is compared with it; None of one outside it.

        It reaches as far to either side, or, where that is narrower, from a third to three times
        the value; never beyond the bounds.
        """
        if not self.low <= value <= self.high:
            return None
        ranges = [(value - self.reach, value + self.reach)]
        if self.zero and value:
            ranges.append(range_of(value))
        clipped = [(max(low, self.low), min(high, self.high)) for low, high in ranges]
        low, high = min(clipped, key=lambda pair: pair[1] - pair[0])
        return (low, high) if low < high else None


def scales_of(spec: EnvSpec, actions: Actions) -> dict[str, Scale]:
    """Return what ranges go by: a task's fields, bounded or temperatures, and its actions.

    Elements of actions that have bounds are ``action[0]`` and so on.
    """
    from promptpo.spec import layout

    ends = enumerate(zip(actions.low, actions.high, strict=True))
    scales = {
        f"action[{i}]": Scale(low, high, high - low, zero=False)
        for i, (low, high) in ends
        if 0 < high - low < FAR
    }
    for item in layout(spec.observation):
        lows, highs = bounds(item)
        low, high = min(lows), max(highs)
        zero = (item.field.unit or "").strip().lower() not in _TEMPERATURES
        if 0 < high - low < FAR:
            scales[item.name] = Scale(low, high, SHARE * (high - low), zero, item.kind == "int")
        elif not zero:
            scales[item.name] = Scale(low, high, _DEGREES, zero)
    return scales


def range_of(value: float) -> tuple[float, float]:
    """Return the range of a found number: a third to three times; of 0 it is -1 to 1."""
    if value == 0:
        return -1.0, 1.0
    low, high = sorted((value / 3, value * 3))
    return low, high


@dataclass(frozen=True)
class Tunable:
    """A policy that an optimizer can fill: its plain source, and the constants in it, in order."""

    source: str
    constants: tuple[Constant, ...]

    @property
    def program(self) -> Program:
        """The source with a place for every constant."""
        ends = [0, *(c.literal.end for c in self.constants)]
        starts = [*(c.literal.start for c in self.constants), len(self.source)]
        return Program(tuple(self.source[i:j] for i, j in zip(ends, starts, strict=True)))

    def written(self, values: Sequence[float]) -> str:
        """Return the source with these values as plain literals, the old ones in comments.

        Numbers are written with six significant digits. Raises ValueError for another number of
        values than there are constants.
        """
        new, comments = [], dict[int, list[str]]()
        for constant, value in zip(self.constants, values, strict=True):
            same = _significant(value) == _significant(constant.value)
            new.append(constant.literal.value if same else _significant(value))
            if new[-1] != constant.value:
                comments.setdefault(constant.line, []).append(f"{constant.value:.6g}")
        plain = self.program.source(new)
        return _commented(plain, {k: ", ".join(v) for k, v in comments.items()}) or plain


@reading(TunableError)
def tunable(
    source: str, *, auto: bool = False, scales: Mapping[str, Scale] | None = None
) -> Tunable:
    """Return a policy's constants: those that it declares, and with ``auto`` all others, too.

    ``scales`` are the fields by which ranges go; None: these go by magnitude alone, and numbers
    within functions are left alone. Not those that its ``prepare`` alone reads: it has run when
    they are chosen; and of more than 1,000 the first ones alone. Raises SyntaxError, and
    TunableError for a declaration that is refused.
    """
    plain, declared = without_declarations(source)
    parsed = Source(plain)
    idle = idle_names(parsed.tree)
    fixed = structural(parsed.tree) | changed(parsed.tree) if auto else set()
    quantities = measured(parsed.tree) if auto else set()
    beside = beside_fields(parsed.tree, scales.keys())[1] if auto and scales else {}
    constants = []
    for place, name, literal in parsed.numbers():
        if re.split(r"[.(]", place.name)[0] in idle:
            continue
        if stated := declared.get(literal.start):
            constants.append(replace(stated, name=name, literal=literal))
        elif auto and place.key not in fixed:
            value, (low, high) = literal.value, range_of(literal.value)
            whole = isinstance(value, int)
            # Whole numbers from -1 to 1 are signs, switches and first counts more often than gains.
            gain = not whole or (place.key in quantities and not -1 <= value <= 1)
            if scale := (scales or {}).get(beside.get(place.key, "")):
                low, high = scale.range_of(value) or (low, high)
            if gain and max(-low, high) <= LARGEST:
                constants.append(Constant(name, value, low, high, literal, integer=whole))
    if auto and scales is not None:
        constants += _inner(parsed, idle, scales)
    first = sorted(constants, key=lambda c: (not c.declared, c.literal.start))[:MOST]
    return Tunable(plain, tuple(sorted(first, key=lambda c: c.literal.start)))


def _inner(source: Source, idle: Set[str], scales: Mapping[str, Scale]) -> Iterator[Constant]:
    """Yield the constants within functions."""
    beside, _ = beside_fields(source.tree, scales.keys())
    beside |= returned(source.tree)
    for node, name, literal, reckoned in inner_numbers(source, idle):
        value, whole = literal.value, isinstance(literal.value, int)
        scale = scales.get(beside.get(id(node), ""))
        ends = scale.range_of(value) if scale is not None else None
        if scale is not None and ends is not None:
            whole = scale.whole
        elif abs(value) in _FORM or (whole and not reckoned):
            continue
        if value and not _LEAST_INNER <= abs(value) < _MOST_INNER:
            continue
        yield Constant(name, value, *(ends or range_of(value)), literal, integer=whole)


def chosen(source: str, which: str, scales: Mapping[str, Scale] | None = None) -> Tunable:
    """Return the constants of a policy by a setting: "declared", "auto" or "either".

    "either": those that it declares, or all that are found where it declares none. ``scales`` as
    for ``tunable``. Raises SyntaxError and TunableError.
    """
    declared = tunable(source, auto=which == "auto", scales=scales)
    if which == "either" and not declared.constants:
        return tunable(source, auto=True, scales=scales)
    return declared


def listed(
    source: str, which: str, label: str, scales: Mapping[str, Scale] | None
) -> tuple[Constant, ...]:
    """Return the constants that ``chosen`` gives, of a policy that a user names.

    Raises UsageError.
    """
    try:
        return chosen(source, which, scales).constants
    except SyntaxError as e:
        raise UsageError(f"{label}:{e.lineno or 1}: {e.msg}; mend the file") from None
    except TunableError as e:
        raise UsageError(f"{label}:{e.line}: {e.why}") from None


def with_ranges_of(source: str, other: Tunable) -> Tunable:
    """Return the constants of a source that is another one with other numbers, in its ranges.

    None of one that cannot be read.
    """
    ranges = {c.literal.start: c for c in other.constants}
    same = [
        replace(ranges[old.start], value=ranges[old.start].clipped(new.value), literal=new)
        for old, new in zip(_numbers(other.source), _numbers(source), strict=False)
        if old.start in ranges
    ]
    return Tunable(source, tuple(same))


@decorating(list[Literal])
def _numbers(source: str) -> list[Literal]:
    return Source(source).every_number()


@reading(TunableError)
def without_declarations(text: str) -> tuple[str, dict[int, Constant]]:
    """Return the source with plain values in place of declarations, and what these declare.

    The constants are by the places of their values in the source that is returned; they have no
    names, and their literals are of ``text``. Raises SyntaxError, and TunableError for a
    declaration that is not written out, or stands where no constant does.
    """
    if WORD not in text:
        return text, {}
    source = Source(text)
    allowed = {
        id(part)
        for place in source.places()
        for _, part in elements(place.value, "")
        if isinstance(part, ast.Call)
    }
    cuts: list[tuple[int, int]] = []
    constants: list[Constant] = []
    for node in ast.walk(source.tree):
        match node:
            case ast.Call() if called(node) == WORD:
                if id(node) not in allowed:
                    raise TunableError(
                        node.lineno,
                        f"{WORD} stands for a constant of the module, of a class, of __init__ or of"
                        " a parameter's default, and nowhere else",
                    )
                constants += _declared(source, node)
                if len(constants) > MOST:
                    raise TunableError(node.lineno, f"a program declares at most {MOST:,} numbers")
                (start, end), (first, last) = source.span(node), source.span(node.args[0])
                cuts += [(start, first), (last, end)]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name == WORD:
                raise TunableError(node.lineno, f"{WORD} is a word of its own, not to be defined")
    cuts.sort()
    removed = [0, *accumulate(end - start for start, end in cuts)]
    ends = [end for _, end in cuts]
    starts = [c.literal.start for c in constants]
    places = [start - removed[bisect_right(ends, start)] for start in starts]
    return cut(text, cuts), dict(zip(places, constants, strict=True))


def _declared(source: Source, call: ast.Call) -> Iterator[Constant]:
    def refused(why: str) -> TunableError:
        return TunableError(call.lineno, f"{WORD}(value, low, high): {why}")

    words = {keyword.arg: keyword.value for keyword in call.keywords}
    arguments = dict(zip(("value", "low", "high", "log"), call.args, strict=False)) | words
    if len(call.args) not in (1, 2, 3, 4) or len(call.args) + len(words) != len(arguments):
        raise refused("the value comes first, then its bounds")
    if unknown := set(words) - {"low", "high", "log"}:
        raise refused(f"{clean_line(short(min(map(str, unknown))))} is not known to it")
    if not {"low", "high"} <= set(arguments):
        raise refused("the bounds are missing")
    log = arguments.get("log", ast.Constant(value=False))
    if not isinstance(log, ast.Constant) or not isinstance(log.value, bool):
        raise refused("log is True or False")
    values = [source.literal(part) for _, part in elements(arguments["value"], "")]
    lows, highs = (_bounds(arguments[name], len(values)) for name in ("low", "high"))
    if not values or None in values or lows is None or highs is None:
        raise refused(
            f"value and bounds are numbers, written out, from {-LARGEST:g} to {LARGEST:g}, or lists"
            " of as many"
        )
    for literal, low, high in zip(values, lows, highs, strict=True):
        assert literal is not None  # noqa: S101 - looked at above
        if not low < high or not low <= literal.value <= high:
            raise refused(f"{literal.value:g} is not from {low:g} to {high:g}")
        if log.value and low < 1 / LARGEST:
            least = "above 0" if low <= 0 else f"at {1 / LARGEST:g} or more"
            raise refused(f"with log=True the range begins {least}, not at {low:g}")
        if not (high / low > 1 if log.value else float(high) - float(low) > 0):
            raise refused(f"from {low!r} to {high!r} there is nothing to choose")
        whole = not log.value and all(isinstance(v, int) for v in (literal.value, low, high))
        yield Constant("", literal.value, low, high, literal, log.value, whole, declared=True)


def _bounds(node: ast.expr, count: int) -> list[float] | None:
    """Return a bound for each value; None where they are no numbers, or not as many."""
    parts = [number(part) for _, part in elements(node, "")]
    bounds = [part for part in parts if part is not None]
    if len(bounds) != len(parts) or len(parts) not in (1, count):
        return None
    return bounds * (count if len(bounds) == 1 else 1)


def _significant(value: float) -> float:
    """Return a number with six digits, as people write it; whole ones stay whole."""
    if isinstance(value, int) or not math.isfinite(value):
        return value
    return float(f"{value:.6g}")


@decorating(str)
def _commented(source: str, notes: Mapping[int, str]) -> str:
    """Return a source with ``was ...`` at the ends of lines, where a comment may stand.

    Empty for one that cannot be read.
    """
    lines = lines_of(source)
    comments, ends = {}, set()
    read = (re.sub(r"\r\n?$", "\n", line) for line in lines)
    for token in tokenize.generate_tokens(lambda: next(read, "")):
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.start[1]
        elif token.type in (tokenize.NEWLINE, tokenize.NL):
            ends.add(token.start[0])
    for line in ends & set(notes):
        text = lines[line - 1].rstrip("\r\n")
        after, note = lines[line - 1][len(text) :], f"was {notes[line]}"
        if line in comments:
            at = comments[line]
            before = _WAS.sub("", text[at:].removeprefix("#").strip())
            text, note = text[:at].rstrip(), f"{before}; {note}" if before else note
        lines[line - 1] = f"{text}  # {note}{after}"
    return "".join(lines)
