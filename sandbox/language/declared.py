"""What a class declares for those who run it: ``TRACE``, the attributes that are to be sampled."""

from __future__ import annotations

import ast

from sandbox.language.names import PREFIX, is_dunder, renamed, shortened
from sandbox.tracing import DECLARATION, MAX_NAME_CHARS, MAX_NAMES, is_name

TRACE = DECLARATION
_EXAMPLE = f'{TRACE} = ("phase", "target")'


class TraceError(Exception):
    """A declaration that is refused: ``args`` are its line, and why with what to write instead."""


def traced(tree: ast.Module, class_name: str) -> tuple[dict[str, str], int]:
    """Return the names that a class's ``TRACE`` lists, and the line of it.

    Each name comes with the one that the attribute really has.

    It stands in the class or in one of its bases in the module, written out, because nothing that a
    program computes may decide about it. Empty, and line 0, where there is none.

    Raises:
        TraceError: it is no list of names of attributes.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    waiting, seen = [class_name], set[str]()
    functions = set[str]()
    while waiting:
        node = classes.get(name := waiting.pop(0))
        if node is None or name in seen:
            continue
        seen.add(name)
        functions |= {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        value = _declared(node)
        if value is not None:
            names = _names(value, functions)
            return {written: renamed(written, name) for written in names}, value.lineno
        waiting += [base.id for base in node.bases if isinstance(base, ast.Name)]
    return {}, 0


def _declared(node: ast.ClassDef) -> ast.expr | None:
    for statement in node.body:
        match statement:
            case ast.Assign([ast.Name(name)], value) if name == TRACE:
                return value
            case ast.AnnAssign(ast.Name(name), value=ast.expr() as value) if name == TRACE:
                return value
    return None


def _names(value: ast.expr, functions: set[str]) -> list[str]:
    """The names in a declaration; ``functions`` are methods and properties of the class."""

    def refused(why: str) -> TraceError:
        return TraceError(value.lineno, f"{why}; write for example {_EXAMPLE}")

    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    names = [str(p.value) for p in parts if isinstance(p, ast.Constant) and type(p.value) is str]
    if not isinstance(value, ast.Tuple | ast.List) or len(names) != len(parts):
        raise refused(f"`{TRACE}` is a tuple of strings, written out: names of attributes of self")
    if len(names) > MAX_NAMES:
        raise refused(f"`{TRACE}` names {len(names)} attributes; at most {MAX_NAMES} are traced")
    for name in names:
        if not is_name(name) or PREFIX in name or is_dunder(name):
            shown = shortened(ascii(name))
            raise refused(
                f"{shown} in `{TRACE}` is no name of an attribute of self"
                f" (a string of at most {MAX_NAME_CHARS} characters, without `self.`)"
            )
        if name in functions:
            raise refused(
                f"`{name}` in `{TRACE}` is a method or a property: name attributes that are"
                " assigned, such as self.phase"
            )
    if len(set(names)) != len(names):
        raise refused(f"`{TRACE}` names an attribute twice")
    return names
