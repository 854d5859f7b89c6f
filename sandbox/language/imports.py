"""Import statements become calls of an importer that hands out facades.

``import a.b as x`` turns into ``x = ǀimport("a.b")``; the interpreter's own ``__import__`` is never
reached from a program's text. Which modules exist is known when compiling, so a refused import is
reported with its line before anything runs.
"""

from __future__ import annotations

import ast

from sandbox.language import names

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


class ImportRewriter:
    """The import part of the transformer."""

    importable: frozenset[str]

    def error(self, node: ast.AST, info: str) -> None:
        """Record a refusal."""
        raise NotImplementedError

    def name_of(self, node: ast.AST, name: str) -> str:
        """Check and rename a name."""
        raise NotImplementedError

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
            else:
                target = self.name_of(node, alias.asname or alias.name)
                done.append(_bind(node, target, module, alias.name))
        return done

    def _known(self, node: ast.AST, module: str) -> bool:
        if module in self.importable:
            return True
        top = module.partition(".")[0]
        offered = sorted({name.partition(".")[0] for name in self.importable})
        hint = _HINTS.get(top, f"available are {', '.join(offered)}")
        if top in self.importable:
            inside = sorted(n for n in self.importable if n.startswith(top + "."))
            hint = f"of {top} there is {', '.join(inside) or 'no submodule'}"
        self.error(node, f"`import {module}` is not available: {hint}")
        return False


def _bind(node: ast.AST, target: str, module: str, attribute: str | None) -> ast.stmt:
    args: list[ast.expr] = [ast.Constant(module)]
    if attribute is not None:
        args.append(ast.Constant(attribute))
    call = ast.Call(ast.Name(names.PREFIX + "import", ast.Load()), args, [])
    statement = ast.Assign([ast.Name(target, ast.Store())], call)
    return ast.fix_missing_locations(ast.copy_location(statement, node))
