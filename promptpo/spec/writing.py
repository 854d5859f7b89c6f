"""Text of spec modules, laid out as ``ruff format`` leaves it, and sections of docstrings."""

from __future__ import annotations

import inspect
import keyword
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from promptpo.spec.definition import Bound, Field

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


#: What a prompt must not hold: how the environment is made, where it comes from; and sentences
#: that point to a picture, or consist of typesetting.
_UNFIT = re.compile(
    r"gymnasium|\bimport |make\(|https?:|EnvSpec|:param|\barXiv\b|\\mathcal"
    r"|\b(?:diagram|image|figure)s? (?:below|above)\b|\*\*Gif\*\*|\bTo run the\b",
    re.IGNORECASE,
)

_PLAIN = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-", "\u00d7": "x", "\u03b8": "theta"}
)


def sections_of(env: Any) -> dict[str, str]:  # noqa: ANN401 - a Gymnasium environment
    """Heading in lower case -> text, of the docstring of an environment's class."""
    text = re.sub(r"```.*?```", "", inspect.getdoc(type(env.unwrapped)) or "", flags=re.DOTALL)
    parts = re.split(r"^ {0,3}#+\s*(.+?)\s*$", text, flags=re.MULTILINE)
    found = {"": _cleaned(parts[0])}
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(heading.lower().strip("*: "), _cleaned(body))
    return {heading: body for heading, body in found.items() if body}


def section(sections: dict[str, str], *headings: str) -> str:
    """The first section whose heading begins with one of these words, else an empty text."""
    for word in headings:
        for heading, body in sections.items():
            if heading.startswith(word):
                return body
    return ""


def _cleaned(text: str) -> str:
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text.translate(_PLAIN))
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<sup>(.*?)</sup>", r"^\1", text)
    text = re.sub(r"<sub>(.*?)</sub>", r"_\1", text)
    text = _without_typesetting(re.sub(r"</?[a-zA-Z][^>\n]*>", "", text))
    blocks = [_block(block) for block in re.split(r"\n\s*\n", text)]
    return "\n\n".join(block for block in blocks if block)


def _without_typesetting(text: str) -> str:
    """A text whose formulas are written as in code, as far as they are simple."""
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1) / (\2)", text)
    text = text.replace("\\times", "*").replace("\\|", "|")
    return re.sub(r"\$([^$\n\\]+)\$", r"\1", text)


def _block(block: str) -> str:
    """A paragraph on one line; lists and tables keep a line for each entry."""
    lines: list[str] = []
    for line in textwrap.dedent(block).splitlines():
        entry = re.match(r"\s*([-*+]|\d+[.:])\s|\s*\|", line)
        if lines and not entry and not lines[-1].startswith("|"):
            lines[-1] = f"{lines[-1]} {line.strip()}"
        elif not re.fullmatch(r"[|\s:-]*", line):
            lines.append(line.strip())
    return "\n".join(_public(line) for line in lines if _public(line))


def _public(line: str) -> str:
    """The sentences of a line that a prompt may hold."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)
    return " ".join(text for text in sentences if not _UNFIT.search(text))


def rows_of(text: str) -> list[dict[str, str]]:
    """The rows of a text's tables, as column -> cell; all tables begin with the same column."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    rows, header = [], cells[0] if cells else []
    for row in cells[1:]:
        if row[0] == header[0]:
            header = row
        else:
            rows.append(dict(zip(header, row, strict=False)))
    return rows


def prose_of(text: str) -> str:
    """A text without its tables."""
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return re.sub(r"\n{3,}", "\n\n", kept).strip()


def table_text(text: str) -> str:
    """The rows of a text's table as lines of words, without the columns that say nothing."""
    rows = rows_of(text)
    return "\n".join(
        "- " + ", ".join(f"{column}: {cell}" for column, cell in row.items() if cell and column)
        for row in rows
    )


def element_names(text: str, count: int) -> list[tuple[str, str, str]] | None:
    """Identifier, words and unit of every element, from the table of an observation space.

    None where the table does not tell them all apart.
    """
    found: dict[int, tuple[str, str, str]] = {}
    for row in rows_of(text):
        cells = list(row.values())
        if not cells[0].isdecimal() or len(cells) < 2:
            continue
        words = cells[1].replace("`", "").strip()
        unit = next((cell for column, cell in row.items() if "unit" in column.lower()), "")
        unit = (re.findall(r"\(([^)]*)\)", unit) or [""])[-1]
        found[int(cells[0])] = (identifier(words), words, unit)
    names = [found[index][0] for index in range(count) if index in found]
    if len(names) != count or len(set(names)) != count or not all(names):
        return None
    return [found[index] for index in range(count)]


def identifier(words: str) -> str:
    """A field name made of words; empty where that gives none."""
    name = re.sub(r"[^0-9a-zA-Z]+", "_", words).strip("_").lower()
    usable = name.isidentifier() and not keyword.iskeyword(name) and len(name) <= 60
    return name if usable else ""


def number(value: float) -> str:
    """Three significant digits, without an exponent from a thousand on."""
    return f"{float(f'{exact(value):.3g}') + 0.0:g}"


def exact(value: float) -> float:
    """Without the last digits, which hang on the way that a number was computed on."""
    return float(f"{value:.9g}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows with their columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)
