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
    """Return one field of an observation class, indented as it stands there."""
    values = {
        "shape": "" if field.shape is None else repr(field.shape),
        "unit": field.unit and text_literal(field.unit),
        "low": "" if field.low is None else bound_literal(field.low),
        "high": "" if field.high is None else bound_literal(field.high),
        "frame": field.frame and text_literal(field.frame),
    }
    arguments = [f"{key}={value}" for key, value in values.items() if value]
    head = f"    {name}: {annotation} = field("
    joined = ", ".join([*arguments, f"doc={text_literal(field.doc)}"])
    if len(f"{head}{joined})") <= WIDTH:
        return f"{head}{joined})"
    if len(joined) + 8 <= WIDTH:
        return f"{head}\n        {joined}\n    )"
    rows = [_row(f"        {argument},") for argument in arguments]
    return "\n".join([head, *rows, _long_text("        doc=", field.doc), "    )"])


def _row(line: str) -> str:
    """Return an argument's line; a tuple that is too long has a line for each element."""
    head, opened, elements = line.partition("=(")
    if len(line) <= WIDTH or not opened:
        return line
    inner = [f"{' ' * 12}{element}," for element in elements.removesuffix("),").split(", ")]
    return "\n".join([f"{head}=(", *inner, " " * 8 + "),"])


def _long_text(head: str, text: str) -> str:
    """Return ``head`` and a text in as many literals as it takes, and a comma."""
    room = WIDTH - len(head) - 3
    words = textwrap.wrap(text, room, drop_whitespace=False) or [""]
    return head + ("\n" + " " * 8).join(map(text_literal, words)) + ","


def text_literal(text: str) -> str:
    """Return a text in double quotes, as ruff has them, unless that takes more backslashes."""
    single = repr(text)
    return single if '"' in text or "\\" in single else f'"{text}"'


def number_literal(value: float) -> str:
    """Return a number without the digits that a float32 does not have."""
    number = float(value) + 0.0  # no -0.0
    text = f"{number:.7g}"
    if math.isfinite(number) and abs(float(text) - number) > 1e-7 * abs(number):
        text = next(t for d in (9, 12, 17) if float(t := f"{number:.{d}g}") == number)
    return text if any(mark in text for mark in ".en") else f"{text}.0"


def bound_literal(bound: Bound) -> str:
    """Return a bound of a field: a number, or a tuple with one per element."""
    if bound is None or isinstance(bound, int):
        return repr(bound)
    if isinstance(bound, float):
        return number_literal(bound).replace("inf", "np.inf")
    numbers = list(map(bound_literal, bound))
    return f"({', '.join(numbers)}{',' if len(numbers) == 1 else ''})"


def docstring(title: str, paragraphs: Sequence[str], indent: int = 0) -> str:
    """Return a docstring of one line and paragraphs, wrapped; without what would end it."""
    margin = " " * indent
    safe = [text.replace("\\", "/").replace('"""', "'''") for text in (title, *paragraphs)]
    if len(safe) == 1:
        return f'{margin}"""{safe[0]}"""'
    body = "\n\n".join(wrapped(text, indent) for text in safe[1:])
    return f'{margin}"""{safe[0]}\n\n{body}\n{margin}"""'


def wrapped(text: str, indent: int = 0) -> str:
    """Return a paragraph, broken at spaces; a text that has lines of its own keeps them."""
    wrapper = textwrap.TextWrapper(WIDTH, break_on_hyphens=False)
    wrapper.initial_indent = wrapper.subsequent_indent = " " * indent
    return "\n".join(map(wrapper.fill, text.splitlines() if "\n" in text else [text]))


def number(value: float) -> str:
    """Return three significant digits, without an exponent from a thousand on."""
    return f"{float(f'{exact(value):.3g}') + 0.0:g}"


def exact(value: float) -> float:
    """Return a number without its last digits, which depend on the way it was computed."""
    return float(f"{value:.9g}")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with their columns aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


# --- Docstrings of Gymnasium ----------------------------------------------------------------------

#: Sentences that a prompt must not hold: how the environment is made, where it comes from; and
#: those that point to a picture, or consist of typesetting.
_UNFIT = re.compile(
    r"gymnasium|\bimport |make\(|https?:|EnvSpec|:param|\barXiv\b|\\mathcal"
    r"|\b(?:diagram|image|figure)s? (?:below|above)\b|\*\*Gif\*\*|\bTo run the\b",
    re.IGNORECASE,
)

_PLAIN = str.maketrans(
    {"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-", "\u00d7": "x", "\u03b8": "theta"}
)


#: Markup, and the text in its place; formulas are written as in code, as far as they are simple.
_MARKUP = (
    (r"!\[[^\]]*\]\([^)]*\)", ""),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"<sup>(.*?)</sup>", r"^\1"),
    (r"<sub>(.*?)</sub>", r"_\1"),
    (r"</?[a-zA-Z][^>\n]*>", ""),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1) / (\2)"),
    (r"\\times", "*"),
    (r"\\\|", "|"),
    (r"\$([^$\n\\]+)\$", r"\1"),
)


def sections_of(env: Any) -> dict[str, str]:  # noqa: ANN401 - a Gymnasium environment
    """Return heading in lower case -> text, of the docstring of an environment's class."""
    text = re.sub(r"```.*?```", "", inspect.getdoc(type(env.unwrapped)) or "", flags=re.DOTALL)
    first, *parts = re.split(r"^ {0,3}#+\s*(.+?)\s*$", text, flags=re.MULTILINE)
    sections = {"": _cleaned(first)}
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        sections.setdefault(heading.lower().strip("*: "), _cleaned(body))
    return {heading: body for heading, body in sections.items() if body}


def section(sections: dict[str, str], *headings: str) -> str:
    """Return the first section whose heading begins with one of these words, or an empty text."""
    matches = (b for word in headings for head, b in sections.items() if head.startswith(word))
    return next(matches, "")


def _cleaned(text: str) -> str:
    text = text.translate(_PLAIN)
    for pattern, plain in _MARKUP:
        text = re.sub(pattern, plain, text)
    blocks = [_block(block) for block in re.split(r"\n\s*\n", text)]
    return "\n\n".join(block for block in blocks if block)


def _block(block: str) -> str:
    """Return the sentences of a paragraph that a prompt may hold, on one line.

    Lists and tables keep a line for each entry.
    """
    lines: list[str] = []
    for line in textwrap.dedent(block).splitlines():
        entry = re.match(r"\s*([-*+]|\d+[.:])\s|\s*\|", line)
        if lines and not entry and not lines[-1].startswith("|"):
            lines[-1] = f"{lines[-1]} {line.strip()}"
        elif not re.fullmatch(r"[|\s:-]*", line):
            lines.append(line.strip())
    split = (re.split(r"(?<=[.!?])\s+(?=[A-Z])", line) for line in lines)
    public = (" ".join(text for text in each if not _UNFIT.search(text)) for each in split)
    return "\n".join(filter(None, public))


def _rows_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a text's tables, column -> cell; all begin with the same column."""
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
    """Return a text without its tables."""
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return re.sub(r"\n{3,}", "\n\n", prose).strip()


def table_text(text: str) -> str:
    """Return the rows of a text's table as lines of words, without columns that are empty."""
    named = ([f"{name}: {cell}" for name, cell in row.items() if cell and name]
             for row in _rows_of(text))  # fmt: skip
    return "\n".join(f"- {', '.join(row)}" for row in named)


def element_names(text: str, count: int) -> list[tuple[str, str, str]] | None:
    """Return identifier, words and unit of every element, from the table of an observation space.

    None where the table does not tell them all apart.
    """
    elements: dict[int, tuple[str, str, str]] = {}
    for row in _rows_of(text):
        cells = list(row.values())
        if cells[0].isdecimal() and len(cells) > 1:
            words = cells[1].replace("`", "").strip()
            unit = next((cell for column, cell in row.items() if "unit" in column.lower()), "")
            unit = (re.findall(r"\(([^)]*)\)", unit) or [""])[-1]
            elements[int(cells[0])] = (identifier(words), words, unit)
    rows = [elements[index] for index in range(count) if index in elements]
    names = {name for name, _, _ in rows} - {""}
    return rows if len(names) == count else None


def identifier(words: str) -> str:
    """Return a field name made of words; empty where that gives none."""
    name = re.sub(r"[^0-9a-zA-Z]+", "_", words).strip("_").lower()
    usable = name.isidentifier() and not keyword.iskeyword(name) and len(name) <= 60
    return name if usable else ""
