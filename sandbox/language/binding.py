"""Which names a piece of syntax binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable


def bound_by(node: ast.AST) -> Iterable[str | None]:
    """The names that ``node`` itself binds or unbinds, its children aside."""
    match node:
        case (
            ast.Name(name, ast.Store() | ast.Del())
            | ast.arg(name)
            | ast.FunctionDef(name)
            | ast.ClassDef(name)
            | ast.ExceptHandler(name=name)
            | ast.MatchAs(name=name)
            | ast.MatchStar(name)
            | ast.MatchMapping(rest=name)
        ):
            return (name,)
        case ast.alias(name, other):
            return (other or name.partition(".")[0],)
        case ast.Global(names) | ast.Nonlocal(names):
            return names
    return ()
