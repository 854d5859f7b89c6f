"""Numbers within functions: which of them an optimizer may choose, and what stands beside them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from promptpo.common.python_text import short
from promptpo.policies.sources import (
    Literal,
    Source,
    assigned,
    called,
    number,
    reckoning,
    structure,
)

#: Functions whose numbers are no part of acting, or are the beginning of what changes.
_NOT_ACTING = frozenset({"__init__", "reset", "prepare"})

#: Calls that compare their arguments, and calls that leave a number what it is.
_COMPARING = frozenset({"min", "max", "clip", "minimum", "maximum"})
_PLAIN = frozenset({"float", "float64", "array", "asarray"})


def inner_numbers(source: Source, idle: Set[str]) -> Iterator[tuple[ast.expr, str, Literal, bool]]:
    """Yield the numbers within functions that are no structure: node, name, literal, measured.

    Not those of functions and classes whose names are ``idle``; ``measured``: it is computed
    with or compared by size.
    """
    waiting = [n for n in reversed(source.tree.body) if getattr(n, "name", "") not in idle]
    while waiting:
        match waiting.pop():
            case ast.ClassDef(body=body):
                waiting += reversed(body)
            case ast.FunctionDef(name=name, body=body) if name not in _NOT_ACTING:
                for node, measured in _free_numbers(body):
                    if (literal := source.literal(node)) is not None:
                        yield node, f"{short(name)}: {source.around(literal)}", literal, measured


def _free_numbers(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the numbers in statements that are no structure, and whether code reckons with them."""
    waiting: list[tuple[ast.AST, bool]] = [(statement, False) for statement in reversed(body)]
    while waiting:
        node, measured = waiting.pop()
        if isinstance(node, ast.expr) and number(node) is not None:
            yield node, measured
            continue
        fixed = {id(part) for part in (*structure(node), *_fixed(node))}
        reckons = bool([*reckoning(node)])
        children = [child for child in ast.iter_child_nodes(node) if id(child) not in fixed]
        waiting += [(child, reckons) for child in reversed(children)]


def _fixed(node: ast.AST) -> Sequence[ast.AST]:
    """Return parts of a node within which a number is one of form, not of measure."""
    parts: Sequence[ast.AST] = []
    match node:
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            parts = [right, *([left] if number(left) is not None else [])]
        case ast.BinOp(left=left, right=right, op=op):
            bits = ast.LShift | ast.RShift | ast.BitAnd | ast.BitOr | ast.BitXor
            circle = any(getattr(n, "attr", getattr(n, "id", "")) == "pi" for n in (left, right))
            parts = [left, right] if circle or isinstance(op, bits) else []
        case ast.Call(args=[_, *more]) if called(node) == "round":
            parts = more
        case ast.Compare(left=left, comparators=others):
            counts = (isinstance(n, ast.Call) and called(n) == "len" for n in (left, *others))
            parts = [left, *others] if any(counts) else []
        case ast.AnnAssign(annotation=annotation):
            parts = [annotation]
        case ast.JoinedStr() | ast.MatchValue() | ast.Raise() | ast.Assert():
            parts = [*ast.iter_child_nodes(node)]
        case ast.FunctionDef() | ast.Lambda():
            parts = [node.args]
    return parts


def beside_fields(tree: ast.Module, fields: Set[str]) -> tuple[dict[int, str], dict[str, str]]:
    """Return what is compared with a field of the observation, added to it or taken from it.

    Numbers by the identity of their node, and names and attributes by themselves, each with the
    field. A field is known by its name on any object but ``self``, and by other names that it alone
    is assigned to.
    """
    numbers: dict[int, str] = {}
    names: dict[str, str] = {}
    aliases = _aliases(tree, fields)
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                sides = [left, right]
            case ast.Compare(left=left, comparators=others) if [*reckoning(node)]:
                sides = [left, *others]
            case ast.Call(args=sides) if called(node) in _COMPARING:
                pass
            case _:
                continue
        met = {field for side in sides if (field := _field(side, fields, aliases))}
        for side in sides if len(met) == 1 else ():
            if number(side) is not None:
                numbers[id(side)] = min(met)
            elif isinstance(side, ast.Name | ast.Attribute):
                names[side.id if isinstance(side, ast.Name) else side.attr] = min(met)
    return numbers, names


def returned(tree: ast.Module) -> dict[int, str]:
    """Return the numbers that an ``act`` returns as they stand, by the identity of their node.

    Each with the element of the action that it is, ``action[0]`` and so on.
    """
    acts = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "act")
    ends = (n.value for act in acts for n in ast.walk(act) if isinstance(n, ast.Return))
    numbers: dict[int, str] = {}
    for end in ends:
        value = end
        while isinstance(value, ast.Call) and value.args and called(value) in _PLAIN:
            value = value.args[0]
        parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
        for i, part in enumerate(parts):
            choices = [part.body, part.orelse] if isinstance(part, ast.IfExp) else [part]
            numbers |= {id(c): f"action[{i}]" for c in choices if c and number(c) is not None}
    return numbers


def _aliases(tree: ast.Module, fields: Set[str]) -> dict[str, str]:
    """Return names and attributes of ``self`` to which nothing but one field is assigned."""
    fields_of: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            for place in assigned(node, ""):
                fields_of.setdefault(place.key, set()).add(_field(place.value, fields, {}))
    return {key: min(of) for key, of in fields_of.items() if len(of) == 1 and min(of)}


def _field(node: ast.expr, fields: Set[str], aliases: Mapping[str, str]) -> str:
    """Return the field that an expression is, or an element of; empty for any other."""
    while True:
        match node:
            case ast.Subscript(value=inner):
                node = inner
            case ast.Call(args=[inner]) if called(node) in _PLAIN:
                node = inner
            case ast.Attribute(value=ast.Name(id="self"), attr=name) | ast.Name(id=name):
                return aliases.get(name, "")
            case ast.Attribute(value=ast.Name(), attr=name):
                return name if name in fields else ""
            case _:
                return ""
