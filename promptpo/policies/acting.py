"""What of a program runs when its policy acts, and what only its ``prepare`` needs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from promptpo.common.python_text import parsed, reading

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def names_in_use(tree: ast.Module, policy: str = "Policy") -> set[str]:
    """Names that are read when the module is executed, or by what its policy reaches by name.

    All names where there is no such class.
    """
    known = {n.name: n for n in tree.body if isinstance(n, (*_FUNCTIONS, ast.ClassDef))}
    if policy not in known:
        return _names([tree])
    found = {policy, *_names(_executed(tree.body))}
    waiting = [*found]
    while waiting:
        if (name := waiting.pop()) in known:
            new = _names([known[name]]) - found
            found |= new
            waiting += new
    return found


def idle_names(tree: ast.Module) -> set[str]:
    """What a program that prepares defines or assigns, and its policy never reads.

    Other numbers for these change nothing once it has prepared. Empty for one without ``prepare``.
    """
    if not any(isinstance(n, ast.FunctionDef) and n.name == "prepare" for n in tree.body):
        return set()
    bound = {n.name for n in tree.body if isinstance(n, (*_FUNCTIONS, ast.ClassDef))}
    for node in tree.body:
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            bound |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_set(n)}
    return bound - names_in_use(tree)


@reading()
def takes_prepared(source: str) -> bool:
    """Whether policies of a source are made with an argument, as far as its text tells.

    Raises SyntaxError.
    """
    classes = {n.name: n for n in parsed(source).body if isinstance(n, ast.ClassDef)}
    waiting = ["Policy"]
    while waiting:
        node = classes.pop(waiting.pop(), None)
        if node is None:
            continue
        takes = _takes_one(node)
        if takes:
            return True
        if takes is None:
            waiting += [b.id for b in reversed(node.bases) if isinstance(b, ast.Name)]
    return False


def bound_by(alias: ast.alias) -> str:
    """The name that an import defines."""
    return (alias.asname or alias.name).split(".")[0]


def _takes_one(node: ast.ClassDef) -> bool | None:
    """Whether objects of a class are made with an argument; None: its bases say so."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            found = inner.args
            return len(found.posonlyargs) + len(found.args) > 1 or found.vararg is not None
    words = (n for d in node.decorator_list for n in ast.walk(d))
    if any("dataclass" in getattr(n, "id", getattr(n, "attr", "")) for n in words):
        return any(isinstance(inner, ast.AnnAssign) for inner in node.body)
    return None


def _executed(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """What runs when a body is executed: of functions their defaults and decorators."""
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield from node.decorator_list
            yield from node.args.defaults
            yield from (default for default in node.args.kw_defaults if default)
        elif isinstance(node, ast.ClassDef):
            yield from (*node.decorator_list, *node.bases, *node.keywords)
            yield from _executed(node.body)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are read in them."""
    inner = (n for node in nodes for n in ast.walk(node))
    return {n.id for n in inner if isinstance(n, ast.Name) and not _is_set(n)}


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
