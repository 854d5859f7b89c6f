"""Tables of text, for terminals and, as HTML in the notebook's own style, for notebooks."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from markupsafe import escape

from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import columns

if TYPE_CHECKING:
    from rich.console import Console

Row = tuple[str, ...]

#: Columns of numbers, by their heads: they are aligned to the right.
NUMBERS = {
    *("runs", "seed", "success", "return", "steps", "cost"),
    *("a - b, 95% interval", "p", "p (Holm)"),
}

#: Columns of a table as text, where no terminal says otherwise.
WIDTH = 120


class Table(NamedTuple):
    """Rows under a header; ``more`` are rows of another kind, which are shown faintly."""

    header: Row
    rows: Sequence[Row]
    more: Sequence[Row] = ()

    @property
    def used(self) -> list[int]:
        """The columns in which some row has something."""
        rows = [*self.rows, *self.more]
        return [i for i in range(len(self.header)) if any(row[i] for row in rows)]


def console_of(stream: TextIO) -> Console:
    """Return a console for tables, as wide as the terminal: words from outside are never markup."""
    from rich.console import Console

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
    """Print the columns of a table that are used, and an empty line."""
    from rich import box
    from rich import table as rich_table

    grid = rich_table.Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False,
        show_edge=False,
    )  # fmt: skip
    for i in table.used:
        right = table.header[i] in NUMBERS
        grid.add_column(table.header[i], justify="right" if right else "left", overflow="fold")
    for number, row in enumerate([*table.rows, *table.more]):
        style = "dim" if number >= len(table.rows) else None
        grid.add_row(*(clean_line(row[i]) for i in table.used), style=style)
    console.print(grid)
    console.print()


def html_heading(text: str) -> str:
    """Return a line above a table."""
    return f"<p><b>{_words(text)}</b></p>"


def html_table(table: Table) -> str:
    """Return a table as HTML, without the columns in which no row has anything."""
    sides = ["right" if table.header[i] in NUMBERS else "left" for i in table.used]

    def line(tag: str, row: Row) -> str:
        cells = zip((row[i] for i in table.used), sides, strict=True)
        return "".join(
            f'<{tag} style="text-align: {side}">{_words(cell)}</{tag}>' for cell, side in cells
        )

    head = f"<thead><tr>{line('th', table.header)}</tr></thead>" if any(table.header) else ""
    rows = "".join(f"<tr>{line('td', row)}</tr>" for row in [*table.rows, *table.more])
    return f"<table>{head}<tbody>{rows}</tbody></table>"


def html_facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return labelled lines, as commands print them, as a table without a head."""
    return html_table(Table(("", ""), rows))


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
