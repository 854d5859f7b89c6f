"""Which lines of a policy ran, in words and line by line; counts come from ``CoverageJob``.

A count belongs to a line on which the interpreter begins something. Here it becomes one of whole
statements. Counts are shown and never relied on: whatever they say, nothing here fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from promptpo.common.python_text import decorating, short, tree_of
from promptpo.policies.sources import lines_of, reached_by_name

#: How much is said of what never ran, at most.
MOST = 5
#: Characters of a condition that are quoted.
_QUOTED = 60
#: Methods that are called by others than the policy, or not at all.
_NOT_MISSED = frozenset({"reset", "prepare"})

Counts = Iterable[tuple[int, int]]


@dataclass(frozen=True)
class CoverageRun:
    """In how many steps of some episodes each line of a policy ran.

    ``counts`` are pairs of a line (from 1) and a number of steps, which is 0 for what ran only
    while the policy was made; a line that is not among them never ran. ``steps`` is the length of
    all episodes together, ``error`` why nothing could be counted.
    """

    counts: tuple[tuple[int, int], ...] = ()
    steps: int = 0
    error: str | None = None


#: A find: its depth, its line, and words on it.
Find = tuple[int, int, str]


@decorating(dict[int, int | None])
def line_hits(source: str, counts: Counts) -> dict[int, int | None]:
    """Return in how many steps each line of code was reached; None: never.

    Lines that hold no code (comments, docstrings, ``else:``) are left out, as are class headers.
    """
    tree, in_steps = tree_of(source), dict(counts)
    hits: dict[int, int | None] = {}
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ClassDef) or not _has_code(node):
            continue
        first, last = _head(node)
        count = _hits(node, in_steps)
        if isinstance(node, ast.FunctionDef):
            inside = next((s for s in node.body if _has_code(s)), None)
            count = _hits(inside, in_steps) if inside else 0
        hits.update(dict.fromkeys(range(first, last + 1), count))
    return hits


@decorating(list[str])
def unreached(source: str, counts: Counts) -> list[str]:
    """Return what never ran, in a few words each: functions, branches, what follows a return.

    The outermost come first; of more than MOST the last line says how many are left out.
    """
    tree = tree_of(source)
    if tree is None:
        return []
    # What ``prepare`` needs has run before lines are counted.
    preparing = reached_by_name(tree, ["prepare"], without=("Policy",))
    finds = sorted(_Search(source, dict(counts), preparing).block(tree.body, 0))
    words = [words for _, _, words in finds]
    if len(words) > MOST:
        words = [*words[: MOST - 1], f"and {len(words) - MOST + 1} more that never ran"]
    return words


def _has_code(node: ast.AST) -> bool:
    """Return whether it is a statement, or a clause of one, at which the interpreter stops."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return False
    if isinstance(node, ast.Global | ast.Nonlocal):
        return False
    return isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case)


def _head(node: ast.AST) -> tuple[int, int]:
    """Return first and last line of a statement or clause, without the statements within it."""
    place: Any = node.pattern if isinstance(node, ast.match_case) else node
    if not hasattr(node, "body") and not isinstance(node, ast.Match):
        return place.lineno, place.end_lineno
    inner = (ast.stmt, ast.ExceptHandler, ast.match_case)
    parts = [part for part in ast.iter_child_nodes(node) if not isinstance(part, inner)]
    ends = [getattr(part, "end_lineno", None) or 0 for part in parts]
    return place.lineno, max([place.lineno, *ends])


def _hits(node: ast.AST, counts: Mapping[int, int]) -> int | None:
    first, last = _head(node)
    return max((counts[n] for n in range(first, last + 1) if n in counts), default=None)


class _Search:
    """Looks for what never ran."""

    def __init__(self, source: str, counts: Mapping[int, int], preparing: Set[str]) -> None:
        self._lines = lines_of(source)
        self._counts = counts
        self._preparing = preparing

    def block(self, body: Sequence[ast.stmt], depth: int, owner: str = "") -> Iterator[Find]:
        """Yield what was not reached of a block that was."""
        for number, statement in enumerate(body):
            if _has_code(statement) and _hits(statement, self._counts) is None:
                if number:
                    first, last = statement.lineno, body[-1].end_lineno or statement.lineno
                    lines = f"line {first}" if first == last else f"lines {first} to {last}"
                    yield depth, first, f"{lines} never ran"
                return
            yield from self._within(statement, depth, owner)

    def _within(self, node: ast.stmt, depth: int, owner: str) -> Iterator[Find]:
        match node:
            case ast.ClassDef(name, body=body):
                yield from self.block(body, depth, "" if name == "Policy" else f"{short(name)}.")
            case ast.FunctionDef():
                yield from self._function(node, depth, owner)
            case ast.If():
                yield from self._if(node, depth)
            case ast.For(body=body) | ast.While(body=body):
                yield from self._branch(node, "loop", body, depth)
            case ast.With(body=body):
                yield from self.block(body, depth)
            case ast.Try(body=body, orelse=orelse, finalbody=finalbody):
                for part in (body, orelse, finalbody):
                    yield from self.block(part, depth)
            case ast.Match(cases=cases):
                for case in cases:
                    yield from self._branch(case, "branch", case.body, depth)

    def _if(self, node: ast.If, depth: int) -> Iterator[Find]:
        """Look into a branch and all that its ``elif`` lead to, however many these are."""
        while not any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test)):
            yield from self._branch(node, "branch", node.body, depth)
            match node.orelse:
                case []:
                    return
                case [ast.If() as inner] if self._entered(node.orelse):
                    node = inner
                case [first, *_]:
                    line = node.lineno
                    if self._entered(node.orelse):
                        yield from self.block(node.orelse, depth + 1)
                    elif self._text(first.lineno).startswith("elif"):
                        words = f"line {first.lineno} ({self._quoted(first.lineno)}) was never"
                        yield depth + 1, first.lineno, f"{words} reached"
                    else:
                        words = f"the `else` of line {line} ({self._quoted(line)}) never ran"
                        yield depth + 1, first.lineno, words
                    return

    def _function(self, node: ast.FunctionDef, depth: int, owner: str) -> Iterator[Find]:
        first = next((s for s in node.body if _has_code(s)), None)
        if first is None or first.lineno == node.lineno:  # one line: nothing tells them apart
            return
        special = node.name in _NOT_MISSED or (node.name[:2] == "__" == node.name[-2:])
        if self._entered(node.body):
            yield from self.block(node.body, depth + 1)
        elif (owner.rstrip(".") or node.name) in self._preparing:
            return
        elif not (isinstance(first, ast.Raise | ast.Pass) or special):
            yield depth, node.lineno, f"`{owner}{short(node.name)}` was never entered"

    def _branch(
        self, node: ast.stmt | ast.match_case, what: str, body: Sequence[ast.stmt], depth: int
    ) -> Iterator[Find]:
        line = _head(node)[0]
        if body[0].lineno == line:
            return
        if self._entered(body):
            yield from self.block(body, depth + 1)
        else:
            yield depth + 1, line, f"the {what} at line {line} ({self._quoted(line)}) never ran"

    def _entered(self, body: Sequence[ast.stmt]) -> bool:
        first = next((s for s in body if _has_code(s)), None)
        return first is None or _hits(first, self._counts) is not None

    def _text(self, line: int) -> str:
        return self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""

    def _quoted(self, line: int) -> str:
        words = self._text(line).removesuffix(":")
        return f"`{words if len(words) <= _QUOTED else words[:_QUOTED] + '...'}`"
