"""Whether one namespace can serve several episodes.

Episodes must not influence each other, so each has its own namespace: the module is executed anew.
Most modules, though, hold nothing that could change: imports, constants, functions, and classes
whose state is in their instances. Executing such a module once is enough, and faster: the
interpreter specializes instructions for one set of globals and one class, and has to start over
where each episode brings its own.

The answer is yes only where it is proved. Outside of functions there is nothing but what ``fixed``
knows. And nothing of that is altered: attributes are written on ``self`` alone, which is an object
that the episode has made, as methods are never taken off their class; classes and functions are
called and looked at, but not handed round; there is no ``global``; and nothing reads attributes by
computed names or uses what each episode has of its own (random numbers, a clock).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from sandbox.language.binding import bound_by
from sandbox.language.fixed import Kind, fixed

#: Modules of which every episode has its own.
_OWN = frozenset({"random", "time"})
#: Attributes that lead to these, to a class or to any attribute, or write to what they are given.
_POWERFUL = frozenset(
    {"random", "__class__", "attrgetter", "methodcaller"}
    | {"wraps", "update_wrapper", "total_ordering", "register"}
)
#: The same for names; what only decorates may stand in decorators.
_POWERFUL_NAMES = _OWN | _POWERFUL | {"getattr", "setattr", "delattr", "type", "abstractmethod"}
#: Functions that only look at the classes they are given.
_LOOKS = frozenset({"isinstance", "issubclass", "super"})
_RECEIVER = "self"


def stateless(tree: ast.Module) -> bool:
    """Whether nothing that outlives an episode can change while the program runs."""
    names = fixed(tree.body)
    return names is not None and _Uses(tree, names).harmless()


class _Uses:
    """How a module of fixed statements uses what it defines."""

    def __init__(self, tree: ast.Module, names: Mapping[str, Kind]) -> None:
        self._tree = tree
        classes = [s for s in tree.body if isinstance(s, ast.ClassDef)]
        self._defined = {n for n, kind in names.items() if kind not in (Kind.PLAIN, Kind.GIVEN)}
        self._classes = {c.name for c in classes}
        methods = [s for c in classes for s in c.body if isinstance(s, ast.FunctionDef)]
        self._methods = {m.name for m in methods}
        self._static = self._methods - {m.name for m in methods if not _is_static(m)}
        self._receivers = {
            parameters[0]
            for m in methods
            if not _is_static(m) and (parameters := [*m.args.posonlyargs, *m.args.args])
        }

    def harmless(self) -> bool:
        """Whether each use of a name that matters is one of those that are known to be harmless."""
        suspects: set[ast.AST] = set()
        harmless: set[ast.AST] = set()
        for node in ast.walk(self._tree):
            if self._is_suspect(node):
                suspects.add(node)
            harmless.update(self._harmless_in(node))
        return suspects <= harmless

    def _is_suspect(self, node: ast.AST) -> bool:
        if _RECEIVER in bound_by(node) or isinstance(node, ast.Global):
            return node not in self._receivers
        suspect = False
        match node:
            case ast.Name(name, ast.Load()):
                suspect = name in _POWERFUL_NAMES or name in self._defined
            case ast.Attribute(value, name, ast.Load()):
                suspect = name in _POWERFUL or self._takes_off(value, name)
            case ast.Attribute(value):
                suspect = not (isinstance(value, ast.Name) and value.id == _RECEIVER)
            case ast.MatchClass(kwd_attrs=names):
                suspect = not _POWERFUL.isdisjoint(names)
            case ast.alias(name) | ast.ImportFrom(str(name)):
                suspect = not (_OWN | _POWERFUL).isdisjoint(name.split("."))
        return suspect

    def _takes_off(self, value: ast.expr, name: str) -> bool:
        """Whether it reads a function as such, which could then be called on anything."""
        of_class = isinstance(value, ast.Name) and value.id in self._classes
        return of_class and name in self._methods

    def _harmless_in(self, node: ast.AST) -> Iterator[ast.AST]:
        """Where definitions may be named: called, read, looked at, a base, a type, an exception."""
        match node:
            case ast.Attribute(ast.Name(name) as value) if name not in _POWERFUL_NAMES:
                yield value
            case ast.Raise(ast.Name() as value):
                yield value
            case ast.Call(function, arguments):
                if isinstance(function, ast.Name) and function.id not in _POWERFUL_NAMES:
                    yield function
                    if function.id in _LOOKS:
                        yield from _flat(arguments)
                elif isinstance(function, ast.Attribute) and function.attr in self._static:
                    yield function
            case ast.ClassDef(bases=bases):
                for base in bases:
                    yield from ast.walk(base)
            case ast.ExceptHandler(type=ast.expr() as kind):
                yield from _flat([kind])
            case ast.MatchClass(cls=kind):
                yield kind
            case ast.FunctionDef(decorator_list=decorators, returns=annotation):
                yield from decorators
                yield from ast.walk(annotation) if annotation else ()
            case (
                ast.arg(annotation=ast.expr() as annotation) | ast.AnnAssign(annotation=annotation)
            ):
                yield from ast.walk(annotation)


def _is_static(method: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in method.decorator_list)


def _flat(expressions: Iterable[ast.expr]) -> Iterator[ast.expr]:
    for expression in expressions:
        yield from expression.elts if isinstance(expression, ast.Tuple) else [expression]
