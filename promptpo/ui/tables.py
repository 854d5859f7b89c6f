"""Tables of text, for terminals and, as HTML in the notebook's own style, for notebooks."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from markupsafe import escape

from promptpo.common.blocks import Cell, Table
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import STATUS, columns

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a table as text, where no terminal says otherwise.
WIDTH = 120


def console_of(stream: TextIO) -> Console:
    """Return a console for tables, as wide as the terminal: words from outside are never markup."""
    from rich.console import Console

    STATUS.end()
    width = columns(WIDTH) if stream.isatty() else WIDTH
    return Console(
        file=stream, width=width, highlight=False, emoji=False, markup=False, force_jupyter=False
    )


def printed(printer: Callable[[Console], None]) -> str:
    """Return what a function prints, as plain text."""
    stream = io.StringIO()
    printer(console_of(stream))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def print_table(console: Console, table: Table) -> None:
    """Print a table without the columns in which no row has anything, and an empty line.

    Rows whose first cell is of the kind "faint" are dim.
    """
    from rich import box
    from rich import table as rich_table

    grid = rich_table.Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False,
        show_edge=False,
    )  # fmt: skip
    used = table.trimmed()
    for name, right in zip(used.columns, used.numeric, strict=True):
        grid.add_column(name, justify="right" if right else "left", overflow="fold")
    for row, whole in zip(used.rows, table.rows, strict=True):
        style = "dim" if whole[0].kind == "faint" else None
        grid.add_row(*(clean_line(cell.text) for cell in row), style=style)
    console.print(grid)
    console.print()


def html_heading(text: str) -> str:
    """Return a line above a table."""
    return f"<p><b>{_words(text)}</b></p>"


def html_table(table: Table) -> str:
    """Return a table as HTML, without the columns in which no row has anything."""
    used = table.trimmed()
    sides = ["right" if numeric else "left" for numeric in used.numeric]

    def line(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{_words(text)}</{tag}>'
            for text, side in zip(texts, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = f"<thead>{line('th', used.columns)}</thead>" if any(used.columns) else ""
    rows = "".join(line("td", (cell.text for cell in row)) for row in used.rows)
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def html_facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return labelled lines, as commands print them, as a table without a head."""
    return html_table(Table("", ("", ""), tuple((Cell(name), Cell(words)) for name, words in rows)))


def html_remarks(texts: Sequence[str]) -> str:
    """Return a list of remarks; nothing where there are none."""
    items = "".join(f"<li>{_words(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def html_source(code: str, title: str) -> str:
    """Return source code that unfolds."""
    block = f"<pre><code>{escape(code)}</code></pre>"
    return f"<details><summary>{_words(title)}</summary>{block}</details>"


def _words(text: str) -> str:
    """Return words from outside: never markup, and without control characters."""
    return str(escape(clean_line(text)))
