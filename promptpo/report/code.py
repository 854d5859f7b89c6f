"""Python source as HTML: syntax colours, how often lines ran, what changed between two sources."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markupsafe import Markup, escape

from promptpo.common.python_text import (
    alignable,
    decorating,
    docstring,
    has_gap,
    steps_to_align,
    tree_of,
)
from promptpo.policies import CoverageRun, line_hits, unreached

#: Unchanged lines that stay on each side of a change.
_CONTEXT = 3

#: Above this many characters a source is shown without colours: no policy is that long, and
#: colouring must not hold up the end of a run.
_COLOURED = 60_000

#: Lines of a source beyond which it is shown alone.
_LINES = 10_000

#: Steps of aligning words, of all changed lines of a source together, beyond which no further ones
#: are marked.
_WORD_STEPS = 10_000_000

#: A line takes about this many bytes beside its text.
_LINE_BYTES = 150

#: Half-open ranges of characters within a line.
Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class SourceLine:
    """A line of source: ``ran`` says how often it was reached, ``level`` shades it.

    Both are empty where it holds no code, or nothing was counted.
    """

    html: Markup
    ran: str = ""
    level: str = ""


@dataclass(frozen=True)
class Source:
    """A source, with how often its lines ran where that was counted.

    Attributes:
        lines: all of them.
        file: the file of the run that has it.
        steps: in how many steps lines were counted; 0 where they were not.
        unreached: what never ran, in words.
        whole: True where every line ran.
    """

    lines: tuple[SourceLine, ...]
    file: str = ""
    steps: int = 0
    unreached: tuple[str, ...] = ()
    whole: bool = False

    @classmethod
    def of(cls, source: str, file: str = "", counted: CoverageRun | None = None) -> Source:
        """Return a source with syntax colours."""
        html = highlighted(source)
        if counted is None or counted.error is not None or counted.steps < 1:
            return cls(tuple(map(SourceLine, html)), file)
        hits = line_hits(source, counted.counts)
        lines = tuple(
            _counted(line, hits[i], counted.steps) if i in hits else SourceLine(line)
            for i, line in enumerate(html, 1)
        )
        never = tuple(unreached(source, counted.counts))
        whole = all(line.level != "never" for line in lines)
        return cls(lines, file, counted.steps, never, whole)

    @property
    def sizes(self) -> list[int]:
        """The bytes of each line."""
        return [_LINE_BYTES + len(line.html) for line in self.lines]


def _counted(html: Markup, hits: int | None, steps: int) -> SourceLine:
    if hits is None:
        return SourceLine(html, "never", "never")
    share = min(max(hits / steps, 0.0), 1.0)
    if not share:
        return SourceLine(html, "start", "start")
    words = "<1%" if share < 0.01 else f"{min(share, 0.99):.0%}" if share < 1 else "100%"
    return SourceLine(html, words, "few" if share < 0.1 else "some" if share < 0.9 else "most")


@dataclass(frozen=True)
class Side:
    """One line on one side of a diff; ``number`` counts from 1."""

    number: int
    html: Markup


@dataclass(frozen=True)
class DiffRow:
    """A row of a side-by-side diff; for kind "gap", ``skipped`` unchanged lines are left out."""

    kind: Literal["same", "changed", "added", "removed", "gap"]
    before: Side | None = None
    after: Side | None = None
    skipped: int = 0


@dataclass(frozen=True)
class Diff:
    """Changes between two sources of these names; ``file`` has the latter."""

    before: str
    after: str
    rows: tuple[DiffRow, ...]
    file: str = ""

    @property
    def sizes(self) -> list[int]:
        """The bytes of each row."""
        return [
            _LINE_BYTES + sum(len(side.html) for side in (row.before, row.after) if side)
            for row in self.rows
        ]


def compared(old: str, new: str, before: str, after: str, file: str = "") -> Diff | None:
    """Return what changed between two sources; None where nothing did, or too much to show."""
    rows = side_by_side(old, new) if old != new else ()
    return Diff(before, after, rows, file) if rows else None


@decorating(str)
def strategy(source: str | None) -> str:
    """Return the first paragraph of a policy's docstring, or of its module's."""
    tree = tree_of(source or "")
    if tree is None:
        return ""
    named: list[ast.ClassDef | ast.Module] = [
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Policy"
    ]
    words = next((d for n in [*named, tree] if (d := docstring(n))), "")
    return " ".join(words.split("\n\n")[0].split())[:600]


@decorating(tuple[Markup, ...])
def _coloured(source: str) -> tuple[Markup, ...]:
    from pygments import highlight  # type: ignore[import-untyped]
    from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    html = highlight(source, lexer, HtmlFormatter(nowrap=True))
    return tuple(map(Markup, html.removesuffix("\n").split("\n")))


@lru_cache(maxsize=256)
def highlighted(source: str) -> tuple[Markup, ...]:
    """Return the lines of a Python source, escaped; in colours where that does not take long."""
    lines = _lines_of(source)
    if len(source) <= _COLOURED and not has_gap(source):
        coloured = _coloured("\n".join(lines))
        if len(coloured) == len(lines):
            return coloured
    return tuple(map(escape, lines))


def _lines_of(source: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", source.expandtabs(4).rstrip())


@lru_cache(maxsize=256)
def side_by_side(before: str, after: str) -> tuple[DiffRow, ...]:
    """Return what changed, line by line; changed words are marked within changed lines.

    Nothing where that would be more lines than anybody reads.
    """
    old, new = _lines_of(before), _lines_of(after)
    if max(len(old), len(new)) > _LINES:
        return ()
    rows: list[DiffRow] = []
    left = _WORD_STEPS
    for kind, i1, i2, j1, j2 in _changes(old, new):
        if kind == "equal":
            rows += _unchanged(old, i1, i2, j1, last=i2 == len(old))
            continue
        paired = min(i2 - i1, j2 - j1)
        for i, j in zip(range(i1, i1 + paired), range(j1, j1 + paired), strict=True):
            removed, added, steps = _word_changes(old[i], new[j], left)
            left -= steps
            sides = Side(i + 1, _marked(old[i], removed)), Side(j + 1, _marked(new[j], added))
            rows.append(DiffRow("changed", *sides))
        for i in range(i1 + paired, i2):
            rows.append(DiffRow("removed", before=Side(i + 1, escape(old[i]))))
        for j in range(j1 + paired, j2):
            rows.append(DiffRow("added", after=Side(j + 1, escape(new[j]))))
    return tuple(rows)


def _unchanged(lines: Sequence[str], i1: int, i2: int, j1: int, *, last: bool) -> Iterator[DiffRow]:
    """Yield unchanged lines, without those that are far from any change if these are several."""
    first, stop = (i1 + _CONTEXT if i1 else i1), (i2 if last else i2 - _CONTEXT)
    for i in range(i1, i2):
        if first <= i < stop and stop - first > 1:
            if i == first:
                yield DiffRow("gap", skipped=stop - first)
            continue
        html = escape(lines[i])
        yield DiffRow("same", Side(i + 1, html), Side(j1 + i - i1 + 1, html))


def _marked(line: str, ranges: Ranges) -> Markup:
    """Return a line with some ranges of it marked."""
    parts, at = [], 0
    for start, stop in ranges:
        parts += [escape(line[at:start]), "<mark>", escape(line[start:stop]), "</mark>"]
        at = stop
    return Markup("".join([*parts, escape(line[at:])]))  # noqa: S704 - all parts are escaped


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return difflib's opcodes; one replacement of all by all where they would take too long.

    What both begin and end with is set apart first: most lines differ in a single number.
    """
    if not alignable(old, new):
        return [("replace", 0, len(old), 0, len(new))]
    most = min(len(old), len(new))
    first = next((i for i in range(most) if old[i] != new[i]), most)
    last = next((i for i in range(most - first) if old[-1 - i] != new[-1 - i]), most - first)
    stop, end = len(old) - last, len(new) - last
    blank = difflib.SequenceMatcher(
        lambda part: not part.strip(), old[first:stop], new[first:end], autojunk=False
    )
    codes = [("equal", 0, first, 0, first)] if first else []
    for kind, i1, i2, j1, j2 in blank.get_opcodes():
        codes.append((kind, i1 + first, i2 + first, j1 + first, j2 + first))
    return [*codes, *([("equal", stop, len(old), end, len(new))] if last else [])]


def _word_changes(before: str, after: str, most: int) -> tuple[Ranges, Ranges, int]:
    """Return where two versions of a line differ, and the steps that finding it has taken.

    Nothing where they have little in common, or it would take more than ``most``.
    """
    old, new = _words(before), _words(after)
    texts = [w for _, w in old], [w for _, w in new]
    steps = steps_to_align(*texts)
    if steps > most:
        return (), (), 0
    codes = _changes(*texts)
    common = sum(i2 - i1 for kind, i1, i2, _, _ in codes if kind == "equal")
    if 2 * common < 0.4 * (len(old) + len(new)):
        return (), (), steps
    codes = [c for c in codes if c[0] != "equal"]
    removed = [_extent(old, i1, i2) for _, i1, i2, _, _ in codes if i1 < i2]
    added = [_extent(new, j1, j2) for _, _, _, j1, j2 in codes if j1 < j2]
    return removed, added, steps


def _words(text: str) -> list[tuple[int, str]]:
    return [(m.start(), m.group()) for m in re.finditer(r"\w+|[^\w\s]", text)]


def _extent(words: Sequence[tuple[int, str]], first: int, stop: int) -> tuple[int, int]:
    start, word = words[stop - 1]
    return words[first][0], start + len(word)
