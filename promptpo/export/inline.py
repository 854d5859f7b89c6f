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

from promptpo.spec.importing import is_own
from promptpo.spec.source import PartError, free_names, source_of


class NotInlinable(Exception):
    """A function that needs something which cannot be copied; says what."""


@dataclass
class Inlined:
    """Import statements, and definitions in an order in which they can be executed."""

    imports: list[str] = field(default_factory=list)
    definitions: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The definitions as module source, without the imports."""
        return "\n\n\n".join(self.definitions.values())


def inline(*functions: Callable[..., Any]) -> Inlined:
    """The source of ``functions`` (under their own names) and of what they call.

    Helper functions and plain constants of the spec's own modules are copied, other packages are
    imported. Annotations are left out, because what they name would not exist.
    Raises NotInlinable for closures, lambdas, and whatever lives in a spec's module and is
    neither a function nor a plain constant.
    """
    found = Inlined()
    for function in functions:
        _copy(function, found)
    return found


def _copy(function: Callable[..., Any], found: Inlined) -> None:
    name = getattr(function, "__name__", "?")
    if name in found.definitions:
        return
    if not isinstance(function, FunctionType) or function.__closure__:
        raise NotInlinable(f"{name} is not a plain function")
    try:
        text = source_of(function).text
    except PartError as e:
        raise NotInlinable(str(e)) from None
    _refuse_inner_imports(name, text)
    found.definitions[name] = ""  # a function that calls itself ends here
    for used in free_names(text):
        if used not in function.__globals__:
            raise NotInlinable(f"{name} uses {used}, which its module does not define")
        if used == "__file__":
            raise NotInlinable(f"{name} looks for what lies beside its module")
        value = function.__globals__[used]
        if isinstance(value, ModuleType) and is_own(value.__name__):
            text = _without_prefix(text, used, value, found)
        else:
            _bind(used, value, found)
    del found.definitions[name]
    found.definitions[name] = without_annotations(text)


def _bind(name: str, value: Any, found: Inlined) -> None:  # noqa: ANN401 - whatever a module holds
    """Make ``name`` mean ``value`` in the copy."""
    home = getattr(value, "__module__", None)
    if isinstance(value, ModuleType):
        if value.__name__.split(".")[0] == "promptpo":
            raise NotInlinable(f"{name} is part of promptpo")
        _add_import(found, f"import {value.__name__}", name, value.__name__)
    elif isinstance(value, FunctionType) and home and is_own(home):
        if value.__name__ != name:
            raise NotInlinable(f"{name} is another name of {value.__name__}")
        _copy(value, found)
    elif callable(value) and home and not is_own(home) and not home.startswith("promptpo"):
        original = value.__name__
        _add_import(found, f"from {home} import {original}", name, original)
    elif _is_plain(value):
        found.definitions[name] = f"{name} = {value!r}"
    else:
        raise NotInlinable(f"{name} is neither a function nor a plain constant")


def _add_import(found: Inlined, statement: str, name: str, original: str) -> None:
    line = statement if name == original else f"{statement} as {name}"
    if line not in found.imports:
        found.imports.append(line)


def _without_prefix(text: str, alias: str, module: ModuleType, found: Inlined) -> str:
    """Copy what is used of a helper module and call it without the module's name."""
    used = {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == alias
    }
    for name in sorted(used):
        _bind(name, getattr(module, name, None), found)
        text = re.sub(rf"\b{alias}\.{name}\b", name, text)
    return text


def without_annotations(text: str) -> str:
    """A function's source without its annotations, otherwise as it is written."""
    raw = text.encode()  # columns count bytes
    starts = [0]
    for line in raw.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = sorted(_annotations(text), key=lambda x: (x[0].lineno, x[0].col_offset), reverse=True)
    for node, mark in found:
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        raw = raw[: raw.rindex(mark, 0, begin)].rstrip(b" ") + raw[end:]
    return raw.decode()


def _annotations(text: str) -> Iterator[tuple[ast.expr, bytes]]:
    """Every annotation, with the mark that comes before it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.returns:
            yield node.returns, b"->"
        if isinstance(node, ast.arg) and node.annotation:
            yield node.annotation, b":"
        if isinstance(node, ast.AnnAssign) and node.value:
            yield node.annotation, b":"


def _refuse_inner_imports(name: str, text: str) -> None:
    for node in ast.walk(ast.parse(text)):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        if relative or any(m.split(".")[0] == "promptpo" or is_own(m) for m in modules):
            raise NotInlinable(f"{name} imports a module that lies beside the spec")


def _is_plain(value: Any) -> bool:  # noqa: ANN401 - whatever a module holds
    if isinstance(value, tuple | list):
        return all(_is_plain(v) for v in value)
    if isinstance(value, dict):
        return all(_is_plain(v) for v in [*value.keys(), *value.values()])
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str) and len(Path(value).parts) > 2 and Path(value).is_absolute():
        return not _exists(value)
    return value is None or type(value) in (bool, int, str)


def _exists(path: str) -> bool:
    """Whether a text is a path of this machine, which would mean nothing on another one."""
    with contextlib.suppress(OSError, ValueError):
        return Path(path).exists()
    return False
