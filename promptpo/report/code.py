"""Python source as HTML lines: syntax colours, and what changed from one source to the next."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from markupsafe import Markup, escape

from promptpo.common.python_text import alignable, decorating, has_gap, steps_to_align

#: Unchanged lines that stay on each side of a change.
CONTEXT = 3

#: Above this many characters a source is shown without colours: no policy is that long, and
#: colouring must not hold up the end of a run.
_COLOURED = 60_000

#: Lines of a source beyond which it is shown alone.
_LINES = 10_000

#: Steps of aligning words, of all changed lines of a source together, beyond which no further ones
#: are marked.
_WORD_STEPS = 10_000_000

#: Half-open ranges of characters within a line.
Ranges = Sequence[tuple[int, int]]

#: One line as (CSS class, text); the class is empty for plain text.
Tokens = tuple[tuple[str, str], ...]


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


@lru_cache(maxsize=256)
def highlighted(source: str) -> tuple[Markup, ...]:
    """The lines of a Python source; nothing in them is HTML but our own ``span``."""
    return tuple(_painted(tokens, ()) for tokens in _token_lines(source))


@lru_cache(maxsize=256)
def side_by_side(before: str, after: str) -> tuple[DiffRow, ...]:
    """What changed, line by line; changed words are marked within changed lines.

    Nothing where that would be more lines than anybody reads.
    """
    old, new = _token_lines(before), _token_lines(after)
    if max(len(old), len(new)) > _LINES:
        return ()
    old_text, new_text = _texts(old), _texts(new)
    rows: list[DiffRow] = []
    left = _WORD_STEPS
    for kind, i1, i2, j1, j2 in _changes(old_text, new_text):
        if kind == "equal":
            rows += _same(old, new, i1, j1, i2 - i1)
            continue
        paired = min(i2 - i1, j2 - j1)
        for i, j in zip(range(i1, i1 + paired), range(j1, j1 + paired), strict=True):
            removed, added, steps = _word_changes(old_text[i], new_text[j], left)
            left -= steps
            sides = Side(i + 1, _painted(old[i], removed)), Side(j + 1, _painted(new[j], added))
            rows.append(DiffRow("changed", *sides))
        rows += [
            DiffRow("removed", before=Side(i + 1, _painted(old[i], ())))
            for i in range(i1 + paired, i2)
        ]
        rows += [
            DiffRow("added", after=Side(j + 1, _painted(new[j], ())))
            for j in range(j1 + paired, j2)
        ]
    return tuple(_folded(rows))


def _changes(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """difflib's opcodes; one replacement of all by all where finding them would take too long."""
    if not alignable(old, new):
        return [("replace", 0, len(old), 0, len(new))]
    return [*difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _same(
    old: Sequence[Tokens],
    new: Sequence[Tokens],
    i: int,
    j: int,
    count: int,
) -> list[DiffRow]:
    return [
        DiffRow(
            "same",
            Side(i + k + 1, _painted(old[i + k], ())),
            Side(j + k + 1, _painted(new[j + k], ())),
        )
        for k in range(count)
    ]


def _folded(rows: Sequence[DiffRow]) -> Iterator[DiffRow]:
    """Leave out unchanged lines that are far from any change, where there are at least two."""
    changes = [i for i, row in enumerate(rows) if row.kind != "same"]
    near = {k for i in changes for k in range(i - CONTEXT, i + CONTEXT + 1)}
    for far, group in itertools.groupby(enumerate(rows), lambda row: row[0] not in near):
        stretch = [row for _, row in group]
        if far and len(stretch) > 1:
            yield DiffRow("gap", skipped=len(stretch))
        else:
            yield from stretch


def _word_changes(before: str, after: str, most: int) -> tuple[Ranges, Ranges, int]:
    """Where two versions of a line differ, and in how many steps that was found.

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


@lru_cache(maxsize=256)
def _token_lines(source: str) -> tuple[Tokens, ...]:
    lines: list[list[tuple[str, str]]] = [[]]
    text = source.expandtabs(4).rstrip()
    for kind, value in _tokens(text) or [("", text)]:
        for i, part in enumerate(re.split(r"\r\n|\r|\n", value)):
            if i:
                lines.append([])
            if part:
                lines[-1].append((kind, part))
    return tuple(map(tuple, lines))


@decorating(list[tuple[str, str]])
def _tokens(source: str) -> list[tuple[str, str]]:
    """What Pygments makes of a source; nothing where that cannot be, or takes long."""
    if len(source) > _COLOURED or has_gap(source):
        return []
    from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]

    lexer = PythonLexer(stripnl=False, ensurenl=False)
    return [(_css_class(kind), value) for kind, value in lexer.get_tokens(source)]


def _css_class(kind: Any) -> str:  # noqa: ANN401 - Pygments' token types are made at run time
    return next((css for parent, css in _classes() if kind in parent), "")


@lru_cache(maxsize=1)
def _classes() -> tuple[tuple[Any, str], ...]:
    from pygments import token  # type: ignore[import-untyped]

    return (
        (token.Comment, "c"),
        (token.String, "s"),
        (token.Number, "n"),
        (token.Keyword, "k"),
        (token.Operator.Word, "k"),
        (token.Name.Function, "f"),
        (token.Name.Class, "f"),
        (token.Name.Decorator, "f"),
    )


def _texts(lines: Sequence[Tokens]) -> list[str]:
    return ["".join(text for _, text in line) for line in lines]


def _painted(tokens: Tokens, marks: Ranges) -> Markup:
    """One line: a span for each coloured token, a ``mark`` for each marked range."""
    html: list[str] = []
    position = 0
    edges = [edge for extent in marks for edge in extent]  # in order: every second one ends a mark
    at = 0
    for css, text in tokens:
        end = position + len(text)
        while position < end:
            while at < len(edges) and edges[at] <= position:
                at += 1
            stop = min(end, edges[at]) if at < len(edges) else end
            inner = escape(text[position - end : len(text) + stop - end])
            shown = f'<span class="{css}">{inner}</span>' if css else str(inner)
            html.append(f"<mark>{shown}</mark>" if at % 2 else shown)
            position = stop
    return Markup("".join(html))  # noqa: S704 - all text in it is escaped
