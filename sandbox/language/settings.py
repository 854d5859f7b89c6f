"""Settings that a program can hold open from one call to the next.

``np.errstate``, ``np.printoptions`` and decimal contexts are meant for a ``with`` statement, but
their ``__enter__`` can be called without an end. They live in context variables; so a program that
may name one of them gets a context of its own for each episode. For others that would be a tenth of
a microsecond per act for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_HOLDERS = frozenset({"errstate", "printoptions", "decimal"})
#: What reaches attributes by names that are computed.
_REFLECTIVE = frozenset({"getattr", "attrgetter", "methodcaller"})


def holds_settings(tree: ast.Module) -> bool:
    """Whether a program may alter such settings: it names one, or could without a trace."""
    wanted = _HOLDERS | _REFLECTIVE
    return any(not wanted.isdisjoint(_named(node)) for node in ast.walk(tree))


def _named(node: ast.AST) -> Iterable[str]:
    names: Iterable[str] = ()
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            names = (name,)
        case ast.alias(name) | ast.ImportFrom(str(name)):
            names = name.split(".")
        case ast.MatchClass(kwd_attrs=attributes):
            names = attributes
    return names
