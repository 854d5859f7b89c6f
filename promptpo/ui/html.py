"""Results as HTML, for notebooks: tables that take the notebook's own style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import escape

from promptpo.common.blocks import Cell, Table
from promptpo.common.plaintext import clean_line


def heading(text: str) -> str:
    """Return a line above a table."""
    return f"<p><b>{_words(text)}</b></p>"


def table(shown: Table) -> str:
    """Return a table, without the columns in which no row has anything."""
    used = shown.trimmed()
    styles = ["right" if numeric else "left" for numeric in used.numeric]

    def line(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{_words(text)}</{tag}>'
            for text, side in zip(texts, styles, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = f"<thead>{line('th', used.columns)}</thead>" if any(used.columns) else ""
    rows = "".join(line("td", (cell.text for cell in row)) for row in used.rows)
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return labelled lines, as commands print them, as a table without a head."""
    return table(Table("", ("", ""), tuple((Cell(name), Cell(words)) for name, words in rows)))


def remarks(texts: Sequence[str]) -> str:
    """Return a list of remarks; nothing where there are none."""
    items = "".join(f"<li>{_words(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def source(code: str, title: str) -> str:
    """Return source code that unfolds."""
    return (
        f"<details><summary>{_words(title)}</summary><pre><code>{escape(code)}</code></pre>"
        "</details>"
    )


def _words(text: str) -> str:
    """Return words from outside: never markup, and without control characters."""
    return str(escape(clean_line(text)))
