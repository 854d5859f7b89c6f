"""Statements outside of functions that bind only what cannot change: a small grammar.

Whatever is not in it is not fixed. A value is *plain* where it is made of literals alone, by
operators and functions that give immutable values for such. It is *given* where a library or the
interpreter provides it, or a class of the module holds it: immutable too, but what an operator
makes of it might not be (``np.True_ + (1, 2)`` is an array).
"""

from __future__ import annotations

import ast
import builtins
from collections import ChainMap
from collections.abc import Iterable, MutableMapping
from enum import Enum, auto

#: Functions whose results are plain, given plain arguments.
_PURE = frozenset(
    {"abs", "bool", "float", "frozenset", "int", "len", "max", "min", "range", "round", "str"}
)
_ENUMS = frozenset({"Enum", "Flag", "IntEnum", "IntFlag", "StrEnum"})
_DECORATORS = {"property", "staticmethod", "abstractmethod", "cached_property"}
#: Names that this grammar goes by, with the module that they may be imported from.
_USUAL = {
    **dict.fromkeys(vars(builtins), "builtins"),
    **dict.fromkeys(("dataclass", "field"), "dataclasses"),
    **dict.fromkeys((*_ENUMS, "auto"), "enum"),
    **dict.fromkeys(("ABC", "ABCMeta", "abstractmethod"), "abc"),
    **dict.fromkeys(("Generic", "NamedTuple", "Protocol", "TypedDict"), "typing"),
    "cached_property": "functools",
    "math": "math",
    "np": "numpy",
}
#: Bases that make no objects of a class by themselves, as those of enumerations do.
_BASES = {"ABC", "Generic", "NamedTuple", "Protocol", "TypedDict"} | {
    name for name, value in vars(builtins).items() if isinstance(value, type) and value is not type
}
_NUMBERS = frozenset({"e", "euler_gamma", "inf", "nan", "pi"})
_TYPES = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant),
    *(ast.BinOp, ast.BitOr, ast.Load),
)


class Kind(Enum):
    """What a name stands for."""

    PLAIN = auto()
    GIVEN = auto()
    FUNCTION = auto()
    CLASS = auto()
    #: An enumeration: its objects are there from the start, for all episodes.
    LASTING = auto()


Scope = MutableMapping[str, Kind]


def fixed(body: Iterable[ast.stmt]) -> dict[str, Kind] | None:
    """What the statements of a module bind, or None where some of it might change."""
    scope: dict[str, Kind] = {}
    return scope if all(_statement(s, scope) for s in body) else None


def _statement(statement: ast.stmt, scope: Scope) -> bool:
    known = False
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            known = True
        case ast.Import(aliases):
            known = all(_import(alias, alias.name, scope) for alias in aliases)
        case ast.ImportFrom(module, aliases):
            known = all(_import(alias, module or "", scope) for alias in aliases)
        case ast.Assign([target], value):
            known = _assign(target, value, scope)
        case ast.AnnAssign(ast.Name(name) as target, annotation, value) if _is_type(annotation):
            if value is None or _is_field(value, scope):
                known = _bind(name, Kind.GIVEN, scope)
            else:
                known = _assign(target, value, scope)
        case ast.FunctionDef():
            known = _function(statement, scope)
        case ast.ClassDef():
            known = not isinstance(scope, ChainMap) and _class(statement, scope)
    return known


def _bind(name: str, kind: Kind, scope: Scope) -> bool:
    """Bind a name, once in its scope, and none that must mean what it usually means."""
    own = scope.maps[0] if isinstance(scope, ChainMap) else scope
    if name in own or name in _USUAL:
        return False
    own[name] = kind
    return True


def _import(alias: ast.alias, module: str, scope: Scope) -> bool:
    name = alias.asname or alias.name.partition(".")[0]
    original = alias.name.rpartition(".")[2]
    if name in _USUAL:
        # Known names come from where they usually do; those of enum under no other name.
        return _USUAL[name] == module and (original == name or (module, name) == ("numpy", "np"))
    if original in _ENUMS or (module == "enum" and name != module):
        return False
    own = scope.maps[0] if isinstance(scope, ChainMap) else scope
    return own.setdefault(name, Kind.GIVEN) is Kind.GIVEN and alias.name != "*"


def _assign(target: ast.expr, value: ast.expr, scope: Scope) -> bool:
    match target, value:
        case ast.Name("__slots__"), ast.List(parts) | ast.Tuple(parts):
            return all(isinstance(part, ast.Constant) for part in parts)
        case ast.Tuple(names), _:
            return _is_plain(value, scope) and all(
                isinstance(n, ast.Name) and _bind(n.id, Kind.PLAIN, scope) for n in names
            )
        case ast.Name(name), _:
            if _is_plain(value, scope):
                return _bind(name, Kind.PLAIN, scope)
            return _is_immutable(value, scope) and _bind(name, Kind.GIVEN, scope)
    return False


def _function(node: ast.FunctionDef, scope: Scope) -> bool:
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    again = False
    for decorator in node.decorator_list:
        match decorator:
            case ast.Name(name) if name in _DECORATORS:
                pass
            case ast.Attribute(ast.Name(name), "setter" | "deleter") if name == node.name:
                again = scope.get(name) is Kind.FUNCTION
            case ast.Attribute(ast.Name("abc" | "functools"), name) if name in _DECORATORS:
                pass
            case _:
                return False
    return (again or _bind(node.name, Kind.FUNCTION, scope)) and all(
        _is_immutable(default, scope) for default in defaults
    )


def _class(node: ast.ClassDef, scope: Scope) -> bool:
    kinds = [_kind_of_base(base, scope) for base in node.bases]
    kind = Kind.LASTING if Kind.LASTING in kinds else Kind.CLASS
    if kind is Kind.LASTING:
        # No method may have an object that outlives an episode as its `self`.
        mixed = Kind.CLASS in kinds or any(isinstance(s, ast.FunctionDef) for s in node.body)
    else:
        mixed = None in kinds
    inner = ChainMap({}, scope)
    return (
        not mixed
        and all(_is_type(k.value) for k in node.keywords)
        and all(map(_is_dataclass, node.decorator_list))
        and all(_statement(statement, inner) for statement in node.body)
        and _bind(node.name, kind, scope)
    )


def _kind_of_base(base: ast.expr, scope: Scope) -> Kind | None:
    match base:
        case ast.Subscript(inner, index) if _is_type(index):
            return _kind_of_base(inner, scope)
        case ast.Name(name) | ast.Attribute(ast.Name("enum"), name) if name in _ENUMS:
            return Kind.LASTING
        case ast.Name(name) | ast.Attribute(ast.Name("abc" | "typing"), name) if name in _BASES:
            return Kind.GIVEN
        case ast.Name(name):
            kind = scope.get(name)
            return kind if kind in (Kind.CLASS, Kind.LASTING) else None
    return None


def _is_dataclass(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name("dataclass") | ast.Attribute(ast.Name("dataclasses"), "dataclass"):
            return True
        case ast.Call(function, [], keywords) if _is_dataclass(function):
            return all(isinstance(keyword.value, ast.Constant) for keyword in keywords)
    return False


def _is_type(annotation: ast.expr) -> bool:
    """Whether it only names types: nothing is called, nothing is bound."""
    return all(isinstance(node, _TYPES) for node in ast.walk(annotation))


def _is_plain(value: ast.expr, scope: Scope) -> bool:
    parts: Iterable[ast.expr] = ()
    match value:
        case ast.Constant():
            return True
        case ast.Name(name):
            return scope.get(name) is Kind.PLAIN
        case ast.Attribute(ast.Name("math" | "np"), name):
            return name in _NUMBERS
        case ast.UnaryOp(_, inner):
            parts = (inner,)
        case ast.BinOp(left, _, right):
            parts = (left, right)
        case ast.Tuple(elements):
            parts = elements
        case ast.Call(ast.Name(name), arguments, []) if name in _PURE:
            parts = arguments
        case ast.Call(ast.Attribute(ast.Name("math")), arguments, []):
            parts = arguments
        case _:
            return False
    return all(_is_plain(part, scope) for part in parts)


def _is_immutable(value: ast.expr, scope: Scope) -> bool:
    """Whether it is plain or given, or a tuple of such."""
    match value:
        case ast.Tuple(elements):
            return all(_is_immutable(element, scope) for element in elements)
        case ast.Name(name) if name not in scope:
            return name in vars(builtins)
        case ast.Name(name):
            return scope[name] in (Kind.PLAIN, Kind.GIVEN)
        case ast.Call(ast.Name("auto") | ast.Attribute(ast.Name("enum"), "auto"), [], []):
            return True
        case ast.Attribute(ast.Name(name)):  # of a class: its members, never its methods
            return scope.get(name, Kind.GIVEN) in (Kind.GIVEN, Kind.LASTING)
    return _is_plain(value, scope)


def _is_field(value: ast.expr, scope: Scope) -> bool:
    """A dataclass's ``field(...)``: its factory makes a new object for each instance."""
    match value:
        case ast.Call(ast.Name("field") | ast.Attribute(ast.Name("dataclasses"), "field"), [], ks):
            return all(_is_factory(k.value) or _is_immutable(k.value, scope) for k in ks)
    return False


def _is_factory(value: ast.expr) -> bool:
    """A lambda that keeps nothing: it has no defaults."""
    match value:
        case ast.Lambda(ast.arguments([], [], None, [], [], None, [])):
            return True
    return False
