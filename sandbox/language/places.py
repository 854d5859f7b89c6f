"""Numbers of a program that differ from one instance of it to the next.

The host says where they stand in the text. Where the program is compiled, names take their places
that no program can spell, and every instance has values of its own under them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from sandbox.interface import Place
from sandbox.language.names import PREFIX

_NAME = PREFIX + "constant"


class Misplaced(ValueError):
    """There is no number at a place."""


def numbers_at(tree: ast.Module, places: Sequence[Place]) -> dict[ast.expr, str]:
    """The nodes that stand at the places, each with the name that is to take its place.

    Raises Misplaced.
    """
    pairs = zip(places, name_places(places), strict=True)
    wanted: dict[tuple[int | None, ...], str] = {tuple(place[:4]): name for place, name in pairs}
    found: dict[ast.expr, str] = {}
    for node in ast.walk(tree) if wanted else ():
        if isinstance(node, ast.expr) and _is_number(node):
            where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            if where in wanted:
                found[node] = wanted.pop(where)
    if wanted or len(found) != len(places):
        raise Misplaced(f"{len(places) - len(found)} of {len(places)} places hold no number")
    return found


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class Renamer(ast.NodeTransformer):
    """Puts names in the places of numbers."""

    def __init__(self, nodes: Mapping[ast.expr, str]) -> None:
        self._nodes = nodes

    def visit(self, node: ast.AST) -> ast.AST:
        """The node, or the name that takes its place."""
        name = self._nodes.get(node) if isinstance(node, ast.expr) else None
        if name is None:
            visited: ast.AST = self.generic_visit(node)
            return visited
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def name_places(places: Sequence[Place]) -> list[str]:
    """Return the names that take the places of numbers."""
    return [f"{_NAME}{number}" for number in range(len(places))]


def values_at(places: Sequence[Place], values: Sequence[float]) -> dict[str, float]:
    """Return what a namespace holds under these names.

    Raises ValueError, and OverflowError for a whole number that is not finite.
    """
    numbers = [int(v) if p.whole else float(v) for p, v in zip(places, values, strict=True)]
    return dict(zip(name_places(places), numbers, strict=True))
