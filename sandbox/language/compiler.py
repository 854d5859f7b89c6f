"""From source text to a checked code object, with what the host asks of the text.

Numbers of a program may differ from one instance of it to the next: the host says where they stand,
and names take their places that no program can spell. Its policy class may declare in ``TRACE``
which attributes are to be sampled.
"""

from __future__ import annotations

import ast
import marshal
import sys
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.errors import CompileError
from sandbox.interface import Place
from sandbox.language import names
from sandbox.language.library import Offer
from sandbox.language.transformer import PolicyTransformer, strings
from sandbox.tracing import DECLARATION as TRACE
from sandbox.tracing import MAX_NAME_CHARS, MAX_NAMES, is_name

#: The file name in code objects and tracebacks of programs.
FILENAME = "<policy>"

_MAX_REFUSALS = 8
#: Characters of a source line that messages show.
_SHOWN = 160
#: Deep enough for long sums and else-if chains; pure Python recursion needs no C stack.
_PARSE_DEPTH = 4000


@dataclass(frozen=True)
class Compiled:
    """A checked module.

    Attributes:
        code: the module.
        traced: the attributes in ``TRACE``, each with the name that it really has.
        values: the numbers that stand in the text in the places of numbers.
        line: where the attributes are named.
    """

    code: types.CodeType
    traced: dict[str, str]
    values: tuple[float, ...] = ()
    line: int = 0

    def packed(self) -> bytes:
        """Return it as bytes, for other processes of the same program."""
        return marshal.dumps((self.code, self.traced, self.values, self.line))

    @classmethod
    def unpacked(cls, data: bytes) -> Compiled:
        """Return what ``packed`` gave; for sandboxed processes alone."""
        return cls(*marshal.loads(data))  # noqa: S302 - the program's own process

    def numbers(self, places: Sequence[Place], constants: Sequence[float]) -> dict[str, float]:
        """Return what a namespace holds in the places of numbers: ``constants``, if there are.

        Raises:
            ValueError: there are not as many, or a whole number is NaN.
            OverflowError: a whole number is infinite.
        """
        values = zip(places, constants or self.values, strict=True)
        numbers = [int(value) if place.whole else float(value) for place, value in values]
        return {_name(i): value for i, value in enumerate(numbers)}


def compile_source(
    source: str, offer: Offer, policy_class: str = "", places: Sequence[Place] = ()
) -> Compiled:
    """Check ``source`` and compile it.

    Args:
        source: a module that the sandboxed language allows.
        offer: what it may import.
        policy_class: the class that may name attributes to be traced.
        places: where numbers stand that namespaces bring along (``Compiled.numbers``).

    Raises:
        CompileError: with the first refused line, and all refusals in the message.
    """
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, _PARSE_DEPTH))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compile(source, offer, policy_class, places)
    except SyntaxError as error:
        why = f"this is not valid Python: {error.msg[:_SHOWN]}"
        raise _refused(source, [(error.lineno or 1, why)]) from None
    except (RecursionError, MemoryError):
        raise CompileError(
            "the source nests expressions or blocks too deeply to be compiled; split it into "
            "smaller functions"
        ) from None
    except ValueError as error:
        raise CompileError(f"the source cannot be read: {error}", line=1) from None
    finally:
        sys.setrecursionlimit(depth)


def _compile(source: str, offer: Offer, policy_class: str, places: Sequence[Place]) -> Compiled:
    tree = ast.parse(source, FILENAME)
    numbers = _numbers_at(tree, places) if places else []
    values = tuple(map(ast.literal_eval, numbers))
    traced, line = _traced(source, tree, policy_class) if TRACE in source else ({}, 0)
    replaced = {node: _name(i) for i, node in enumerate(numbers)}
    transformer = PolicyTransformer(tree, offer, replaced)
    tree = transformer.visit(tree)
    if transformer.refusals:
        raise _refused(source, sorted(set(transformer.refusals)))
    code = compile(tree, FILENAME, "exec", dont_inherit=True)
    return Compiled(code, traced, values, line)


def _refused(source: str, refusals: list[tuple[int, str]]) -> CompileError:
    first = refusals[:_MAX_REFUSALS]
    parts = [f"line {line}: {text}{quoted(source, line)}" for line, text in first]
    if len(refusals) > len(first):
        parts.append(f"and {len(refusals) - len(first)} more like these")
    return CompileError("\n".join(parts), line=refusals[0][0])


def quoted(source: str, line: int) -> str:
    """Return the source line, ready to follow a message about it."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1].strip()
    return f"\n    {text[:_SHOWN]}" if text else ""


def _name(number: int) -> str:
    """Return the name that takes the place of a number of the text."""
    return f"{names.PREFIX}constant{number}"


def _numbers_at(tree: ast.Module, places: Sequence[Place]) -> list[ast.expr]:
    """Return the nodes that stand at the places.

    Raises:
        ValueError: there is no number at a place.
    """
    nodes: dict[tuple[int | None, ...], ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value) | ast.UnaryOp(ast.USub(), ast.Constant(value)):
                if type(value) in (int, float):
                    where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                    nodes.setdefault(where, node)
    numbers = list(dict.fromkeys(nodes[place[:4]] for place in places if place[:4] in nodes))
    if len(numbers) != len(places):
        missing = len(places) - len(numbers)
        raise ValueError(f"{missing} of {len(places)} places hold no number")
    return numbers


def _traced(source: str, tree: ast.Module, class_name: str) -> tuple[dict[str, str], int]:
    """Return the names that a class's ``TRACE`` lists, and the line of it.

    Each name comes with the one that the attribute really has. The declaration stands in the class
    or in one of its bases in the module, written out, because nothing that a program computes may
    decide about it. Empty, and line 0, where there is none.

    Raises:
        CompileError: it is no list of names of attributes.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    waiting, methods = [class_name], set[str]()
    while waiting:
        node = classes.pop(waiting.pop(0), None)
        if node is None:
            continue
        methods |= {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        value = _declared(node)
        if value is not None:
            why = _untraceable(value, methods)
            if why is not None:
                text = f'{why}; write for example {TRACE} = ("phase", "target")'
                raise _refused(source, [(value.lineno, text)])
            listed = ast.literal_eval(value)
            return {name: names.renamed(name, node.name) for name in listed}, value.lineno
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


def _untraceable(value: ast.expr, methods: set[str]) -> str | None:
    """Return why a declaration is refused; ``methods`` include the properties of the class."""
    constants = strings(value) if isinstance(value, ast.Tuple | ast.List) else None
    if constants is None:
        return f"`{TRACE}` is a tuple of strings, written out: names of attributes of self"
    listed = [constant.value for constant in constants]
    if len(listed) > MAX_NAMES:
        return f"`{TRACE}` names {len(listed)} attributes; at most {MAX_NAMES} are traced"
    for name in listed:
        if not is_name(name) or names.PREFIX in name or names.is_dunder(name):
            return (
                f"{names.shortened(ascii(name))} in `{TRACE}` is no name of an attribute of self"
                f" (a string of at most {MAX_NAME_CHARS} characters, without `self.`)"
            )
        if name in methods:
            return (
                f"`{name}` in `{TRACE}` is a method or a property: name attributes that are"
                " assigned, such as self.phase"
            )
    if len(set(listed)) != len(listed):
        return f"`{TRACE}` names an attribute twice"
    return None
