"""RestrictedPython's transformer, opened for the Python that models write.

Names are checked here, once, and not at each access: measured 1.02 of plain Python's time, against
2.5 for run-time guards. The process is the wall (``sandbox/README.md``); what is checked here keeps
honest programs honest, and names the line and the remedy:

=============================  ====================================================================
attributes                     a refused name cannot be spelled (``names``); a name that is refused
                               on a few objects becomes a call (``guards.read``); what libraries
                               offer under a harmless name is decided by their facades
private names                  renamed, so only the program's own can be reached; keywords that
                               are known only when running are renamed then (``guards.call``)
annotations                    dropped; in class bodies replaced by None (dataclasses need the key);
                               strings in them are never evaluated, nor is what follows InitVar
nonlocal, global, walrus       the names are checked like any other
``match``                      class patterns read attributes: their keywords are checked, and
                               ``__match_args__`` cannot be set
special methods                an allow-list of those that operators call anyway
``__slots__``, ``_ignore_``    written out, so that the names in them are seen
imports                        become calls of an importer that walks through facades only
``metaclass=ABCMeta``          exactly this, by name
``super()``, ``__class__``     the builtin knows the class from the compiler, and cannot be bound;
                               ``x.__class__`` is ``type(x)``, which never yields a metaclass
=============================  ====================================================================

Still refused: ``except*`` (CVE-2025-22153), async, star imports, unknown syntax of newer Pythons.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from sandbox.language import names
from sandbox.language.definitions import DefinitionRewriter
from sandbox.language.imports import ImportRewriter

_Node = TypeVar("_Node", bound=ast.AST)


class PolicyTransformer(ImportRewriter, DefinitionRewriter):
    """Checks and rewrites one module; what is refused is collected in ``refusals``."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Refuse to bind ``super``, by which methods know their class."""
        if "super" in self.bound:
            place = ast.Pass(lineno=self.bound["super"], col_offset=0)
            self.error(place, "`super` cannot be assigned here; use another name")
        return self.node_contents_visit(node)

    # Names.

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename private names; refuse builtins that do not exist here."""
        if isinstance(node.ctx, ast.Load) and node.id not in self.bound:
            hint = names.REFUSED_BUILTINS.get(node.id)
            if hint is not None:
                self.error(node, f"`{node.id}` is not available; {hint}")
        if node.id == "__class__" and isinstance(node.ctx, ast.Load):
            self.error(node, "`__class__` on its own is not available; write type(self)")
        if node in self.written_out or (node.id == "__name__" and isinstance(node.ctx, ast.Load)):
            return node
        node.id = self.name_of(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check the name; the access itself stays plain Python."""
        reading = isinstance(node.ctx, ast.Load)
        if names.is_dunder(node.attr):
            if node.attr == "__class__" and reading:
                return self.guard(node, "type", self.visit(node.value))
            if node.attr not in names.READABLE or not reading:
                self.error(node, self._dunder_hint(node.attr, reading))
        elif node.attr in names.REFUSED_ATTRIBUTES:
            hint = names.REFUSED_ATTRIBUTES[node.attr]
            self.error(node, f"`.{node.attr}` is not available: {hint}")
        node.value = self.visit(node.value)
        if node.attr in names.GUARDED and reading:
            return self.guard(node, "attribute", node.value, ast.Constant(node.attr))
        if not names.is_dunder(node.attr):
            node.attr = self.name_of(node, node.attr)
        return node

    @staticmethod
    def _dunder_hint(name: str, reading: bool) -> str:
        if name == "__dict__":
            return "`.__dict__` is not available; name the attributes, or use getattr/setattr"
        if not reading:
            return f"`.{name}` cannot be assigned; define it in the class, or use another name"
        return f"`.{name}` is not available: it reaches the interpreter's internals"

    def check_name(
        self, node: ast.AST, name: str | None, allow_magic_methods: bool = False
    ) -> None:
        """RestrictedPython's hook; all names are checked by ``name_of`` instead."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Rename a private parameter; drop its annotation."""
        node.arg = self.name_of(node, node.arg)
        node.annotation = None
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """Rename a private keyword as its parameter was."""
        if node.arg is not None:
            node.arg = self.name_of(node, node.arg)
        node.value = self.visit(node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Let ``guards.call`` rename keywords that are private, or known only when running."""
        marked = any(k.arg is None or k.arg.startswith("_") for k in node.keywords)
        self.node_contents_visit(node)
        if marked:
            call = ast.Name(names.PREFIX + "call", ast.Load())
            node.args.insert(0, node.func)
            node.func = ast.copy_location(call, node)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Rename the names."""
        node.names = [self.name_of(node, name) for name in node.names]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Rename the names."""
        node.names = [self.name_of(node, name) for name in node.names]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Rename the exception variable."""
        if node.name is not None:
            node.name = self.name_of(node, node.name)
        return self.node_contents_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Refuse guarded names: the target is read, too."""
        if isinstance(node.target, ast.Attribute) and node.target.attr in names.GUARDED:
            self.error(node, f"`.{node.target.attr}` cannot be the target of an assignment here")
        return self.node_contents_visit(node)

    # Plain Python where RestrictedPython inserts run-time guards.

    def _plain(self, node: _Node) -> _Node:
        return self.node_contents_visit(node)

    visit_Subscript = _plain
    visit_Assign = _plain
    visit_For = _plain
    visit_comprehension = _plain
    visit_With = _plain
    visit_NamedExpr = _plain
    visit_ListComp = _plain
    visit_SetComp = _plain
    visit_DictComp = _plain
    visit_GeneratorExp = _plain
    visit_Match = _plain
    visit_match_case = _plain
    visit_MatchValue = _plain
    visit_MatchSingleton = _plain
    visit_MatchSequence = _plain
    visit_MatchOr = _plain

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """Rename the captured name."""
        if node.name is not None:
            node.name = self.name_of(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        """Rename the name that a starred pattern captures."""
        if node.name is not None:
            node.name = self.name_of(node, node.name)
        return node

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Rename the name that takes the rest."""
        if node.rest is not None:
            node.rest = self.name_of(node, node.rest)
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Keywords of a class pattern read attributes without an Attribute node."""
        for name in node.kwd_attrs:
            refused = name in names.REFUSED_ATTRIBUTES or name in names.GUARDED
            if refused or names.is_dunder(name):
                self.error(node, f"`{name}=` cannot be matched; compare the attribute in an if")
        node.kwd_attrs = [self.name_of(node, name) for name in node.kwd_attrs]
        return self.node_contents_visit(node)

    # Syntax that is refused with a word on what to write.

    def visit_TypeAlias(self, node: ast.AST) -> None:
        """A statement of Python 3.12."""
        self.error(node, "`type X = ...` is not available; write `X = ...`")

    def visit_TryStar(self, node: ast.AST) -> None:
        """Refused for an interpreter bug (CVE-2025-22153)."""
        self.error(node, "`except*` is not available; write `except`")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Refused: nothing runs an event loop here."""
        self.error(node, "async code is not available; write a plain `def`")

    def visit_Await(self, node: ast.Await) -> None:
        """Refused: nothing runs an event loop here."""
        self.error(node, "`await` is not available; call the function directly")
