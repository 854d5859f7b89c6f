"""The verbatim source of a spec's parts: the prompt shows it, and errors point to its lines."""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from promptpo.spec.definition import EnvSpec


class PartError(Exception):
    """Raised for a part of a spec that does not fit; the loader adds file and line."""

    def __init__(self, part: str, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.part = part
        self.line = line


@dataclass(frozen=True)
class Source:
    """The dedented text of one class or function, its syntax tree, and its line in the file."""

    text: str
    first_line: int
    node: ast.ClassDef | ast.FunctionDef

    def line(self, node: ast.stmt | ast.expr) -> int:
        """Return the line number in the file of a node of this tree."""
        return self.first_line + node.lineno - 1

    def segment(self, node: ast.stmt) -> str:
        """Return the lines of a statement of a class body as they stand, decorators included."""
        lines = self.text.splitlines()
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        return "\n".join(lines[first - 1 : node.end_lineno])


@lru_cache(maxsize=1024)
def source_of(part: type | Callable[..., object]) -> Source:
    """Return the source of a class or function, read once: a later edit of the file is not seen.

    Raises:
        PartError: the source cannot be read, or is not a ``class`` or ``def`` statement.
    """
    name = getattr(part, "__name__", repr(part))
    try:
        lines, first_line = inspect.getsourcelines(part)
        text = textwrap.dedent("".join(lines)).rstrip()
        node = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError) as error:
        raise PartError(name, f"the source of {name} cannot be read; write it in a file") from error
    if not isinstance(node, ast.ClassDef | ast.FunctionDef):
        raise PartError(name, f"{name} must be written with class or def", first_line)
    return Source(text, max(first_line, 1), node)


def free_names(text: str) -> Iterator[str]:
    """Yield the names that a piece of source takes from its module, builtins left out.

    Names in annotations do not count: they are never evaluated where the source runs.
    """
    seen: set[str] = set()
    tables = symtable.symtable(f"from __future__ import annotations\n{text}", "spec", "exec")
    todo = tables.get_children()
    while todo:
        table = todo.pop(0)
        todo = [*table.get_children(), *todo]
        for symbol in table.get_symbols():
            name = symbol.get_name()
            used = symbol.is_global() and symbol.is_referenced() and not hasattr(builtins, name)
            if used and name not in seen:
                seen.add(name)
                yield name


@dataclass(frozen=True)
class PromptParts:
    """Texts of one spec for the prompt.

    ``observation`` and ``reward`` are verbatim Python source; ``reward`` begins with the helper
    functions that it calls. ``title`` is one line, ``description`` a paragraph or empty; ``facts``
    may be empty, and a run may withhold them.
    """

    title: str
    description: str
    observation: str
    action: str
    facts: str
    reward: str
    horizon: int

    @property
    def text(self) -> str:
        """All parts in one text, to search for what must not be in it."""
        return "\n\n".join(
            [self.title, self.description, self.observation, self.action, self.facts, self.reward]
        )


def prompt_parts(spec: EnvSpec) -> PromptParts:
    """Return what the model may see of a loaded spec."""
    functions = [*spec.reward_helpers, spec.reward]
    return PromptParts(
        title=spec.title,
        description=inspect.cleandoc(spec.description),
        observation=source_of(spec.observation).text,
        action=inspect.cleandoc(spec.action),
        facts=inspect.cleandoc(spec.facts).strip(),
        reward="\n\n\n".join(source_of(function).text for function in functions),
        horizon=spec.horizon,
    )
