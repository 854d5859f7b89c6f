"""Writes the source of spec modules, laid out as ``ruff format`` would leave it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from promptpo.spec.authoring.definition import Bound, Field

WIDTH = 100


def field_source(name: str, annotation: str, field: Field) -> str:
    """One field of an observation class, indented as it stands there."""
    arguments = []
    if field.shape is not None:
        arguments.append(f"shape={field.shape!r}")
    if field.unit:
        arguments.append(f"unit={text_literal(field.unit)}")
    arguments += [
        f"{side}={bound_literal(bound)}"
        for side, bound in (("low", field.low), ("high", field.high))
        if bound is not None
    ]
    if field.frame:
        arguments.append(f"frame={text_literal(field.frame)}")
    head = f"    {name}: {annotation} = field("
    line = f"{head}{', '.join([*arguments, f'doc={text_literal(field.doc)}'])})"
    if len(line) <= WIDTH:
        return line
    inner = f"        {', '.join([*arguments, f'doc={text_literal(field.doc)}'])}"
    if len(inner) <= WIDTH:
        return f"{head}\n{inner}\n    )"
    rows = [_row(f"        {argument},") for argument in arguments]
    return "\n".join([head, *rows, _long_text("        doc=", field.doc), "    )"])


def _row(line: str) -> str:
    """An argument on a line of its own; a tuple that is too long has a line for each element."""
    head, opened, elements = line.partition("=(")
    if len(line) <= WIDTH or not opened:
        return line
    inner = [f"{' ' * 12}{element}," for element in elements.removesuffix("),").split(", ")]
    return "\n".join([f"{head}=(", *inner, " " * 8 + "),"])


def _long_text(head: str, text: str) -> str:
    """``head`` and a text in as many literals as it takes, and a comma."""
    room = WIDTH - len(head) - 3
    words = textwrap.wrap(text, room, drop_whitespace=False) or [""]
    literals = [text_literal(part) for part in words]
    if len(literals) == 1:
        return f"{head}{literals[0]},"
    return head + ("\n" + " " * 8).join(literals) + ","


def text_literal(text: str) -> str:
    """A text in double quotes, as ruff has them, unless that takes more backslashes."""
    single = repr(text)
    if '"' in text or "\\" in single:
        return single
    return f'"{text}"'


def number_literal(value: float) -> str:
    """A number that reads well: float32 bounds without the digits that they do not have."""
    number = float(value) + 0.0  # no -0.0
    short = next(
        (text for digits in (9, 12, 17) if float(text := f"{number:.{digits}g}") == number), ""
    )
    text = f"{number:.7g}" if abs(float(f"{number:.7g}") - number) <= 1e-7 * abs(number) else short
    return text if any(mark in text for mark in ".einf") else f"{text}.0"


def bound_literal(bound: Bound) -> str:
    """A bound of a field: a number, or a tuple with one per element."""
    if bound is None or isinstance(bound, int | float):
        return "None" if bound is None else _bound_number(bound)
    numbers = [_bound_number(value) for value in bound]
    return f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"


def _bound_number(value: float) -> str:
    if isinstance(value, int) or not math.isinf(value):
        return repr(value) if isinstance(value, int) else number_literal(value)
    return "np.inf" if value > 0 else "-np.inf"


def docstring(title: str, paragraphs: Sequence[str], indent: int = 0) -> str:
    """A docstring of one line and paragraphs, wrapped; without what would end it."""
    margin = " " * indent
    safe = [_safe(text) for text in (title, *paragraphs)]
    if len(safe) == 1:
        return f'{margin}"""{safe[0]}"""'
    body = "\n\n".join(wrapped(text, indent) for text in safe[1:])
    return f'{margin}"""{safe[0]}\n\n{body}\n{margin}"""'


def _safe(text: str) -> str:
    return text.replace("\\", "/").replace('"""', "'''")


def wrapped(text: str, indent: int = 0) -> str:
    """A paragraph, broken at spaces; a text that has lines of its own keeps them."""
    margin = " " * indent
    lines = text.splitlines() if "\n" in text else [text]
    return "\n".join(
        textwrap.fill(
            line, WIDTH, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False
        )
        for line in lines
    )
