"""Tables of text, for terminals and for notebooks."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

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
