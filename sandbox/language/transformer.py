"""RestrictedPython's transformer, opened for the Python that models write.

Checks happen here, once, and not at each access: measured 1.02 of plain Python's time, against
2.5 for run-time guards. Why each relaxation is safe (the process layer stands behind all of them):

=============================  ====================================================================
attributes read directly       a refused name cannot be spelled (``names``), and what libraries
                               offer under a harmless name is decided by their facades
``a.b += v``, ``a[i] += v``    the same names in the same positions as ``a.b = a.b + v``
private names                  renamed, so only the program's own can be reached
annotations                    dropped; in class bodies replaced by None (dataclasses need the key);
                               strings in them are never evaluated
nonlocal, global, walrus       the names are checked like any other
``match``                      class patterns read attributes: their keywords are checked, and
                               ``__match_args__`` cannot be set
special methods                an allow-list of those that operators call anyway
imports                        become calls of an importer that hands out facades
``metaclass=ABCMeta``          exactly this, by name
``super()``, ``__class__``     the builtin knows the class from the compiler; ``x.__class__`` is
                               ``type(x)``, which never yields a metaclass
iteration, items, unpacking    reach only what an object's own ``__iter__``/``__getitem__`` gives
=============================  ====================================================================

Still refused: ``except*`` (CVE-2025-22153), async, star imports, unknown syntax of newer Pythons.
"""

from __future__ import annotations

import ast
from typing import Any

from RestrictedPython import RestrictingNodeTransformer

from sandbox.language import names
from sandbox.language.imports import ImportRewriter

_INERT = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
_KEPT_ANNOTATIONS = frozenset({"InitVar", "KW_ONLY"})


def _last_name(annotation: ast.expr) -> str:
    """``ClassVar`` for ``typing.ClassVar[int]``, ``ClassVar`` and their string forms."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.partition("[")[0].rpartition(".")[2].strip()
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    return annotation.id if isinstance(annotation, ast.Name) else ""


class PolicyTransformer(ImportRewriter, RestrictingNodeTransformer):
    """Checks and rewrites one module; what is refused is collected in ``refusals``."""

    def __init__(self, bound: frozenset[str], importable: frozenset[str]) -> None:
        """``bound``: all names that the module binds; ``importable``: modules it may import."""
        super().__init__()
        self.bound = bound
        self.importable = importable
        self.refusals: list[tuple[int, str]] = []
        self._classes: list[str] = []
        self._in_class_body = False

    # What RestrictedPython calls to report, and to descend.

    def error(self, node: ast.AST, info: str) -> None:
        """Record a refusal with its line."""
        self.refusals.append((getattr(node, "lineno", 1), info))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuse syntax that nobody has looked at."""
        self.error(node, f"{type(node).__name__} syntax is not available; write it more plainly")

    def node_contents_visit(self, node: Any) -> Any:
        """Visit all children; operators and contexts hold nothing to check."""
        for field in node._fields:
            old = getattr(node, field, None)
            if isinstance(old, list):
                old[:] = self._visit_list(old)
            elif isinstance(old, ast.AST) and type(old).__base__ not in _INERT:
                setattr(node, field, self.visit(old))
        return node

    def _visit_list(self, children: list[Any]) -> list[Any]:
        result: list[Any] = []
        for child in children:
            if isinstance(child, ast.AST):
                if type(child).__base__ in _INERT:
                    result.append(child)
                    continue
                new = self.visit(child)
                if isinstance(new, list):
                    result.extend(new)
                else:
                    result.append(new)
            else:
                result.append(child)
        return result

    def _guard(self, node: ast.AST, name: str, *args: ast.expr) -> ast.Call:
        function = ast.Name(names.PREFIX + name, ast.Load())
        call = ast.Call(function, list(args), [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    # Names.

    def name_of(self, node: ast.AST, name: str) -> str:
        """The name to use for the program's ``name``; refusals are recorded."""
        if names.PREFIX in name:
            self.error(node, f"the name `{name}` holds a reserved character; rename it")
        elif names.is_dunder(name):
            if name in ("__builtins__", "__import__", "__build_class__", "__loader__", "__spec__"):
                self.error(node, f"`{name}` is not available; policies import with `import`")
            elif name not in names.DEFINABLE and name not in ("__name__", "__slots__", "__doc__"):
                if self._in_class_body:
                    self.error(node, f"`{name}` cannot be set in a class here; leave it out")
                return names.PREFIX + name
        return names.renamed(name, self._classes[-1] if self._classes else "")

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename private names; refuse builtins that do not exist here."""
        if isinstance(node.ctx, ast.Load) and node.id not in self.bound:
            hint = names.REFUSED_BUILTINS.get(node.id)
            if hint is not None:
                self.error(node, f"`{node.id}` is not available; {hint}")
        if node.id == "__class__" and isinstance(node.ctx, ast.Load):
            self.error(node, "`__class__` on its own is not available; write type(self)")
        node.id = self.name_of(node, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Check the name; the access itself stays plain Python."""
        reading = isinstance(node.ctx, ast.Load)
        if names.is_dunder(node.attr):
            if node.attr == "__class__" and reading:
                return self._guard(node, "type", self.visit(node.value))
            if node.attr not in names.READABLE or not reading:
                self.error(node, self._dunder_hint(node.attr, reading))
        elif node.attr in names.REFUSED_ATTRIBUTES:
            hint = names.REFUSED_ATTRIBUTES[node.attr]
            self.error(node, f"`.{node.attr}` is not available: {hint}")
        node.value = self.visit(node.value)
        if node.attr in names.GUARDED_ATTRIBUTES and reading:
            return self._guard(node, "attribute", node.value, ast.Constant(node.attr))
        node.attr = self.name_of(node, node.attr)
        return node

    @staticmethod
    def _dunder_hint(name: str, reading: bool) -> str:
        if name == "__dict__":
            return "`.__dict__` is not available; name the attributes, or use getattr/setattr"
        if not reading:
            return f"`.{name}` cannot be assigned; define it in the class, or use another name"
        return f"`.{name}` is not available: it reaches the interpreter's internals"

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
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

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Rename the names; also those of ``nonlocal``."""
        node.names = [self.name_of(node, name) for name in node.names]
        return node

    visit_Nonlocal = visit_Global

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Rename the exception variable."""
        if node.name is not None:
            node.name = self.name_of(node, node.name)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # Plain Python where RestrictedPython inserts run-time guards.

    def _plain(self, node: Any) -> Any:
        return self.node_contents_visit(node)

    visit_Subscript = _plain
    visit_Call = _plain
    visit_Assign = _plain
    visit_For = _plain
    visit_comprehension = _plain
    visit_With = _plain
    visit_AugAssign = _plain
    visit_NamedExpr = _plain
    visit_ListComp = _plain
    visit_SetComp = _plain
    visit_DictComp = _plain
    visit_GeneratorExp = _plain
    visit_Module = _plain
    visit_Match = _plain
    visit_match_case = _plain
    visit_MatchValue = _plain
    visit_MatchSingleton = _plain
    visit_MatchSequence = _plain
    visit_MatchOr = _plain

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """Rename the captured name; also of a starred pattern."""
        if node.name is not None:
            node.name = self.name_of(node, node.name)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Rename the name that takes the rest."""
        if node.rest is not None:
            node.rest = self.name_of(node, node.rest)
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Keywords of a class pattern read attributes without an Attribute node."""
        for name in node.kwd_attrs:
            refused = name in names.REFUSED_ATTRIBUTES or name in names.GUARDED_ATTRIBUTES
            if refused or names.is_dunder(name):
                self.error(node, f"`{name}=` cannot be matched; compare the attribute in an if")
        node.kwd_attrs = [self.name_of(node, name) for name in node.kwd_attrs]
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    # Statements and definitions.

    def visit_If(self, node: ast.If) -> Any:
        """``if __name__ == "__main__"`` never runs, so its body is not even looked at."""
        test = node.test
        if (
            isinstance(test, ast.Compare)
            and isinstance(test.left, ast.Name)
            and test.left.id == "__name__"
            and isinstance(test.ops[0], ast.Eq)
        ):
            return self._visit_list(node.orelse) or ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """Drop the annotation; a field of a class keeps the key with the value None."""
        kind = _last_name(node.annotation)
        if self._in_class_body and isinstance(node.target, ast.Name) and kind != "ClassVar":
            none = ast.copy_location(ast.Constant(None), node.annotation)
            node.annotation = self.visit(node.annotation) if kind in _KEPT_ANNOTATIONS else none
            node.target = self.visit(node.target)
            node.value = self.visit(node.value) if node.value else None
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Check the name, drop annotations, visit the body outside of the class body."""
        if names.is_dunder(node.name) and node.name not in names.DEFINABLE:
            self.error(
                node, f"a method `{node.name}` cannot be defined here; use a plain method name"
            )
        node.name = self.name_of(node, node.name)
        node.returns = None
        if getattr(node, "type_params", None):
            node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        outer, self._in_class_body = self._in_class_body, False
        node.body = self._visit_list(node.body)
        self._in_class_body = outer
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Parameters are renamed by ``visit_arg``."""
        return self.node_contents_visit(node)  # type: ignore[no-any-return]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Check the name and the keywords, then visit the body as a class body."""
        original = node.name
        for keyword in node.keywords:
            meta = keyword.arg == "metaclass" and _last_name(keyword.value) == "ABCMeta"
            if not meta and keyword.arg != "total":
                self.error(
                    node,
                    f"`class {original}(..., {keyword.arg}=...)` is not available; leave "
                    "the keyword out (only metaclass=ABCMeta is known)",
                )
        node.name = self.name_of(node, node.name)
        node.bases = self._visit_list(node.bases)
        node.keywords = self._visit_list(node.keywords)
        node.decorator_list = self._visit_list(node.decorator_list)
        if getattr(node, "type_params", None):
            node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        outer, self._in_class_body = self._in_class_body, True
        self._classes.append(original)
        node.body = self._visit_list([self._slots(child) for child in node.body])
        self._classes.pop()
        self._in_class_body = outer
        return node

    def _slots(self, node: ast.stmt) -> ast.stmt:
        """The strings in ``__slots__`` are attribute names: rename them as such."""
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__slots__" for t in node.targets
        ):
            for child in ast.walk(node.value):
                if isinstance(child, ast.Constant) and isinstance(child.value, str):
                    child.value = self.name_of(child, child.value)
        return node

    def visit_TryStar(self, node: ast.AST) -> None:
        """Refused for an interpreter bug (CVE-2025-22153)."""
        self.error(node, "`except*` is not available; write `except`")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Refused: nothing runs an event loop here."""
        self.error(node, "async code is not available; write a plain `def`")

    def visit_Await(self, node: ast.Await) -> None:
        """Refused: nothing runs an event loop here."""
        self.error(node, "`await` is not available; call the function directly")
