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
imports                        become calls of an importer that hands out facades: the interpreter's
                               own is never reached, and what is refused is known when compiling
``metaclass=ABCMeta``          exactly this, by name
``super()``, ``__class__``     the builtin knows the class from the compiler, and cannot be bound;
                               ``x.__class__`` is ``type(x)``, which never yields a metaclass
=============================  ====================================================================

Still refused: ``except*`` (CVE-2025-22153), async, star imports, unknown syntax of newer Pythons.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from sandbox.language import names
from sandbox.language.rewriter import Rewriter

_KEPT_ANNOTATIONS = frozenset({"InitVar", "KW_ONLY"})
_IMPORT_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_IMPORT_HINTS = names.by_name(
    {
        "a policy has no files and no system; for sys.maxsize write float('inf')": """
            os sys io pathlib shutil tempfile glob""",
        "write it with numpy": "torch tensorflow jax sklearn keras pandas numba cvxpy",
        "the simulator is out of reach; decide from the observation alone": """
            gymnasium gym mujoco metaworld dm_control""",
        "a policy is one thread of one process": """
            threading multiprocessing concurrent asyncio subprocess signal""",
        "a policy has no network": "socket urllib requests http",
        "do without it": "pickle ctypes inspect importlib gc types",
        "use print(); its output is shown to you": "logging matplotlib",
        "count steps in an attribute of self": "datetime",
    }
)


class PolicyTransformer(Rewriter):
    """Checks and rewrites one module; what is refused is collected in ``refusals``."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """Refuse to bind ``super``, by which methods know their class."""
        if "super" in self.bound:
            why = "`super` cannot be assigned here; use another name"
            self.refusals.append((self.bound["super"], why))
        return self.node_contents_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Drop ``if __name__ == "__main__"``, which never runs, without looking at its body."""
        match node.test:
            case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]):
                return self.visit_list(node.orelse) or ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(node)

    # Definitions.

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Drop the annotation; a field of a class keeps the key with the value None."""
        kind = _last_name(node.annotation)
        if self.in_class_body and isinstance(node.target, ast.Name) and kind != "ClassVar":
            nothing = ast.copy_location(ast.Constant(None), node.annotation)
            special = kind in _KEPT_ANNOTATIONS
            node.annotation = self.hidden(node.annotation, kind) if special else nothing
            node.target = self.visit(node.target)
            node.value = self.visit(node.value) if node.value else None
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        plain = ast.copy_location(ast.Assign([node.target], node.value), node)
        return self.node_contents_visit(plain)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Check the name, drop annotations, visit the body outside of the class body."""
        if names.is_dunder(node.name) and node.name not in names.DEFINABLE:
            why = f"a method `{node.name}` cannot be defined here; use a plain method name"
            self.error(node, why)
        else:
            node.name = self.name_of(node, node.name)
        node.returns = None
        node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        node.decorator_list = self.visit_list(node.decorator_list)
        node.args = self.visit(node.args)
        outer, self.in_class_body = self.in_class_body, False
        node.body = self.visit_list(node.body)
        self.in_class_body = outer
        if node.args.kwarg is not None:
            documented = int(ast.get_docstring(node, clean=False) is not None)
            name = node.args.kwarg.arg
            readable = self.guard(node, "collected", ast.Name(name, ast.Load()))
            node.body.insert(documented, _assigned(node, name, readable))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Check the name and the keywords, then visit the body as a class body."""
        original = node.name
        for keyword in node.keywords:
            abstract = keyword.arg == "metaclass" and _last_name(keyword.value) == "ABCMeta"
            value = keyword.value
            keyword.value = self.hidden(value, "ABCMeta") if abstract else self.visit(value)
            if not abstract and keyword.arg != "total":
                self.error(
                    node,
                    f"`class {original}(..., {keyword.arg}=...)` is not available; leave "
                    "the keyword out (only metaclass=ABCMeta is known)",
                )
        node.name = self.name_of(node, node.name)
        node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        node.bases = self.visit_list(node.bases)
        node.decorator_list = self.visit_list(node.decorator_list)
        outer, self.in_class_body = self.in_class_body, True
        self.classes.append(original)
        node.body = self.visit_list([self._listed(child) for child in node.body])
        self.classes.pop()
        self.in_class_body = outer
        return node

    def _listed(self, node: ast.stmt) -> ast.stmt:
        """Rename the names that ``__slots__`` or ``_ignore_`` hold as strings.

        They are written out, so that all of them are seen here.
        """
        match node:
            case ast.Assign([ast.Name(name) as target], value):
                pass
            case ast.AnnAssign(ast.Name(name) as target, value=ast.expr() as value):
                pass
            case _:
                return node
        listed = strings(value) if name in names.LISTED else None
        if listed is None:
            return node
        for constant in listed:
            # An enum's names may stand in one string; a slot without a name is Python's to refuse.
            parts = constant.value.split(" ") if name == "_ignore_" else [constant.value]
            constant.value = " ".join(self.name_of(node, p) if p else p for p in parts)
        self.written_out.add(target)
        return ast.copy_location(ast.Assign([target], value), node)

    # Imports.

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """Let ``try: import x`` with a handler for its failure name any module."""
        if any(map(_handles_import, node.handlers)):
            self.optional |= {inner for part in node.body for inner in ast.walk(part)}
        return self.node_contents_visit(node)

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """Bind ``a`` for ``import a.b``, and ``a.b`` for ``import a.b as x``."""
        done: list[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
        for alias in node.names:
            if self._is_offered(node, alias.name):
                top = alias.name.partition(".")[0]
                target = self.name_of(node, alias.asname or top)
                done.append(self._import(node, target, alias.name if alias.asname else top))
        return done

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """Bind names of a facade for ``from a import b as c``."""
        done: list[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
        module = node.module or ""
        if node.level:
            self.error(node, "relative imports are not available: a policy is one module")
            return done
        if module == "__future__" or not self._is_offered(node, module):
            return done
        for alias in node.names:
            if alias.name == "*":
                self.error(node, f"`from {module} import *`: name what you import")
            elif alias.name.startswith("_"):
                self.error(node, f"`{module}.{alias.name}` is private to {module}; do without it")
            elif (why := self.offer.absent(module, alias.name)) and node not in self.optional:
                self.error(node, f"`from {module} import {alias.name}`: {why}")
            else:
                target = self.name_of(node, alias.asname or alias.name)
                done.append(self._import(node, target, module, alias.name))
        return done

    def _import(self, node: ast.AST, target: str, *wanted: str) -> ast.stmt:
        arguments = [ast.Constant(name) for name in wanted]
        return _assigned(node, target, self.guard(node, "import", *arguments))

    def _is_offered(self, node: ast.AST, module: str) -> bool:
        """Tell whether a module may be imported; record the refusal if not."""
        available = self.offer.modules
        if module in available or node in self.optional:
            return True
        top = module.partition(".")[0]
        hint = _IMPORT_HINTS.get(top)
        if top in available:
            inside = sorted(n for n in available if n.startswith(top + "."))
            hint = f"of {top} there is {', '.join(inside) or 'no submodule'}"
        elif hint is None:
            offered = sorted({name.partition(".")[0] for name in available})
            hint = f"available are {', '.join(offered)}"
        self.error(node, f"`import {module}` is not available: {hint}")
        return False


def _handles_import(handler: ast.ExceptHandler) -> bool:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(k is None or (isinstance(k, ast.Name) and k.id in _IMPORT_FAILURES) for k in kinds)


def _last_name(annotation: ast.expr) -> str:
    """Return ``ClassVar`` for ``typing.ClassVar[int]``, ``ClassVar`` and their string forms."""
    match annotation:
        case ast.Constant(str(text)):
            return text.partition("[")[0].rpartition(".")[2].strip()
        case ast.Subscript(value):
            return _last_name(value)
        case ast.Attribute(attr=name) | ast.Name(name):
            return name
    return ""


def strings(value: ast.expr) -> list[Any] | None:
    """Return the constants in a string or in a collection of strings that is written out."""
    parts: Sequence[ast.expr | None] = [value]
    match value:
        case ast.Tuple(elements) | ast.List(elements) | ast.Set(elements) | ast.Dict(elements):
            parts = elements
    strings = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return strings if len(strings) == len(parts) else None


def _assigned(node: ast.AST, name: str, value: ast.expr) -> ast.stmt:
    """Return the statement ``name = value``, in the place of ``node``."""
    statement = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(statement, node))
