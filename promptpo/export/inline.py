"""Copies functions of a spec, with all that they need from its module, to stand alone elsewhere."""

from __future__ import annotations

import ast
import contextlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from promptpo.policies.sources import Source
from promptpo.spec.importing import is_own
from promptpo.spec.source import PartError, free_names, source_of


class NotInlinable(Exception):
    """A function that needs something which cannot be copied; says what."""


@dataclass
class Inlined:
    """Import statements, and definitions in an order in which they can be executed."""

    imports: set[str] = field(default_factory=set)
    definitions: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The definitions as module source, without the imports."""
        return "\n\n\n".join(self.definitions.values())

    def copy(self, function: Callable[..., Any]) -> None:
        """Add a function under its own name, after all that it uses. Raises NotInlinable."""
        name = getattr(function, "__name__", "?")
        if name in self.definitions:
            return
        if not isinstance(function, FunctionType) or function.__closure__:
            raise NotInlinable(f"{name} is not a plain function")
        try:
            text = source_of(function).text
        except PartError as e:
            raise NotInlinable(str(e)) from None
        for node in ast.walk(ast.parse(text)):
            if _imports_own(node):
                raise NotInlinable(f"{name} imports a module that lies beside the spec")
        self.definitions[name] = ""  # a function that calls itself ends here
        for used in free_names(text):
            if used not in function.__globals__:
                raise NotInlinable(f"{name} uses {used}, which its module does not define")
            if used == "__file__":
                raise NotInlinable(f"{name} looks for what lies beside its module")
            value = function.__globals__[used]
            if not isinstance(value, ModuleType) or not is_own(value.__name__):
                self._bind(used, value)
                continue
            # What is used of a helper module is copied, and called without the module's name.
            attributes = {
                node.attr
                for node in ast.walk(ast.parse(text))
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == used
            }
            for attribute in sorted(attributes):
                self._bind(attribute, getattr(value, attribute, None))
                text = re.sub(rf"\b{used}\.{attribute}\b", attribute, text)
        del self.definitions[name]
        self.definitions[name] = without_annotations(text)

    def _bind(self, name: str, value: Any) -> None:  # noqa: ANN401 - whatever a module holds
        """Make ``name`` mean ``value`` in the copy."""
        home = getattr(value, "__module__", None)
        if isinstance(value, ModuleType):
            if value.__name__.split(".")[0] == "promptpo":
                raise NotInlinable(f"{name} is part of promptpo")
            self._import(f"import {value.__name__}", name, value.__name__)
        elif isinstance(value, FunctionType) and home and is_own(home):
            if value.__name__ != name:
                raise NotInlinable(f"{name} is another name of {value.__name__}")
            self.copy(value)
        elif callable(value) and home and not is_own(home) and not home.startswith("promptpo"):
            self._import(f"from {home} import {value.__name__}", name, value.__name__)
        elif _is_plain(value):
            self.definitions[name] = f"{name} = {value!r}"
        else:
            raise NotInlinable(f"{name} is neither a function nor a plain constant")

    def _import(self, statement: str, name: str, original: str) -> None:
        self.imports.add(statement if name == original else f"{statement} as {name}")


def inline(*functions: Callable[..., Any]) -> Inlined:
    """Return the source of ``functions`` (under their own names) and of what they call.

    Helper functions and plain constants of the spec's own modules are copied, other packages are
    imported. Annotations are left out, because what they name would not exist.
    Raises NotInlinable for closures, lambdas, and whatever lives in a spec's module and is
    neither a function nor a plain constant.
    """
    copies = Inlined()
    for function in functions:
        copies.copy(function)
    return copies


def without_annotations(text: str) -> str:
    """Return a function's source without its annotations, otherwise as it is written."""
    source = Source(text)
    places = [(*source.span(node), mark) for node, mark in _annotations(source.tree)]
    for start, end, mark in sorted(places, reverse=True):
        text = text[: text.rindex(mark, 0, start)].rstrip(" ") + text[end:]
    return text


def _annotations(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield every annotation, with the mark that comes before it."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(returns=ast.expr() as annotation):
                yield annotation, "->"
            case ast.arg(annotation=ast.expr() as annotation):
                yield annotation, ":"
            case ast.AnnAssign(annotation=annotation, value=ast.expr()):
                yield annotation, ":"


def _imports_own(node: ast.AST) -> bool:
    """Tell whether a statement imports promptpo, or a module that lies beside the spec."""
    match node:
        case ast.ImportFrom(module=str() as module, level=0):
            modules = [module]
        case ast.ImportFrom():
            return True
        case ast.Import(names=aliases):
            modules = [alias.name for alias in aliases]
        case _:
            return False
    return any(module.split(".")[0] == "promptpo" or is_own(module) for module in modules)


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - whatever a module holds
    """Tell whether a value can be written out, and means the same on another machine."""
    if isinstance(value, tuple | list):
        return all(_is_plain(v) for v in value)
    if isinstance(value, dict):
        return all(_is_plain(v) for v in [*value.keys(), *value.values()])
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str) and len(Path(value).parts) > 2 and Path(value).is_absolute():
        with contextlib.suppress(OSError, ValueError):
            return not Path(value).exists()
        return True
    return value is None or type(value) in (bool, int, str)
