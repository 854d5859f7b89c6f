"""Import statements become calls of an importer that hands out facades.

``import a.b as x`` turns into ``x = <importer>("a.b")``; the interpreter's own ``__import__`` is
never reached from a program's text. Which modules exist is known when compiling, so a refused
import is reported with its line before anything runs.
"""

from __future__ import annotations

import ast

from sandbox.language import names
from sandbox.language.rewriter import Rewriter

_HINTS: dict[str, str] = {
    **dict.fromkeys(
        ("os", "sys", "io", "pathlib", "shutil", "tempfile", "glob"),
        "a policy has no files and no system; for sys.maxsize write float('inf')",
    ),
    **dict.fromkeys(
        ("torch", "tensorflow", "jax", "sklearn", "keras", "pandas", "numba", "cvxpy"),
        "write it with numpy",
    ),
    **dict.fromkeys(
        ("gymnasium", "gym", "mujoco", "metaworld", "dm_control"),
        "the simulator is out of reach; decide from the observation alone",
    ),
    **dict.fromkeys(
        ("threading", "multiprocessing", "concurrent", "asyncio", "subprocess", "signal"),
        "a policy is one thread of one process",
    ),
    **dict.fromkeys(("socket", "urllib", "requests", "http"), "a policy has no network"),
    **dict.fromkeys(("pickle", "ctypes", "inspect", "importlib", "gc", "types"), "do without it"),
    "logging": "use print(); its output is shown to you",
    "matplotlib": "use print(); its output is shown to you",
    "datetime": "count steps in an attribute of self",
}


_IMPORT_FAILURES = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


class ImportRewriter(Rewriter):
    """The import part of the transformer."""

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """``try: import x`` with a handler for its failure may name any module."""
        outer = self.imports_optional
        self.imports_optional = outer or any(map(_handles_import, node.handlers))
        node.body = self.visit_list(node.body)
        self.imports_optional = outer
        node.handlers = self.visit_list(node.handlers)
        node.orelse = self.visit_list(node.orelse)
        node.finalbody = self.visit_list(node.finalbody)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        """``import a.b`` binds ``a``; ``import a.b as x`` binds ``a.b``."""
        statements: list[ast.stmt] = []
        for alias in node.names:
            if not self._known(node, alias.name):
                continue
            top = alias.name.partition(".")[0]
            target = self.name_of(node, alias.asname or top)
            wanted = alias.name if alias.asname else top
            statements.append(_bind(node, target, wanted, None))
        return statements or [ast.copy_location(ast.Pass(), node)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> list[ast.stmt]:
        """``from a import b as c`` binds one name of a facade."""
        done: list[ast.stmt] = [ast.copy_location(ast.Pass(), node)]
        module = node.module or ""
        if module == "__future__":
            return done
        if node.level:
            self.error(node, "relative imports are not available: a policy is one module")
            return done
        if not self._known(node, module):
            return done
        for alias in node.names:
            if alias.name == "*":
                self.error(node, f"`from {module} import *`: name what you import")
            elif names.is_dunder(alias.name) or alias.name.startswith("_"):
                self.error(node, f"`{module}.{alias.name}` is private to {module}; do without it")
            elif (why := self.importable.absent(module, alias.name)) and not self.imports_optional:
                self.error(node, f"`from {module} import {alias.name}`: {why}")
            else:
                target = self.name_of(node, alias.asname or alias.name)
                done.append(_bind(node, target, module, alias.name))
        return done

    def _known(self, node: ast.AST, module: str) -> bool:
        available = self.importable.modules
        if module in available or self.imports_optional:
            return True
        top = module.partition(".")[0]
        offered = sorted({name.partition(".")[0] for name in available})
        hint = _HINTS.get(top, f"available are {', '.join(offered)}")
        if top in available:
            inside = sorted(n for n in available if n.startswith(top + "."))
            hint = f"of {top} there is {', '.join(inside) or 'no submodule'}"
        self.error(node, f"`import {module}` is not available: {hint}")
        return False


def _handles_import(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _IMPORT_FAILURES for kind in kinds)


def _bind(node: ast.AST, target: str, module: str, attribute: str | None) -> ast.stmt:
    args: list[ast.expr] = [ast.Constant(module)]
    if attribute is not None:
        args.append(ast.Constant(attribute))
    call = ast.Call(ast.Name(names.PREFIX + "import", ast.Load()), args, [])
    statement = ast.Assign([ast.Name(target, ast.Store())], call)
    return ast.fix_missing_locations(ast.copy_location(statement, node))
