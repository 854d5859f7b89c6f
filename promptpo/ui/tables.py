"""Tables of text, for terminals and for notebooks."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from promptpo.common.blocks import Table
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import columns

if TYPE_CHECKING:
    from rich.console import Console

#: Columns of a table as text, where no terminal says otherwise.
WIDTH = 120


def console_of(stream: TextIO) -> Console:
    """A console for tables, as wide as the terminal: words from outside are never markup."""
    from rich.console import Console

    width = columns(WIDTH) if stream.isatty() else WIDTH
    return Console(
        file=stream, width=width, highlight=False, emoji=False, markup=False, force_jupyter=False
    )


def printed(printer: Callable[[Console], None]) -> str:
    """What is printed, as plain text."""
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
