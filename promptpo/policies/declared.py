"""``tunable(value, low, high)``: constants that a policy declares, and the source without them."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from promptpo.common.plaintext import clean_line
from promptpo.common.python_text import reading, short
from promptpo.policies.literals import LARGEST, Literal, Source, called, elements, number

#: The word by which a policy declares a constant; it never runs.
WORD = "tunable"

#: Constants of one program, at most: no optimizer here finds more.
MOST = 1000

_EXAMPLE = f"write for example kp = {WORD}(1.5, 0.1, 10, log=True)"


class TunableError(Exception):
    """A declaration that is refused: its ``line``, and ``why`` with what to write instead."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, f"{why}; {_EXAMPLE}"
        super().__init__(f"line {line}: {self.why}")


@dataclass(frozen=True)
class Declared:
    """One number of a declaration: the range that it states, and where it stands."""

    literal: Literal
    low: float
    high: float
    log: bool


@reading(TunableError)
def without_declarations(text: str) -> tuple[str, tuple[Declared, ...]]:
    """The source with plain values in place of declarations, and what these said.

    Literals are places in the source that is returned. Raises SyntaxError, and TunableError for a
    declaration that is not written out, or stands where no constant does.
    """
    if WORD not in text:
        return text, ()
    source = Source(text)
    allowed = {id(call) for place in source.places() for call in _calls(place.value)}
    cuts: list[tuple[int, int]] = []
    found: list[Declared] = []
    for node in ast.walk(source.tree):
        match node:
            case ast.Call() if called(node) == WORD:
                if id(node) not in allowed:
                    raise TunableError(
                        node.lineno,
                        f"{WORD} stands for a constant of the module, of a class, of __init__ or of"
                        " a parameter's default, and nowhere else",
                    )
                found += _declared(source, node)
                if len(found) > MOST:
                    raise TunableError(node.lineno, f"a program declares at most {MOST:,} numbers")
                (start, end), (first, last) = source.span(node), source.span(node.args[0])
                cuts += [(start, first), (last, end)]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if name == WORD:
                raise TunableError(node.lineno, f"{WORD} is a word of its own, not to be defined")
    cuts.sort()
    gone = [0, *accumulate(end - start for start, end in cuts)]
    ends = [end for _, end in cuts]

    def moved(literal: Literal) -> Literal:
        by = gone[bisect_right(ends, literal.start)]
        return replace(literal, start=literal.start - by, end=literal.end - by)

    plain = [replace(d, literal=moved(d.literal)) for d in sorted(found, key=_start)]
    return _cut(text, cuts), tuple(plain)


def _calls(value: ast.expr) -> Iterator[ast.Call]:
    for _, part in elements(value, ""):
        if isinstance(part, ast.Call) and called(part) == WORD:
            yield part


def _declared(source: Source, call: ast.Call) -> Iterator[Declared]:
    def refused(why: str) -> TunableError:
        return TunableError(call.lineno, f"{WORD}(value, low, high): {why}")

    words = {keyword.arg: keyword.value for keyword in call.keywords}
    given = dict(zip(("value", "low", "high", "log"), call.args, strict=False)) | words
    if len(call.args) not in (1, 2, 3, 4) or len(call.args) + len(words) != len(given):
        raise refused("the value comes first, then its bounds")
    if unknown := set(words) - {"low", "high", "log"}:
        raise refused(f"{clean_line(short(min(map(str, unknown))))} is not known to it")
    if not {"low", "high"} <= set(given):
        raise refused("the bounds are missing")
    log = given.get("log", ast.Constant(value=False))
    if not isinstance(log, ast.Constant) or not isinstance(log.value, bool):
        raise refused("log is True or False")
    values = [source.literal(part) for _, part in elements(given["value"], "")]
    lows, highs = (_bounds(given[name], len(values)) for name in ("low", "high"))
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
        yield Declared(literal, low, high, log.value)


def _bounds(node: ast.expr, count: int) -> list[float] | None:
    parts = [number(part) for _, part in elements(node, "")]
    if None in parts or len(parts) not in (1, count):
        return None
    return [part for part in parts * (count if len(parts) == 1 else 1) if part is not None]


def _start(declared: Declared) -> int:
    return declared.literal.start


def _cut(text: str, cuts: list[tuple[int, int]]) -> str:
    kept, at = [], 0
    for start, end in cuts:
        kept.append(text[at:start])
        at = end
    return "".join([*kept, text[at:]])
