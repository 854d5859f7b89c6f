"""From source text to a checked code object."""

from __future__ import annotations

import ast
import sys
import types
import warnings
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from sandbox.errors import CompileError
from sandbox.interface import Place
from sandbox.language.declared import TRACE, TraceError, traced
from sandbox.language.places import Renamer, numbers_at
from sandbox.language.rewriter import Importable
from sandbox.language.stateless import stateless
from sandbox.language.transformer import PolicyTransformer

#: The file name in code objects and tracebacks of programs.
FILENAME = "<policy>"

_MAX_REFUSALS = 8
#: Characters of a source line or a name that messages show.
_SHOWN = 160
#: Deep enough for long sums and else-if chains; pure Python recursion needs no C stack.
_PARSE_DEPTH = 4000

#: Sets for good what ``np.errstate`` sets for a while. In an episode's context, that is: a program
#: that names it is executed anew for each of them.
_OPEN_SETTING = "seterr"

#: ``np.errstate``, ``np.printoptions`` and decimal contexts are meant for a ``with`` statement, but
#: their ``__enter__`` can be called without an end. They live in context variables; so a program
#: that may name one of them gets a context of its own for each episode. For others that would be a
#: tenth of a microsecond per act for nothing.
_SETTINGS = frozenset({"errstate", "printoptions", "decimal", _OPEN_SETTING})
#: What reaches attributes by names that are computed.
_REFLECTIVE = frozenset({"getattr", "attrgetter", "methodcaller"})


@dataclass(frozen=True)
class Compiled:
    """A checked module.

    ``stateless``: one namespace of it can serve several episodes. ``settings``: it may hold
    settings open from one call to the next. ``traced``: the attributes that its policy class names
    (``declared``). ``numbers``: what stands in the text where names have been put (``places``).
    """

    code: types.CodeType
    stateless: bool
    settings: bool
    traced: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)


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
    numbers = {name: ast.literal_eval(node) for node, name in named.items()}
    try:
        names = traced(tree, policy_class) if TRACE in source else {}
    except TraceError as error:
        raise _refused(source, [error.args]) from None
    without_state = stateless(tree) and not _names_any(tree, {_OPEN_SETTING})
    settings = _names_any(tree, _SETTINGS | _REFLECTIVE)
    transformer = PolicyTransformer(tree, importable, sealed=without_state)
    tree = transformer.visit(tree)
    if transformer.refusals:
        raise _refused(source, sorted(set(transformer.refusals)))
    if named:
        Renamer(named).visit(tree)
    code = compile(tree, FILENAME, "exec", dont_inherit=True)
    return Compiled(code, without_state, settings, names, numbers)


def _names_any(tree: ast.Module, wanted: Set[str]) -> bool:
    """Whether the program names one of these, as a name or an attribute."""
    return any(not wanted.isdisjoint(_names_in(node)) for node in ast.walk(tree))


def _names_in(node: ast.AST) -> Iterable[str]:
    names: Iterable[str] = ()
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            names = (name,)
        case ast.alias(name) | ast.ImportFrom(str(name)):
            names = name.split(".")
        case ast.MatchClass(kwd_attrs=attributes):
            names = attributes
    return names


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
