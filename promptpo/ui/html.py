"""Results as HTML, for notebooks: tables that take the notebook's own style."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import escape

from promptpo.common.plaintext import clean_line
from promptpo.ui.tables import NUMBERS, Row, Table


def heading(text: str) -> str:
    """A line above a table."""
    return f"<p><b>{_words(text)}</b></p>"


def table(shown: Table) -> str:
    """A table, without the columns in which no row has anything."""
    styles = ["right" if shown.header[i] in NUMBERS else "left" for i in shown.used]

    def line(tag: str, row: Row) -> str:
        cells = zip((row[i] for i in shown.used), styles, strict=True)
        return "".join(
            f'<{tag} style="text-align: {side}">{_words(cell)}</{tag}>' for cell, side in cells
        )

    head = f"<thead><tr>{line('th', shown.header)}</tr></thead>" if any(shown.header) else ""
    rows = "".join(f"<tr>{line('td', row)}</tr>" for row in [*shown.rows, *shown.more])
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Labelled lines, as commands print them, as a table without a head."""
    return table(Table(("", ""), rows))


def remarks(texts: Sequence[str]) -> str:
    """A list of remarks; nothing where there are none."""
    items = "".join(f"<li>{_words(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def source(code: str, title: str) -> str:
    """Source code that unfolds."""
    return (
        f"<details><summary>{_words(title)}</summary><pre><code>{escape(code)}</code></pre>"
        "</details>"
    )


def _words(text: str) -> str:
    """Words from outside: never markup, and without control characters."""
    return str(escape(clean_line(text)))
