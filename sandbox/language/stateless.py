"""Whether one namespace can serve several episodes.

Episodes must not influence each other, so each has its own namespace: the module is executed anew.
Most modules, though, hold nothing that could change: imports, constants, functions, and classes
whose state is in their instances. Executing such a module once is enough, and faster: the
interpreter specializes instructions for one set of globals and one class, and has to start over
where each episode brings its own.

The answer is yes only where it is plain. Outside of functions nothing mutable may be bound, and
what is bound there is never altered: no ``global``, attributes are set on ``self`` alone, classes
and functions are called and looked at but not passed around, and nothing uses random numbers, a
clock (each episode has its own) or decorators that keep things.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

#: Modules of which every episode has its own.
_OWN = frozenset({"random", "time"})
#: Attributes that lead to random numbers, to a class, or to what a class keeps.
_ATTRIBUTES = frozenset({"random", "__class__", "register"})
#: Builtins that reach attributes by other ways than syntax, or the class of an object.
_REFLECTIVE = frozenset({"getattr", "setattr", "delattr", "vars", "type"})
#: Decorators that keep nothing.
_DECORATORS = frozenset({"property", "staticmethod", "abstractmethod", "dataclass"})
#: Functions whose results cannot change, given arguments that cannot.
_PURE = frozenset(
    {"abs", "auto", "bool", "float", "frozenset", "int", "max", "min", "range", "round"}
)
#: Functions that only look at the classes they are given.
_LOOKS = frozenset({"isinstance", "issubclass", "super"})
#: Names that must mean what they usually mean.
_USUAL = _REFLECTIVE | _DECORATORS | _PURE | _LOOKS | {"field", "math"}


def stateless(tree: ast.Module) -> bool:
    """Whether nothing that outlives an episode can change while the program runs."""
    if not all(map(_is_fixed, tree.body)):
        return False
    defined = {s.name for s in tree.body if isinstance(s, ast.ClassDef | ast.FunctionDef)}
    suspects: set[ast.AST] = set()
    harmless: set[ast.AST] = set()
    for node in ast.walk(tree):
        if type(node) in _SUSPECT_KINDS and _is_suspect(node, defined):
            suspects.add(node)
        if type(node) in _HARMLESS_KINDS:
            harmless.update(_harmless_uses(node))
    return suspects <= harmless


def _is_fixed(statement: ast.stmt) -> bool:
    """Whether a statement outside of functions binds only what cannot change."""
    fixed = False
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            fixed = True
        case ast.Import(aliases) | ast.ImportFrom(_, aliases):
            fixed = not any(alias.asname in _USUAL for alias in aliases)
        case ast.Assign(targets, value):
            fixed = all(map(_is_new_name, targets)) and _is_constant(value)
        case ast.AnnAssign(target, _, value):
            fixed = _is_new_name(target) and (
                value is None or _is_constant(value) or _is_field(value)
            )
        case ast.FunctionDef(name, arguments, decorator_list=decorators):
            defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
            fixed = name not in _USUAL and all(map(_is_constant, defaults))
            fixed = fixed and all(map(_keeps_nothing, decorators))
        case ast.ClassDef(name, bases, _, body, decorators):
            # Members of an enumeration outlive episodes: their methods have a lasting `self`.
            lasting = any(_last_name(base).endswith(("Enum", "Flag")) for base in bases)
            refused = (ast.ClassDef, ast.FunctionDef) if lasting else ast.ClassDef
            fixed = name not in _USUAL and not any(isinstance(s, refused) for s in body)
            fixed = fixed and all(map(_is_fixed, body)) and all(map(_keeps_nothing, decorators))
    return fixed


def _is_new_name(target: ast.expr) -> bool:
    if isinstance(target, ast.Tuple):
        return all(map(_is_new_name, target.elts))
    return isinstance(target, ast.Name) and target.id not in _USUAL


def _is_constant(value: ast.expr) -> bool:
    """Whether a value is immutable, as all names outside of functions are."""
    parts: Iterable[ast.expr] = [value]
    match value:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute(inner) | ast.UnaryOp(_, inner):
            parts = [inner]
        case ast.BinOp(left, _, right):
            parts = [left, right]
        case ast.Tuple(elements):
            parts = elements
        case ast.Call(ast.Name(name), arguments, []) if name in _PURE:
            parts = arguments
        case ast.Call(ast.Attribute(ast.Name("math")), arguments, []):
            parts = arguments
        case _:
            return False
    return all(map(_is_constant, parts))


def _is_field(value: ast.expr) -> bool:
    """A dataclass's ``field(...)``: its factory makes a new object for each instance."""
    match value:
        case ast.Call(ast.Name("field"), [], keywords):
            return all(isinstance(k.value, ast.Lambda) or _is_constant(k.value) for k in keywords)
    return False


def _keeps_nothing(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name(name) | ast.Call(ast.Name(name)):
            return name in _DECORATORS
        case ast.Attribute(ast.Name(), name):
            return name in {"setter", "abstractmethod", "dataclass"}
    return False


_SUSPECT_KINDS = frozenset({ast.Name, ast.Attribute, ast.Import, ast.ImportFrom, ast.Global})


def _is_suspect(node: ast.AST, defined: Set[str]) -> bool:
    """Whether it may alter what outlives an episode, or uses what each episode has of its own."""
    match node:
        case ast.Name(name, ast.Load()):
            return name in _OWN or name in defined or name in _REFLECTIVE
        case ast.Name(name):
            return name == "self"
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return name in _ATTRIBUTES
        case ast.Attribute(base):
            return not (isinstance(base, ast.Name) and base.id == "self")
        case ast.Import(aliases) | ast.ImportFrom(names=aliases):
            parts = {part for alias in aliases for part in alias.name.split(".")}
            module = getattr(node, "module", None) or ""
            return not _OWN.isdisjoint(parts | {*module.split(".")})
    return True


_HARMLESS_KINDS = frozenset(
    {ast.Attribute, ast.Raise, ast.Call, ast.ClassDef, ast.ExceptHandler, ast.arg, ast.AnnAssign}
    | {ast.FunctionDef}
)


def _harmless_uses(node: ast.AST) -> Iterator[ast.AST]:
    """Where a definition may be named: called, read, looked at, a base, a type, an exception."""
    match node:
        case ast.Attribute(ast.Name(name) as value) if name not in _OWN:
            yield value
        case ast.Raise(ast.Name() as name):
            yield name
        case ast.Call(ast.Name(name) as function, arguments) if name not in _REFLECTIVE:
            yield function
            if name in _LOOKS:
                yield from _flat(arguments)
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.ExceptHandler(type=ast.expr() as kind):
            yield from _flat([kind])
        case (
            ast.arg(annotation=ast.expr() as annotation)
            | ast.FunctionDef(returns=ast.expr() as annotation)
        ):
            yield from ast.walk(annotation)
        case ast.AnnAssign(annotation=annotation):
            yield from ast.walk(annotation)


def _flat(expressions: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for expression in expressions:
        yield from expression.elts if isinstance(expression, ast.Tuple) else [expression]


def _last_name(expression: ast.expr) -> str:
    """``b`` of ``a.b``."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
