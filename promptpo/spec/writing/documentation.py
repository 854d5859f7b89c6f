"""What Gymnasium documents of an environment: sections and tables of its docstring, cleaned."""

from __future__ import annotations

import inspect
import keyword
import re
import textwrap
from typing import Any

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
