"""The values of ``prepare`` that an exported policy holds, read without running it.

Only what ``learned.block`` writes is understood, and what people write in its manner:
``PREPARED = {"gain": np.array([1.5, 2.0]), "table": stored["table"]}``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sandbox
from promptpo.errors import UsageError
from promptpo.export.arrays import read_npz
from promptpo.export.learned import BESIDE
from sandbox.prepared import LIMIT

_NAME = re.compile(r"PREPARED_*")
_NUMBERS = {"np.nan": float("nan"), "np.inf": float("inf")}
_TYPES: Mapping[str, type] = {"np.float64": np.float64, "np.int64": np.int64, "bool": bool}

#: Reads the array of a name from the file beside the module.
_Stored = Callable[[str], NDArray[Any]]


class _Strange(ValueError):
    """Something that is no value, at a node."""

    def __init__(self, node: ast.expr, what: str = "no number, string or array") -> None:
        super().__init__(what)
        self.line = node.lineno


def values_in(module: str, path: Path) -> bytes | None:
    """The values of a module's text, packed; None where it names none.

    ``path`` is the module's: beside it lies ``prepared.npz``. Raises UsageError, in one line, where
    either cannot be read as values.
    """
    if "PREPARED" not in module:
        return None
    try:
        found = _stated(ast.parse(module))
        if found is None:
            return None
        return _packed(found, path)
    except (SyntaxError, RecursionError):
        return None  # no Python since someone has edited it: the sandbox says where
    except _Strange as e:
        raise UsageError(
            f"{path}:{e.line}: {e}; mend PREPARED, or export the policy again"
        ) from None


def _packed(found: ast.Dict, path: Path) -> bytes:
    beside = path.with_name(BESIDE)
    arrays: dict[str, NDArray[Any]] | None = None

    def stored(name: str) -> NDArray[Any]:
        nonlocal arrays
        if arrays is None:
            arrays = read_npz(beside, LIMIT)
        if name not in arrays:
            raise ValueError(f"it holds no array {name!r}")
        return arrays[name]

    values: dict[str, Any] = {}
    for key, value in zip(found.keys, found.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _Strange(key or value, "a value without a name")
        values[key.value] = _value(value, lambda name: _beside(beside, stored, name))
    try:
        return sandbox.pack(values)
    except ValueError as e:
        raise _Strange(found, str(e)) from None


def _beside(file: Path, stored: _Stored, name: str) -> NDArray[Any]:
    try:
        return stored(name)
    except (ValueError, OSError) as e:
        why = e.strerror if isinstance(e, OSError) else str(e)
        raise UsageError(
            f"{file}: {why}; the policy beside it needs it: copy both from where they were exported"
        ) from None


def _stated(tree: ast.Module) -> ast.Dict | None:
    """The dict that a module's values are, as it is written."""
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    found: dict[str, ast.Dict] = {}
    for name, given in _assigned(tree.body):
        value: ast.expr | None = given
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Name):
            function = functions.get(given.func.id)
            value = dict(_assigned(function.body)).get("values") if function else None
        if _NAME.fullmatch(name) and isinstance(value, ast.Dict):
            found[name] = value
    # An exported module avoids a name that its policy has by a longer one.
    return found[max(found, key=len)] if found else None


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Names and what they are given in a body, and under its ``with``."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.With(body=inner):
                yield from _assigned(inner)


def _value(node: ast.expr, stored: _Stored) -> object:
    """A number, a string or an array."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Call(func=called, args=[first], keywords=keywords):
            return _array(node, ast.unparse(called), first, keywords)
        case ast.Subscript(value=ast.Name(id="stored"), slice=ast.Constant(value=str() as name)):
            return stored(name)
    return _number(node)


def _array(node: ast.expr, called: str, first: ast.expr, keywords: list[ast.keyword]) -> object:
    named = {k.arg: ast.unparse(k.value) for k in keywords}
    kind = _TYPES.get(named.pop("dtype", "np.float64"))
    if named or kind is None:
        raise _Strange(node)
    try:
        match called:
            case "np.array":
                made = np.array(_nested(first))
                return made.astype(kind) if keywords else made
            case "np.zeros" if isinstance(first, ast.Tuple):
                shape = [int(_number(part)) for part in first.elts]
                if 0 in shape:  # a large one would be made of few words
                    return np.zeros(shape, dtype=kind)
    except _Strange:
        raise
    except (ValueError, TypeError, OverflowError, MemoryError) as e:
        raise _Strange(node, f"no array ({e})") from None
    raise _Strange(node)  # such as arrays of zeros that are not empty


def _nested(node: ast.expr) -> object:
    if isinstance(node, ast.List):
        return [_nested(part) for part in node.elts]
    return _number(node)


def _number(node: ast.expr) -> float:
    """A number (a truth value among them) that is written out."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.Attribute() if ast.unparse(node) in _NUMBERS:
            return _NUMBERS[ast.unparse(node)]
    raise _Strange(node)
