"""Definitions: classes, functions, annotated fields, and the block that never runs."""

from __future__ import annotations

import ast
from typing import Any

from sandbox.language import names
from sandbox.language.rewriter import Rewriter

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


def _asks_for_main(test: ast.expr) -> bool:
    """Whether it reads ``__name__ == "__main__"``."""
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name)):
        return False
    other = test.comparators[0]
    return (
        test.left.id == "__name__"
        and isinstance(test.ops[0], ast.Eq)
        and isinstance(other, ast.Constant)
        and other.value == "__main__"
    )


def _literal(value: ast.expr) -> list[Any] | None:
    """The strings of a string or of a collection of strings that is written out."""
    parts = [value]
    if isinstance(value, ast.Tuple | ast.List | ast.Set):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = [key or value for key in value.keys]
    constants = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return constants if len(constants) == len(parts) else None


def _ours(text: str, name: str, node: ast.AST) -> ast.stmt:
    """A statement of the compiler's own about the variable ``name``, in the place of ``node``."""
    statement = ast.parse(text.format(name, names.PREFIX)).body[0]
    for part in ast.walk(statement):
        ast.copy_location(part, node)
    return statement


class DefinitionRewriter(Rewriter):
    """The part of the transformer that knows of class bodies."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """``if __name__ == "__main__"`` never runs, so its body is not even looked at."""
        if _asks_for_main(node.test):
            return self.visit_list(node.orelse) or ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Drop the annotation; a field of a class keeps the key with the value None."""
        kind = _last_name(node.annotation)
        if self.in_class_body and isinstance(node.target, ast.Name) and kind != "ClassVar":
            kept: ast.expr = ast.Constant(None)
            if kind in _KEPT_ANNOTATIONS:
                kept = ast.Name(names.PREFIX + kind, ast.Load())
            node.annotation = ast.copy_location(kept, node.annotation)
            node.target = self.visit(node.target)
            node.value = self.visit(node.value) if node.value else None
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(
            ast.copy_location(ast.Assign([node.target], node.value), node)
        )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Check the name, drop annotations, visit the body outside of the class body."""
        if names.is_dunder(node.name) and node.name not in names.DEFINABLE:
            self.error(
                node, f"a method `{node.name}` cannot be defined here; use a plain method name"
            )
        else:
            node.name = self.name_of(node, node.name)
        node.returns = None
        if getattr(node, "type_params", None):
            node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self.visit(node.args)
        outer, self.in_class_body = self.in_class_body, False
        node.body = self.visit_list(node.body)
        self.in_class_body = outer
        if node.args.kwarg is not None:
            documented = int(ast.get_docstring(node, clean=False) is not None)
            begin = _ours("{0} = {1}collected({0})", node.args.kwarg.arg, node)
            node.body.insert(documented, begin)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Parameters are renamed by ``visit_arg``."""
        self.node_contents_visit(node)
        if node.args.kwarg is not None:
            text = "({0} := {1}collected({0}), 0)[1]"
            value = _ours(text, node.args.kwarg.arg, node).value  # type: ignore[attr-defined]
            value.value.elts[1] = node.body
            node.body = value
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Check the name and the keywords, then visit the body as a class body."""
        original = node.name
        for keyword in node.keywords:
            if keyword.arg == "metaclass" and _last_name(keyword.value) == "ABCMeta":
                hidden = ast.Name(names.PREFIX + "ABCMeta", ast.Load())
                keyword.value = ast.copy_location(hidden, keyword.value)
                continue
            keyword.value = self.visit(keyword.value)
            if keyword.arg != "total":
                self.error(
                    node,
                    f"`class {original}(..., {keyword.arg}=...)` is not available; leave "
                    "the keyword out (only metaclass=ABCMeta is known)",
                )
        node.name = self.name_of(node, node.name)
        node.bases = self.visit_list(node.bases)
        node.decorator_list = self.visit_list(node.decorator_list)
        if getattr(node, "type_params", None):
            node.type_params = []  # type: ignore[attr-defined,unused-ignore]
        outer, self.in_class_body = self.in_class_body, True
        self.classes.append(original)
        node.body = self.visit_list([self._listed(child) for child in node.body])
        self.classes.pop()
        self.in_class_body = outer
        return node

    def _listed(self, node: ast.stmt) -> ast.stmt:
        """Names that ``__slots__`` or ``_ignore_`` hold as strings: rename them as attributes.

        They are written out, so that all of them are seen here.
        """
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or target.id not in names.LISTED or value is None:
            return node
        listed = _literal(value)
        if listed is None or isinstance(node, ast.AugAssign):
            return node
        for constant in listed:
            # An enum's names may stand in one string; a slot without a name is Python's to refuse.
            parts = constant.value.split(" ") if target.id == "_ignore_" else [constant.value]
            constant.value = " ".join(self.name_of(node, p) if p else p for p in parts)
        self.written_out.add(target)
        return ast.copy_location(ast.Assign([target], value), node)
