"""The numbers of a policy's source that an optimizer may choose: found, given ranges, written back.

A policy *declares* them where it uses them, ``kp = tunable(1.5, 0.1, 10, log=True)``: value, low,
high. Any other policy has them too: numbers that modules, classes and ``__init__`` assign and
defaults of parameters; those are *found*, and each gets a range from its magnitude and sign.
"""

from __future__ import annotations

import math
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from promptpo.common.python_text import decorating, reading
from promptpo.errors import UsageError
from promptpo.policies.acting import idle_names
from promptpo.policies.declared import MOST, Declared, TunableError, without_declarations
from promptpo.policies.literals import (
    LARGEST,
    Literal,
    Source,
    changed,
    elements,
    lines_of,
    measured,
    structural,
)
from promptpo.policies.program import Program

#: What an earlier tuning left in a comment.
_WAS = re.compile(r"(?:; *)?\bwas [-+.,\de ]+$")


@dataclass(frozen=True)
class Constant:
    """One number of a source: its name, what it is, and what it may be.

    Attributes:
        name: where it stands: ``LIMIT``, ``Policy.GAINS[2]``, ``self.kp``, ``act(speed)``.
        value: as written, from -1e100 to 1e100; an int where ``integer``.
        low, high: the range, which holds the value, within the same bounds.
        log: whether the logarithm is searched; then ``low`` is above 0.
        integer: whether it is a whole number.
        declared: whether the source says so itself.
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
        """Where it stands, as ``sandbox.Place`` has it."""
        return (*self.literal.where, self.integer)

    @property
    def line(self) -> int:
        """The line in the source, from 1."""
        return self.literal.line

    def clipped(self, value: float) -> float:
        """A number within the range; whole where the constant is."""
        inside = min(max(value, self.low), self.high)
        return round(inside) if self.integer else inside


def range_of(value: float) -> tuple[float, float]:
    """The range of a number that says nothing of it: a third to three times, on its side of 0.

    0 itself may be from -1 to 1.
    """
    if value == 0:
        return -1.0, 1.0
    low, high = sorted((value / 3, value * 3))
    return low, high


def program_of(source: str, constants: Sequence[Constant]) -> Program:
    """The source with a place for each of these constants, in the order in which they stand."""
    parts, at = [], 0
    for constant in constants:
        parts.append(source[at : constant.literal.start])
        at = constant.literal.end
    return Program((*parts, source[at:]))


def significant(value: float, digits: int = 6) -> float:
    """A number as people write it; whole ones stay whole."""
    if isinstance(value, int) or not math.isfinite(value):
        return value
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class Tunable:
    """A policy that an optimizer can fill: its plain source, and the constants in it, in order."""

    source: str
    constants: tuple[Constant, ...]

    @property
    def program(self) -> Program:
        """The source with a place for every constant."""
        return program_of(self.source, self.constants)

    def written(self, values: Sequence[float]) -> str:
        """The source with these values as plain literals, the old ones in comments beside them.

        Numbers are written with six significant digits. Raises ValueError for another number of
        values than there are constants.
        """
        pairs = list(zip(self.constants, values, strict=True))
        new = [
            c.literal.value if significant(v) == significant(c.value) else significant(v)
            for c, v in pairs
        ]
        told: dict[int, list[str]] = {}
        for constant, value in zip(self.constants, new, strict=True):
            if value != constant.value:
                told.setdefault(constant.line, []).append(f"{constant.value:.6g}")
        plain = self.program.source(new)
        return commented(plain, {k: ", ".join(v) for k, v in told.items()}) or plain


@reading(TunableError)
def tunable(source: str, *, auto: bool = False) -> Tunable:
    """A policy's constants: those that it declares, and with ``auto`` all others, too.

    Not those that its ``prepare`` alone reads: it has run when they are chosen; and of more than
    1,000 the first ones alone. Raises SyntaxError, and TunableError for a declaration that is
    refused.
    """
    plain, declared = without_declarations(source)
    said = {d.literal.start: d for d in declared}
    parsed = Source(plain)
    idle = idle_names(parsed.tree)
    fixed = structural(parsed.tree) | changed(parsed.tree) if auto else set()
    reckoned = measured(parsed.tree) if auto else set()
    found = []
    for place in parsed.places():
        if re.split(r"[.(]", place.name)[0] in idle:
            continue
        for name, part in elements(place.value, place.name):
            literal = parsed.literal(part)
            if literal is None:
                continue
            if stated := said.get(literal.start):
                found.append(_stated(name, literal, stated))
            elif auto and place.key not in fixed:
                low, high = range_of(literal.value)
                if max(-low, high) > LARGEST:
                    continue
                whole = isinstance(literal.value, int)
                if whole and (place.key not in reckoned or _is_switch(literal.value)):
                    continue
                found.append(Constant(name, literal.value, low, high, literal, integer=whole))
    stated_first = sorted(found, key=lambda c: (not c.declared, c.literal.start))[:MOST]
    return Tunable(plain, tuple(sorted(stated_first, key=lambda c: c.literal.start)))


def chosen(source: str, which: str) -> Tunable:
    """The constants of a policy that a setting speaks of: "declared", "auto" or "either".

    "either": those that it declares, or all that are found where it declares none. Raises
    SyntaxError and TunableError.
    """
    if which == "auto":
        return tunable(source, auto=True)
    declared = tunable(source)
    if which == "declared" or declared.constants:
        return declared
    return tunable(source, auto=True)


def listed(source: str, which: str, label: str) -> tuple[Constant, ...]:
    """The constants that ``chosen`` gives, of a policy that a user names. Raises UsageError."""
    try:
        return chosen(source, which).constants
    except SyntaxError as e:
        raise UsageError(f"{label}:{e.lineno or 1}: {e.msg}; mend the file") from None
    except TunableError as e:
        raise UsageError(f"{label}:{e.line}: {e.why}") from None


def with_ranges_of(source: str, other: Tunable) -> Tunable:
    """The constants of a source that are of the same names as another's, in the same ranges.

    None of one that cannot be read.
    """
    known = {c.name: c for c in other.constants}
    same = [(known[name], literal) for name, literal in _every(source) if name in known]
    found = [replace(c, value=c.clipped(its.value), literal=its) for c, its in same[:MOST]]
    return Tunable(source, tuple(sorted(found, key=lambda c: c.literal.start)))


@decorating(list[tuple[str, Literal]])
def _every(source: str) -> list[tuple[str, Literal]]:
    """All numbers of a source that are assigned, structural ones included, by their names."""
    parsed = Source(source)
    found = []
    for place in parsed.places():
        for name, part in elements(place.value, place.name):
            literal = parsed.literal(part)
            if literal is not None:
                found.append((name, literal))
    return found


def _stated(name: str, literal: Literal, stated: Declared) -> Constant:
    whole = all(isinstance(v, int) for v in (literal.value, stated.low, stated.high))
    return Constant(
        name, literal.value, stated.low, stated.high, literal,
        log=stated.log, integer=whole and not stated.log, declared=True,
    )  # fmt: skip


def _is_switch(value: float) -> bool:
    """Whole numbers from -1 to 1 are signs, switches and first counts more often than gains."""
    return isinstance(value, int) and -1 <= value <= 1


@decorating(str)
def commented(source: str, notes: Mapping[int, str]) -> str:
    """A source with ``was ...`` at the ends of lines, where a comment may stand.

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
        after = lines[line - 1][len(text) :]
        if line in comments:
            at = comments[line]
            before = _WAS.sub("", text[at:].removeprefix("#").strip())
            text, note = text[:at].rstrip(), f"{before}; " if before else ""
        else:
            note = ""
        lines[line - 1] = f"{text}  # {note}was {notes[line]}{after}"
    return "".join(lines)
