"""From source text to a checked code object."""

from __future__ import annotations

import ast
import marshal
import sys
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.errors import CompileError
from sandbox.interface import Place
from sandbox.language.declared import TRACE, TraceError, traced
from sandbox.language.places import Renamer, name_places, numbers_at, values_at
from sandbox.language.rewriter import Importable
from sandbox.language.transformer import PolicyTransformer

#: The file name in code objects and tracebacks of programs.
FILENAME = "<policy>"

_MAX_REFUSALS = 8
#: Characters of a source line or a name that messages show.
_SHOWN = 160
#: Deep enough for long sums and else-if chains; pure Python recursion needs no C stack.
_PARSE_DEPTH = 4000


@dataclass(frozen=True)
class Compiled:
    """A checked module.

    ``traced``: the attributes that its policy class names (``declared``), each with the name that
    it really has. ``values``: the numbers that stand in the text where names have been put
    (``places``). ``line``: where the attributes are named.
    """

    code: types.CodeType
    traced: dict[str, str]
    values: tuple[float, ...] = ()
    line: int = 0

    def packed(self) -> bytes:
        """Return it as bytes, for other processes of the same program."""
        return marshal.dumps((self.code, self.traced, self.values, self.line))

    @classmethod
    def unpacked(cls, data: bytes) -> Compiled:
        """Return what ``packed`` gave; for sandboxed processes alone."""
        return cls(*marshal.loads(data))  # noqa: S302 - the program's own process

    def numbers(self, places: Sequence[Place], constants: Sequence[float]) -> dict[str, float]:
        """Return what a namespace holds in the places of numbers: ``constants``, if there are."""
        return values_at(places, constants or self.values)


def compile_source(
    source: str, importable: Importable, policy_class: str = "", places: Sequence[Place] = ()
) -> Compiled:
    """Check ``source`` and compile it.

    Args:
        source: a module that the sandboxed language allows.
        importable: what it may import.
        policy_class: the class that may name attributes to be traced.
        places: where numbers stand that namespaces bring along (``places.values_at``).

    Raises:
        CompileError: with the first refused line, and all refusals in the message.
    """
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, _PARSE_DEPTH))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _compile(source, importable, policy_class, places)
    except SyntaxError as error:
        line = error.lineno or 1
        message = f"line {line}: this is not valid Python: {error.msg[:_SHOWN]}"
        message += quoted(source, line)
        raise CompileError(message, line=line) from None
    except (RecursionError, MemoryError):
        raise CompileError(
            "the source nests expressions or blocks too deeply to be compiled; split it into "
            "smaller functions"
        ) from None
    except ValueError as error:
        raise CompileError(f"the source cannot be read: {error}", line=1) from None
    finally:
        sys.setrecursionlimit(depth)


def _compile(
    source: str, importable: Importable, policy_class: str, places: Sequence[Place]
) -> Compiled:
    tree = ast.parse(source, FILENAME)
    named = numbers_at(tree, places)
    try:
        names, line = traced(tree, policy_class) if TRACE in source else ({}, 0)
    except TraceError as error:
        raise _refused(source, [error.args]) from None
    values = {name: ast.literal_eval(node) for node, name in named.items()}
    transformer = PolicyTransformer(tree, importable)
    tree = transformer.visit(tree)
    if transformer.refusals:
        raise _refused(source, sorted(set(transformer.refusals)))
    if named:
        Renamer(named).visit(tree)
    code = compile(tree, FILENAME, "exec", dont_inherit=True)
    return Compiled(code, names, tuple(values[name] for name in name_places(places)), line)


def _refused(source: str, refusals: list[tuple[int, str]]) -> CompileError:
    shown = refusals[:_MAX_REFUSALS]
    parts = [f"line {line}: {text}{quoted(source, line)}" for line, text in shown]
    if len(refusals) > len(shown):
        parts.append(f"and {len(refusals) - len(shown)} more like these")
    return CompileError("\n".join(parts), line=refusals[0][0])


def quoted(source: str, line: int) -> str:
    """The source line, ready to follow a message about it."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not 1 <= line <= len(lines):
        return ""
    text = lines[line - 1].strip()
    return f"\n    {text[:_SHOWN]}" if text else ""
