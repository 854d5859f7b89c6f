"""The values that a policy is made with, which its ``prepare`` returned.

An exported module holds them: few numbers as literals, else arrays in ``prepared.npz`` beside it.
They are read back without running the module, and neither file is trusted.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sandbox
from promptpo.common.python_text import parsed
from promptpo.common.text import plural
from promptpo.errors import UsageError
from promptpo.policies.sources import takes_prepared
from promptpo.types import Preparation
from sandbox.prepared import LIMIT

Arrays = dict[str, NDArray[Any]]

#: The file beside the policy, where there is one.
BESIDE = "prepared.npz"
#: So many numbers stand in the module itself, at most.
FEW = 200
#: Arrays in a file, and values that are named in a line, at most.
_MOST, _NAMED = 1000, 12

_BLOCK = Template('''\
# ---- What prepare(data) returned$origin ----


def _$function():
    """What each policy is made with; nothing in it can be changed."""
$values
    for value in values.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    return MappingProxyType(values)


$name = _$function()''')

_ORIGIN = re.compile(
    r"^# ---- What prepare\(data\) returned: (\d+) transitions? of (\d+) episodes?,"
    r" ([\d.e+-]+) s of computing ----$",
    re.MULTILINE,
)
_NAME = re.compile(r"PREPARED_*")
_CONSTANTS = {"np.nan": float("nan"), "np.inf": float("inf")}
_TYPES: Mapping[str, type] = {"np.float64": np.float64, "np.int64": np.int64, "bool": bool}
_TYPE_NAMES = {"f": "np.float64", "i": "np.int64", "b": "bool"}


@dataclass(frozen=True)
class Learned:
    """Values as ``sandbox`` packs them, and their origin; ``transitions`` 0: unknown.

    ``seconds`` are of processor time.
    """

    values: bytes
    episodes: int = 0
    transitions: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, preparation: Preparation, values: bytes) -> Learned:
        """Return the values that a candidate's ``prepare`` returned, with their origin."""
        p = preparation
        return cls(values, p.episodes, p.transitions, float(f"{p.seconds:.3g}"))

    @classmethod
    def read(cls, module: str, path: Path) -> Learned | None:
        """Return the values that a module's text states; None where it states none.

        ``path`` is the module's: beside it lies ``prepared.npz``. Raises UsageError, in one line,
        where either cannot be read as values.
        """
        if "PREPARED" not in module:
            return None
        try:
            stated = _stated(parsed(module))
            values = _packed(stated, path) if stated is not None else None
        except SyntaxError:
            return None  # no Python since someone has edited it: the sandbox says where
        except _BadValue as e:
            remedy = "mend PREPARED, or export the policy again"
            raise UsageError(f"{path}:{e.line}: {e}; {remedy}") from None
        if values is None:
            return None
        origin = _ORIGIN.search(module)
        if origin is None:
            return cls(values)
        return cls(values, int(origin[2]), int(origin[1]), float(origin[3]))

    @property
    def unpacked(self) -> dict[str, Any]:
        """The values by name."""
        return sandbox.unpack(self.values)

    @property
    def beside(self) -> bytes | None:
        """The content of ``prepared.npz``; None where all values stand in the module."""
        values = self.unpacked
        names = _names_beside(values)
        return npz({names[name]: values[name] for name in names}) if names else None

    @property
    def words(self) -> str:
        """A line on the values and their origin."""
        values = self.unpacked
        names = ", ".join([*sorted(values)[:_NAMED], *["..."] * (len(values) > _NAMED)])
        numbers = plural(_count(values), "number")
        origin = ""
        if self.transitions or self.seconds:
            origin = (
                f" from {plural(self.transitions, 'transition')} of"
                f" {plural(self.episodes, 'search episode')}, in {self.seconds:.3g} s of computing"
            )
        return f"Learned by its prepare(data): {names or 'nothing'} ({numbers}){origin}."

    def block(self, name: str) -> str:
        """Return source that defines the values under a name.

        It needs numpy as ``np``, and what ``imports`` names.
        """
        values = self.unpacked
        names = _names_beside(values)
        rows = "".join(f"    {_row(n, v, names.get(n))}\n" for n, v in values.items())
        text = f"values = {{\n{rows}}}"
        if names:
            opened = f'with np.load(Path(__file__).with_name("{BESIDE}"), allow_pickle=False)'
            text = f"{opened} as stored:\n" + textwrap.indent(text, "    ")
        origin = ""
        if self.transitions or self.seconds:
            steps, episodes = (
                plural(self.transitions, "transition"),
                plural(self.episodes, "episode"),
            )
            origin = f": {steps} of {episodes}, {self.seconds:.3g} s of computing"
        return _BLOCK.substitute(
            origin=origin, function=name.lower(), values=textwrap.indent(text, "    "), name=name
        )

    @property
    def imports(self) -> list[str]:
        """The import statements that ``block`` needs beside numpy."""
        path = ["from pathlib import Path"] if _names_beside(self.unpacked) else []
        return ["from types import MappingProxyType", *path]


def takes_values(source: str) -> bool:
    """Tell whether policies of a source are made with values; False if it cannot be read."""
    try:
        return takes_prepared(source)
    except SyntaxError:
        return False


def name_in(source: str) -> str:
    """Return the name of the values in the module of a policy: one that the policy has not."""
    name = "PREPARED"
    while re.search(rf"\b(?:{name}|_{name.lower()})\b", source):
        name += "_"
    return name


def argument(source: str, learned: Learned | None) -> str:
    """Return the argument that a policy of an exported module is made with; empty without."""
    return name_in(source) if learned is not None and takes_values(source) else ""


def _count(values: Mapping[str, Any]) -> int:
    """Return how many numbers there are in all."""
    return sum(getattr(v, "size", 1) for v in values.values() if not isinstance(v, str))


def _names_beside(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the arrays that lie beside the module: their names in the file, by their own."""
    if _count(values) <= FEW:
        return {}
    arrays = [name for name, value in values.items() if isinstance(value, np.ndarray)]
    return {
        name: name if name.isidentifier() and name.isascii() else f"array {number}"
        for number, name in enumerate(arrays, 1)
    }


def _row(name: str, value: object, stored: str | None) -> str:
    """Return one value's line, or lines, in the dict."""
    if not isinstance(value, np.ndarray):
        text = _quoted(value) if isinstance(value, str) else _named(repr(value))
    elif stored is not None:
        return f'{_quoted(name)}: stored["{stored}"],  # {value.dtype} {value.shape}'
    elif not value.size:
        text = f"np.zeros({value.shape}, dtype={_TYPE_NAMES[value.dtype.kind]})"
    else:
        rows = np.array2string(
            value, max_line_width=72, separator=", ", threshold=sys.maxsize,
            formatter={"float_kind": lambda number: repr(float(number))},
        )  # fmt: skip
        text = "np.array(" + _named(re.sub("\n+", "\n        ", rows)) + ")"
    return f"{_quoted(name)}: {text},"


def _named(numbers: str) -> str:
    return re.sub(r"\b(nan|inf)\b", r"np.\1", numbers)


def _quoted(value: str) -> str:
    """Return a string as source, in double quotes where it can be."""
    text = repr(value)
    return text if '"' in text else f'"{text[1:-1]}"'


class _BadValue(ValueError):
    """Source that is no value, at a node."""

    def __init__(self, node: ast.expr, problem: str = "no number, string or array") -> None:
        super().__init__(problem)
        self.line = node.lineno


def _stated(tree: ast.Module) -> ast.Dict | None:
    """Return the dict of values as it is written; the longest name is that of an export."""
    stated: dict[str, ast.Dict] = {}
    for node in tree.body:
        name = node.name[1:].upper() if isinstance(node, ast.FunctionDef) else ""
        for inner in ast.walk(node) if _NAME.fullmatch(name) else [node]:
            match inner:
                case ast.Assign(targets=[ast.Name(id=target)], value=ast.Dict() as value):
                    if name or _NAME.fullmatch(target):
                        stated[name or target] = value
    return stated[max(stated, key=len)] if stated else None


def _packed(stated: ast.Dict, path: Path) -> bytes:
    """Return the values of a dict as ``sandbox`` packs them. Raises _BadValue or UsageError."""
    names = [ast.unparse(n.slice) for n in ast.walk(stated) if isinstance(n, ast.Subscript)]
    stored: Arrays = {}
    problem = ""
    try:
        stored = read_npz(path.with_name(BESIDE), LIMIT) if names else {}
    except (ValueError, OSError) as e:
        problem = (e.strerror or "unreadable") if isinstance(e, OSError) else str(e)
    missing = [name for name in names if name not in map(repr, stored)]
    if missing:
        problem = problem or f"it holds no array {missing[0]}"
        remedy = "the policy beside it needs it: copy both from where they were exported"
        raise UsageError(f"{path.with_name(BESIDE)}: {problem}; {remedy}")
    values: dict[str, Any] = {}
    for key, value in zip(stated.keys, stated.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _BadValue(key or value, "a value without a name")
        values[key.value] = _value(value, stored)
    try:
        return sandbox.pack(values)
    except ValueError as e:
        raise _BadValue(stated, str(e)) from None


def _value(node: ast.expr, stored: Arrays) -> object:
    """Return the number, string or array that is written. Raises _BadValue."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Subscript(value=ast.Name(id="stored"), slice=ast.Constant(value=str() as name)):
            return stored[name]
        case ast.Call(func=called, args=[first], keywords=keywords):
            options = {k.arg: _TYPES.get(ast.unparse(k.value)) for k in keywords}
            if options.keys() - {"dtype"} or None in options.values():
                raise _BadValue(node)
            try:
                if ast.unparse(called) == "np.array":
                    return np.array(_nested(first), dtype=options.get("dtype"))
                if ast.unparse(called) == "np.zeros" and isinstance(first, ast.Tuple):
                    shape = [int(_number(part)) for part in first.elts]
                    if 0 in shape:  # a large one would be made of few words
                        return np.zeros(shape, dtype=options.get("dtype", float))
            except _BadValue:
                raise
            except (ValueError, TypeError, OverflowError, MemoryError) as e:
                raise _BadValue(node, f"no array ({e})") from None
            raise _BadValue(node)
    return _number(node)


def _nested(node: ast.expr) -> object:
    if isinstance(node, ast.List):
        return [_nested(part) for part in node.elts]
    return _number(node)


def _number(node: ast.expr) -> float:
    """Return a number (a truth value among them) that is written out. Raises _BadValue."""
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.Attribute() if ast.unparse(node) in _CONSTANTS:
            return _CONSTANTS[ast.unparse(node)]
    raise _BadValue(node)


def npz(values: Mapping[str, object]) -> bytes:
    """Return a file that ``numpy.load`` reads; equal values give equal bytes.

    ``numpy.savez`` writes the time into it, and takes no value that is named ``file``.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in values.items():
            inner = io.BytesIO()
            np.lib.format.write_array(inner, np.asarray(value), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), inner.getvalue())
    return buffer.getvalue()


def read_npz(file: Path, limit: int) -> Arrays:
    """Return the arrays of numbers in a file that is not trusted.

    At most ``limit`` bytes of them are read, and nothing is unpickled. Raises ValueError, which
    says in a phrase what is wrong, and OSError.
    """
    if not file.is_file():
        raise ValueError("there is no such file")
    with file.open("rb") as opened:
        data = opened.read(2 * limit + 1)
    if len(data) > 2 * limit:
        raise ValueError(f"it is larger than {2 * limit >> 20} MiB")
    arrays: Arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:  # no member is read beyond its file_size
            members = archive.infolist()
        size = sum(member.file_size for member in members)
        # Other compression than this is undone without a limit.
        packed = {m.compress_type for m in members} <= {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
        if packed and len(members) <= _MOST and size <= limit:
            with np.load(io.BytesIO(data), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
    except Exception as e:  # whatever a file that was made to do harm causes
        text = str(e).splitlines()
        raise ValueError(f"it is damaged ({text[0] if text else type(e).__name__})") from None
    if not packed:
        raise ValueError("it is compressed in a way that is not read")
    if len(members) > _MOST:
        raise ValueError(f"it holds {len(members)} files; at most {_MOST} arrays are read")
    if size > limit:
        raise ValueError(f"the arrays in it are larger than {limit >> 20} MiB")
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiub":
            raise ValueError(f"{name!r} in it is no array of numbers")
    return arrays
