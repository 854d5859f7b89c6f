"""Names in the text of a program: renamed where they are private, refused where they lead out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from RestrictedPython.transformer import RestrictingNodeTransformer

from sandbox.language import names
from sandbox.language.library import Offer

_Node = TypeVar("_Node", bound=ast.AST)

#: Nodes that stay plain Python where RestrictedPython inserts run-time guards.
_PLAIN = names.words(
    "Subscript Assign For With Lambda NamedExpr comprehension ListComp SetComp DictComp "
    "GeneratorExp Match match_case MatchValue MatchSingleton MatchSequence MatchOr"
)
#: Fields of nodes that hold names of variables, parameters and attributes.
_NAMING = ("arg", "kwd_attrs", "name", "names", "rest")
#: Syntax that is refused with a word on what to write.
_REFUSED = {
    "AsyncFunctionDef": "async code is not available; write a plain `def`",
    "Await": "`await` is not available; call the function directly",
    "TryStar": "`except*` is not available; write `except`",
    "TypeAlias": "`type X = ...` is not available; write `X = ...`",
}
_UNTOUCHABLE = names.words("__builtins__ __import__ __build_class__ __loader__ __spec__")
#: Characters of a refusal that are kept: names may be as long as the source.
_REFUSAL = 1000


class Rewriter(RestrictingNodeTransformer):
    """Checks and renames names; collects refusals as ``(line, text)``."""

    _visitors: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}

    def __init__(self, tree: ast.AST, offer: Offer, numbers: Mapping[Any, str]) -> None:
        """Take the whole module, what it may import, and names that replace numbers of it."""
        super().__init__()
        self.offer = offer
        self.refusals: list[tuple[int, str]] = []
        self.classes: list[str] = []
        self.in_class_body = False
        #: Imports that may fail.
        self.optional: set[ast.AST] = set()
        #: Targets whose names have been looked at: `__slots__` and the like.
        self.written_out: set[ast.AST] = set()
        #: Names that the module binds, with a line: a variable called `input` is no builtin.
        self.bound = dict(_bound_names(tree))
        self._numbers = numbers

    # Descending and refusing.

    def visit(self, node: _Node) -> Any:  # noqa: ANN401 - as in the standard library
        """Visit one node; the method for each kind of node is looked up once."""
        kind = type(node)
        if kind not in self._visitors:
            plain = kind.__name__ in _PLAIN
            name = "node_contents_visit" if plain else f"visit_{kind.__name__}"
            self._visitors[kind] = getattr(type(self), name, type(self).generic_visit)
        return self._visitors[kind](self, node)

    def node_contents_visit(self, node: _Node) -> _Node:
        """Visit all children but contexts, which hold nothing to check."""
        for field in node._fields:
            old = getattr(node, field, None)
            if isinstance(old, list):
                old[:] = self.visit_list(old)
            elif isinstance(old, ast.AST) and not isinstance(old, ast.expr_context):
                setattr(node, field, self.visit(old))
        return node

    def visit_list(self, children: list[_Node]) -> list[_Node]:
        """Visit each child; a visit may return several nodes for one."""
        result: list[_Node] = []
        for child in children:
            new = self.visit(child) if isinstance(child, ast.AST) else child
            result += new if isinstance(new, list) else [new]
        return result

    def error(self, node: ast.AST, info: str) -> None:
        """Record a refusal with its line."""
        self.refusals.append((getattr(node, "lineno", 1), info[:_REFUSAL]))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse syntax, above all what nobody has looked at."""
        kind = type(node).__name__
        plainly = f"{kind} syntax is not available; write it more plainly"
        self.error(node, _REFUSED.get(kind, plainly))

    def hidden(self, node: ast.AST, name: str) -> ast.expr:
        """Return what ``guards`` keeps under ``name``, in the place of ``node``."""
        return ast.copy_location(ast.Name(names.PREFIX + name, ast.Load()), node)

    def guard(self, node: ast.AST, name: str, *args: ast.expr) -> ast.Call:
        """Return a call of the guard ``name``, in the place of ``node``."""
        call = ast.Call(self.hidden(node, name), list(args), [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_number(self, node: _Node) -> ast.AST:
        """Put a name in the place of a number that namespaces bring along."""
        if node in self._numbers:
            return ast.copy_location(ast.Name(self._numbers[node], ast.Load()), node)
        return self.node_contents_visit(node)

    visit_Constant = visit_UnaryOp = visit_number

    # Names.

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

    def visit_named(self, node: _Node) -> _Node:
        """Rename what a node names otherwise than by a Name."""
        for field in (field for field in node._fields if field in _NAMING):
            name = getattr(node, field)
            if isinstance(name, list):
                setattr(node, field, [self.name_of(node, one) for one in name])
            elif name is not None:
                setattr(node, field, self.name_of(node, name))
        return self.node_contents_visit(node)

    visit_ExceptHandler = visit_Global = visit_Nonlocal = visit_keyword = visit_named
    visit_MatchAs = visit_MatchMapping = visit_MatchStar = visit_named

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Rename a private parameter; drop its annotation."""
        node.annotation = None
        return self.visit_named(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Check the keywords of a class pattern, which read attributes."""
        for name in node.kwd_attrs:
            refused = name in names.REFUSED_ATTRIBUTES or name in names.GUARDED
            if refused or names.is_dunder(name):
                self.error(node, f"`{name}=` cannot be matched; compare the attribute in an if")
        return self.visit_named(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename private names; refuse builtins that do not exist here."""
        reading = isinstance(node.ctx, ast.Load)
        if reading and node.id in names.REFUSED_BUILTINS and node.id not in self.bound:
            self.error(node, f"`{node.id}` is not available; {names.REFUSED_BUILTINS[node.id]}")
        if reading and node.id == "__class__":
            self.error(node, "`__class__` on its own is not available; write type(self)")
        if node not in self.written_out and not (reading and node.id == "__name__"):
            node.id = self.name_of(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check the name; the access itself stays plain Python."""
        name, reading = node.attr, isinstance(node.ctx, ast.Load)
        node.value = self.visit(node.value)
        if reading and name == "__class__":
            return self.guard(node, "type", node.value)
        if reading and name in names.GUARDED:
            return self.guard(node, "attribute", node.value, ast.Constant(name))
        if names.is_dunder(name):
            hint = "is not available: it reaches the interpreter's internals"
            if name == "__dict__":
                hint = "is not available; name the attributes, or use getattr/setattr"
            elif not reading:
                hint = "cannot be assigned; define it in the class, or use another name"
            if not reading or name not in names.READABLE:
                self.error(node, f"`.{name}` {hint}")
            return node
        if name in names.REFUSED_ATTRIBUTES:
            self.error(node, f"`.{name}` is not available: {names.REFUSED_ATTRIBUTES[name]}")
        node.attr = self.name_of(node, name)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Refuse guarded names: the target is read, too."""
        if isinstance(node.target, ast.Attribute) and node.target.attr in names.GUARDED:
            self.error(node, f"`.{node.target.attr}` cannot be the target of an assignment here")
        return self.node_contents_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Let ``guards.call`` rename keywords that are private, or known only when running."""
        marked = any(k.arg is None or k.arg.startswith("_") for k in node.keywords)
        self.node_contents_visit(node)
        if marked:
            node.args.insert(0, node.func)
            node.func = self.hidden(node, "call")
        return node


def _bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name):
                yield name, node.lineno
            case ast.FunctionDef(name) | ast.ClassDef(name) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case ast.alias(_, str(name)) | ast.alias(name, None):
                yield name, node.lineno
