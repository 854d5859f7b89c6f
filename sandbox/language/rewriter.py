"""What the parts of the transformer share: descending, refusing, renaming."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from sandbox.language import names

#: Operators and contexts hold nothing to check. New ones in a newer Python count as unknown.
_INERT = frozenset(
    kind
    for base in (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
    for kind in base.__subclasses__()
)
_Node = TypeVar("_Node", bound=ast.AST)
_UNTOUCHABLE = frozenset(
    {"__builtins__", "__import__", "__build_class__", "__loader__", "__spec__"}
)
#: Characters of a refusal that are kept: names may be as long as the source.
_REFUSAL = 1000


class Importable(Protocol):
    """What programs may import."""

    @property
    def modules(self) -> frozenset[str]:
        """Dotted names of the modules."""
        ...

    def absent(self, module: str, name: str) -> str | None:
        """Why ``from module import name`` cannot work, or None where it may."""
        ...


class Rewriter(RestrictingNodeTransformer):
    """Collects refusals as ``(line, text)`` and knows where in the module the current node is."""

    _visitors: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self, tree: ast.AST, importable: Importable) -> None:
        """Take the whole module, and what it may import."""
        super().__init__()
        self.importable = importable
        self.refusals: list[tuple[int, str]] = []
        self.classes: list[str] = []
        self.in_class_body = False
        self.imports_optional = False
        #: Targets whose names have been looked at: `__slots__` and the like.
        self.written_out: set[ast.AST] = set()
        self._tree = tree

    @cached_property
    def bound(self) -> dict[str, int]:
        """Every name that the module binds anywhere, with a line that does.

        A variable called ``input`` is no builtin.
        """
        return dict(_bound_names(self._tree))

    def visit(self, node: _Node) -> Any:  # noqa: ANN401 - as in the standard library
        """Visit one node; the method for each kind of node is looked up once."""
        kind = type(node)
        if kind not in self._visitors:
            name = f"visit_{kind.__name__}"
            self._visitors[kind] = getattr(type(self), name, type(self).generic_visit)
        return self._visitors[kind](self, node)

    def error(self, node: ast.AST, info: str) -> None:
        """Record a refusal with its line."""
        self.refusals.append((getattr(node, "lineno", 1), info[:_REFUSAL]))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse syntax that nobody has looked at."""
        self.error(node, f"{type(node).__name__} syntax is not available; write it more plainly")

    def node_contents_visit(self, node: _Node) -> _Node:
        """Visit all children; operators and contexts hold nothing to check."""
        for field in node._fields:
            old = getattr(node, field, None)
            if isinstance(old, list):
                if old:
                    old[:] = self.visit_list(old)
            elif isinstance(old, ast.AST) and type(old) not in _INERT:
                setattr(node, field, self.visit(old))
        return node

    def visit_list(self, children: list[_Node]) -> list[_Node]:
        """Visit each child; a visit may return several nodes for one."""
        result: list[_Node] = []
        for child in children:
            if not isinstance(child, ast.AST) or type(child) in _INERT:
                result.append(child)
                continue
            new = self.visit(child)
            if isinstance(new, list):
                result.extend(new)
            else:
                result.append(new)
        return result

    def guard(self, node: ast.AST, name: str, *args: ast.expr) -> ast.Call:
        """Return a call of the guard ``name``, in the place of ``node``."""
        function = ast.Name(names.PREFIX + name, ast.Load())
        call = ast.Call(function, list(args), [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def name_of(self, node: ast.AST, name: str) -> str:
        """Return the name to use for the program's ``name``; refusals are recorded."""
        if name[0] != "_" and name.isascii() and not self.in_class_body:
            return name
        short = names.shortened(name)
        if names.PREFIX in name:
            self.error(node, f"the name `{short}` holds a reserved character; rename it")
        elif name in names.LISTED and self.in_class_body:
            self.error(node, f"`{name}` must be assigned a list of names that is written out")
        elif names.is_dunder(name):
            if name in _UNTOUCHABLE:
                self.error(node, f"`{short}` is not available; policies import with `import`")
            elif name == "__name__":
                self.error(node, "`__name__` cannot be assigned here; use another name")
            elif name not in names.DEFINABLE and name != "__doc__":
                if self.in_class_body:
                    self.error(node, f"`{short}` cannot be set in a class here; leave it out")
                return names.PREFIX + name
        elif self.in_class_body and name in names.REFUSED_ATTRIBUTES:
            # Class patterns read attributes by the names of fields.
            self.error(node, f"`{name}` is reserved for internals; choose another name")
        return names.renamed(name, self.classes[-1] if self.classes else "")


def _bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        name: str | None = None
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                pass
            case ast.FunctionDef(name) | ast.ClassDef(name) | ast.ExceptHandler(name=name):
                pass
            case ast.MatchAs(name=name) | ast.MatchStar(name) | ast.MatchMapping(rest=name):
                pass
            case ast.alias(original, name):
                name = name or original
        if name is not None:
            yield name, node.lineno  # type: ignore[attr-defined]
