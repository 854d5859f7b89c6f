"""Python source from outside, as the host reads it: a model may write anything.

What it writes is not run here, and still can do harm: nested deeply, long, odd. So whoever reads it
does so by ``parsed``, and within ``reading`` or ``decorating``, and takes time in proportion to its
length: no walk within a walk, no search for every line.
"""

from __future__ import annotations

import ast
import inspect
import re
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from promptpo.common.plaintext import clean, clean_line

T = TypeVar("T")
P = ParamSpec("P")

#: Characters of a docstring that are read, and of a name that is quoted.
_DOCSTRING, _NAME = 10_000, 60

#: White space at a stretch that no pattern is to be tried on, and steps that an alignment may take.
_BLANK, _STEPS = 500, 20_000_000

#: Filters of warnings belong to the whole process.
_warning = threading.Lock()


class Unreadable(SyntaxError):
    """A text that may well be Python, and that the host cannot read."""


@contextmanager
def reading(*kinds: type[Exception]) -> Iterator[None]:
    """Raise ``Unreadable`` for whatever a program's text causes but SyntaxError and these."""
    try:
        yield
    except (RecursionError, MemoryError):
        raise _unreadable("it nests expressions or blocks too deeply") from None
    except Exception as e:  # whatever it is: the text has caused it
        if isinstance(e, (SyntaxError, *kinds)):
            raise
        raise _unreadable(f"it cannot be read ({clean_line(str(e))[:100]})") from None


def decorating(otherwise: Callable[[], T]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function give ``otherwise()`` where a program's text makes it raise anything.

    For what is shown beside a program, and that nothing depends on.
    """

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def tried(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except Exception:  # whatever it is: the text has caused it
                return otherwise()

        return tried

    return decorated


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of a program, without Python's warnings.

    Raises SyntaxError for whatever is no Python or cannot be read.
    """
    with reading(), _warning, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def tree_of(source: str) -> ast.Module | None:
    """Return the syntax tree; None for a text that is no Python or cannot be read."""
    try:
        return parsed(source)
    except SyntaxError:
        return None


def docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> str:
    """Return the docstring of a module, class or function, without control characters."""
    return inspect.cleandoc(clean((ast.get_docstring(node, clean=False) or "")[:_DOCSTRING]))


def code_lines(source: str) -> int:
    """Return how many lines a program takes without comments, docstrings and blank lines.

    They are counted as ``ast.unparse`` writes them, so that neither long nor broken lines count.
    A text that is no Python has as many as stand in it.
    """
    tree = tree_of(source)
    if tree is None:
        return len(source.splitlines())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _is_text(s)]  # type: ignore[attr-defined]
    return sum(bool(line.strip()) for line in ast.unparse(tree).splitlines())


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def short(name: str) -> str:
    """Return a name of a program, cut to 60 characters."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."


def has_gap(text: str) -> bool:
    """Return whether a text has so long a gap that patterns which skip white space are slow."""
    return any(len(gap) > _BLANK for gap in re.findall(r"\s+", text))


def steps_to_align(old: Sequence[str], new: Sequence[str]) -> int:
    """Return about the most steps that difflib takes to align two sequences."""
    repeats = Counter(new)
    pairs = sum(repeats[item] for item in old)
    return min(len(old), len(new)) * (pairs + max(len(old), len(new)))


def alignable(old: Sequence[str], new: Sequence[str], steps: int = _STEPS) -> bool:
    """Return whether difflib aligns two sequences within so many steps, about a second."""
    return steps_to_align(old, new) <= steps


def _unreadable(why: str) -> Unreadable:
    return Unreadable(why, (None, 1, None, None))
