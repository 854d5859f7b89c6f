"""A policy's source as its syntax tree has it: numbers, what they are for, and names in use."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from promptpo.common.plaintext import clean_line
from promptpo.common.python_text import parsed, reading, short

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

#: Calls that take an array as it is written: their first argument is looked into.
_ARRAYS = frozenset({"array", "asarray", "diag", "float32", "float64", "tuple", "list"})

#: Calls whose arguments say how many, how large or which: numbers of these are structure.
_SHAPES = frozenset(
    {
        "range", "zeros", "ones", "empty", "full", "eye", "identity", "reshape", "resize", "arange",
        "linspace", "repeat", "tile", "roll", "split", "array_split", "islice", "deque",
        "default_rng", "RandomState", "seed", "Random", "integers", "randint", "choice", "sample",
    }
)  # fmt: skip


#: Numbers beyond this are no constants, and ranges of logarithms do not begin below its inverse:
#: what is reckoned with them stays finite.
LARGEST = 1e100

#: Characters of a line that name a number within it, before it and behind it.
_BEFORE, _BEHIND = 20, 12

#: What stands between a statement and the next one of its line.
_NEXT = re.compile(r"(?:[ \t]|\\\r?\n)*;[ \t]*")


@dataclass(frozen=True)
class Literal:
    """A number in a source: ``source[start:end]``, its sign included, on a line from 1.

    ``where`` is the same as ``ast`` counts: line, column in bytes, and both of the end.
    """

    start: int
    end: int
    line: int
    value: float
    where: tuple[int, int, int, int]


@dataclass(frozen=True)
class Place:
    """A name or attribute that is assigned a value that is written out.

    ``name`` is how people call it, ``key`` the name or attribute by which code reads it.
    """

    name: str
    key: str
    value: ast.expr


class Source:
    """A parsed source that knows where its nodes stand. Raises SyntaxError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = parsed(text)
        self._lines = lines_of(text)
        self._starts = [0, *accumulate(map(len, self._lines))]
        self._columns: dict[int, list[int]] = {}

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the begin and end of a node's text, in characters."""
        assert node.end_lineno is not None and node.end_col_offset is not None  # noqa: S101
        return (
            self._at(node.lineno, node.col_offset),
            self._at(node.end_lineno, node.end_col_offset),
        )

    def without(self, statements: Iterable[ast.stmt]) -> str:
        """Return the text without these, in their order, and the semicolons after them."""
        spans = []
        for start, end in map(self.span, statements):
            more = _NEXT.match(self.text, end)
            spans.append((start, more.end() if more else end))
        return cut(self.text, spans)

    def _at(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        if not text.isascii():  # columns count bytes
            if line not in self._columns:
                sizes = ((i, len(character.encode())) for i, character in enumerate(text))
                columns = [i for i, size in sizes for _ in range(size)]
                self._columns[line] = [*columns, len(text)]
            column = self._columns[line][column]
        return self._starts[line - 1] + column

    def literal(self, node: ast.expr) -> Literal | None:
        """Return the number that a node is, if it is one."""
        value = number(node)
        if value is None or node.end_lineno is None or node.end_col_offset is None:
            return None
        where = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        return Literal(*self.span(node), node.lineno, value, where)

    def numbers(self) -> Iterator[tuple[Place, str, Literal]]:
        """Yield each number of each place, with its name."""
        for place in self.places():
            for name, part in elements(place.value, place.name):
                if (literal := self.literal(part)) is not None:
                    yield place, name, literal

    def every_number(self) -> list[Literal]:
        """Return all numbers that are written anywhere, in their order."""
        signed = (n.operand for n in ast.walk(self.tree) if isinstance(n, ast.UnaryOp)
                  and number(n) is not None)  # fmt: skip
        within = set(map(id, signed))
        nodes = (n for n in ast.walk(self.tree) if isinstance(n, ast.expr) and id(n) not in within)
        literals = (literal for node in nodes if (literal := self.literal(node)) is not None)
        return sorted(literals, key=lambda literal: literal.start)

    def around(self, literal: Literal) -> str:
        """Return the line of a number, cut short, with ``_`` in its place."""
        first = self._starts[literal.line - 1]
        line, at, end = self._lines[literal.line - 1], literal.start - first, literal.end - first
        before, behind = line[:at].lstrip(), line[end:].split("#")[0].rstrip()
        cut_off = ("..." if before[_BEFORE:] else "") + before[-_BEFORE:]
        return clean_line(f"{cut_off}_{behind[:_BEHIND]}{'...' if behind[_BEHIND:] else ''}")

    def places(self) -> Iterator[Place]:
        """Yield what modules, classes and ``__init__`` assign, and defaults of parameters."""
        yield from self._of_body(self.tree.body, "")

    def _of_body(self, body: Sequence[ast.stmt], within: str) -> Iterator[Place]:
        for statement in body:
            match statement:
                case ast.ClassDef():
                    yield from self._of_body(statement.body, f"{short(statement.name)}.")
                case ast.FunctionDef():
                    yield from _defaults(statement)
                    if within and statement.name == "__init__":
                        for inner in statement.body:
                            yield from assigned(inner, "")
                case _:
                    yield from assigned(statement, within)


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text without these parts of it, which are in order."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    return "".join([*parts, text[at:]])


def lines_of(source: str) -> list[str]:
    """Return the lines of a source with their ends, as Python counts them."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$", source)


def number(node: ast.expr) -> float | None:
    """Return the number that is written, with or without a sign; None for anything else.

    Nor for one that is infinite, or larger than any that is reckoned with.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value if value <= LARGEST else None
        case ast.UnaryOp(ast.USub(), operand) if isinstance(operand, ast.Constant):
            unsigned = number(operand)
            return None if unsigned is None else -unsigned
    return None


def elements(node: ast.expr, name: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parts of a value that is written out, each with its name: ``GAINS[1]``."""
    waiting = [(name, node)]
    while waiting:
        name, node = waiting.pop()
        match node:
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                items = [(f"{name}[{index}]", part) for index, part in enumerate(parts)]
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                items = [(f"{name}[{_key(k.value)}]", v) for k, v in pairs
                         if isinstance(k, ast.Constant)]  # fmt: skip
            case ast.Call(args=[first, *_]) if called(node) in _ARRAYS:
                items = [(name, first)]
            case _:
                yield name, node
                continue
        waiting += reversed(items)


def _key(value: object) -> str:
    """Return a key of a dict as names have it."""
    if isinstance(value, str):
        return repr(short(value))
    if (isinstance(value, int) and value > LARGEST) or (isinstance(value, bytes) and value[60:]):
        return "..."
    return repr(value)


def called(node: ast.Call) -> str:
    """Return the last word of what is called: ``array`` of ``np.array(...)``."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def structural(tree: ast.Module) -> set[str]:
    """Return names whose numbers are indices, counts, shapes or choices."""
    return _read(tree, structure)


def structure(node: ast.AST) -> Iterable[ast.AST]:
    """Return parts of a node in which a number is an index, a count, a shape or a choice."""
    match node:
        case ast.Subscript(slice=inner):
            return [inner]
        case ast.Call() if called(node) in _SHAPES:
            return [*node.args, *(k.value for k in node.keywords)]
        case ast.Call(keywords=keywords):
            sizes = ("axis", "shape", "size", "maxlen", "dtype")
            return [keyword.value for keyword in keywords if keyword.arg in sizes]
        case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), right=right):
            return [right]
        case ast.Compare(left=left, ops=operators, comparators=others):
            if any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in operators):
                return [left, *others]
    return []


def measured(tree: ast.Module) -> set[str]:
    """Return names that code computes with or compares by size: gains and limits."""
    return _read(tree, reckoning)


def reckoning(node: ast.AST) -> Iterable[ast.AST]:
    """Return the node itself where it computes with numbers or compares them by size."""
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() | ast.Pow()):
            return [node]
        case ast.Compare(ops=operators):
            if any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in operators):
                return [node]
    return []


def changed(tree: ast.Module) -> set[str]:
    """Return names that code assigns more than once: state, and no constants."""
    counts: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=target):
                names = 2 * _targets(target)
            case ast.Assign(targets=targets):
                names = [name for target in targets for name in _targets(target)]
            case ast.AnnAssign(target=target, value=ast.expr()) | ast.NamedExpr(target=target):
                names = _targets(target)
            case ast.For(target=target):
                names = 2 * _targets(target)
            case _:
                continue
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    return {name for name, count in counts.items() if count > 1}


def assigned(statement: ast.stmt, within: str) -> Iterator[Place]:
    """Yield what a statement assigns to names, and to attributes of ``self``."""
    match statement:
        case ast.Assign(targets=[target], value=value):
            yield from _pairs(target, value, within)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _pairs(target, value, within)


def _pairs(target: ast.expr, value: ast.expr, within: str) -> Iterator[Place]:
    match target, value:
        case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values):
            for one, its in zip(targets, values, strict=True):
                yield from _pairs(one, its, within)
        case ast.Name(id=name), _:
            yield Place(f"{within}{short(name)}", name, value)
        case ast.Attribute(value=ast.Name(id="self"), attr=name), _:
            yield Place(f"self.{short(name)}", name, value)


def _defaults(function: ast.FunctionDef) -> Iterator[Place]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    last = plain[len(plain) - len(arguments.defaults) :]
    pairs = [*zip(last, arguments.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    for argument, default in pairs:
        yield Place(f"{short(function.name)}({short(argument.arg)})", argument.arg, default)


def _targets(target: ast.expr) -> list[str]:
    """Return the names that are assigned; twice where an element of one is changed."""
    names: list[str] = []
    waiting = [(target, 1)]
    while waiting:
        node, times = waiting.pop()
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                names += times * [name]
            case ast.Subscript(value=value):
                waiting.append((value, 2))
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                waiting += [(part, times) for part in parts]
            case ast.Starred(value=value):
                waiting.append((value, times))
    return names


def _read(tree: ast.AST, marked: Callable[[ast.AST], Iterable[ast.AST]]) -> set[str]:
    """Return names and attributes within the nodes that ``marked`` gives of any, in one walk."""
    names: set[str] = set()
    inside: set[int] = set()
    waiting = [(tree, False)]
    while waiting:
        node, within = waiting.pop()
        inside.update(map(id, marked(node)))
        within = within or id(node) in inside
        if within and isinstance(node, ast.Name | ast.Attribute):
            names.add(node.id if isinstance(node, ast.Name) else node.attr)
        waiting += [(child, within) for child in ast.iter_child_nodes(node)]
    return names


def reached_by_name(
    tree: ast.Module, names: Iterable[str], without: Iterable[str] = ()
) -> set[str]:
    """Return names, and those that the module's functions and classes of these names read."""
    definitions = {n.name: n for n in tree.body if isinstance(n, (*_FUNCTIONS, ast.ClassDef))}
    reached, waiting = {*names}, [*names]
    while waiting:
        name = waiting.pop()
        if name in definitions and name not in without:
            new = _names([definitions[name]]) - reached
            reached |= new
            waiting += new
    return reached


def names_in_use(tree: ast.Module, policy: str = "Policy") -> set[str]:
    """Return names that are read when the module is executed, or by what its policy reaches.

    All names where there is no such class.
    """
    if not any(getattr(n, "name", "") == policy for n in tree.body):
        return _names([tree])
    return reached_by_name(tree, [policy, *_names(_executed(tree.body))])


def idle_names(tree: ast.Module) -> set[str]:
    """Return names that a program with ``prepare`` defines, and its policy never reads.

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
    """Return whether policies of a source are made with an argument, judging by its text.

    Raises SyntaxError.
    """
    classes = {n.name: n for n in parsed(source).body if isinstance(n, ast.ClassDef)}
    waiting = ["Policy"]
    while waiting:
        node = classes.pop(waiting.pop(), None)
        if node is None:
            continue
        if takes := _takes_one(node):
            return True
        if takes is None:
            waiting += [b.id for b in reversed(node.bases) if isinstance(b, ast.Name)]
    return False


def bound_by(alias: ast.alias) -> str:
    """Return the name that an import defines."""
    return (alias.asname or alias.name).split(".")[0]


def _takes_one(node: ast.ClassDef) -> bool | None:
    """Return whether objects of a class are made with an argument; None: its bases say so."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            arguments = [*inner.args.posonlyargs, *inner.args.args]
            return len(arguments) > 1 or inner.args.vararg is not None
    words = (n for d in node.decorator_list for n in ast.walk(d))
    if any("dataclass" in getattr(n, "id", getattr(n, "attr", "")) for n in words):
        return any(isinstance(inner, ast.AnnAssign) for inner in node.body)
    return None


def _executed(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield what runs when a body is executed: of functions their defaults and decorators."""
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
    """Return names that are read in them."""
    inner = (n for node in nodes for n in ast.walk(node))
    return {n.id for n in inner if isinstance(n, ast.Name) and not _is_set(n)}


def _is_set(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
