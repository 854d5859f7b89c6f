"""``promptpo compare RUN RUN...``: scores, tests and learning curves of runs side by side."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.errors import UsageError
from promptpo.plaintext import clean_line
from promptpo.store.files import write_atomically
from promptpo.ui import text
from promptpo.ui.terminal import named, say

if TYPE_CHECKING:
    from rich.console import Console

    from promptpo.comparison.groups import Panel
    from promptpo.comparison.tables import Row

#: Where files go unless --to says otherwise.
_FOLDER = Path("comparison")

#: Columns where the output is no terminal.
_WIDTH = 120

#: Columns of numbers.
_NUMBERS = {
    *("runs", "seed", "success", "return", "steps", "cost"),
    *("a - b, 95% interval", "p", "p (Holm)"),
}


def parser() -> Parser:
    """The runs, and what to write of them."""
    p = Parser(
        "compare",
        epilog="Runs that differ in nothing but their seed are one group; each spec has tables and"
        "\naxes of its own. docs/runs.md says how the intervals and tests are made.",
    )
    p.add_argument("runs", nargs="+", metavar="RUN", help="folders of runs, or 'latest'")
    add_out(p)
    files = p.add_argument_group("files")
    files.add_argument(
        "--to", type=Path, metavar="DIR",
        help=f"folder for the files (default: {_FOLDER}); alone it means all of them",
    )  # fmt: skip
    files.add_argument("--csv", action="store_true", help="scores, tests and curves as numbers")
    files.add_argument("--png", action="store_true", help="learning curves, 3.25 inches wide")
    files.add_argument("--svg", action="store_true", help="the same with text as text, for papers")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.comparison.groups import panels
    from promptpo.comparison.history import read_history

    folders = [runs.find(name, arguments.out) for name in arguments.runs]
    unique = {folder.resolve(): folder for folder in folders}
    found = panels([read_history(folder) for folder in unique.values()])
    formats = [name for name in ("csv", "png", "svg") if getattr(arguments, name)]
    if arguments.to and not formats:
        formats = ["csv", "png", "svg"]
    contents = _contents(found, formats)  # before the tables: what is missing is said at once
    with named(sys.stdout):
        show(found)
    folder = arguments.to or _FOLDER
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
            say(text.near_path(folder / name))
    except OSError as e:
        raise UsageError(
            f"{folder}: {e.strerror}; give --to a folder that can be written"
        ) from None
    return 0


def _contents(found: Sequence[Panel], formats: Sequence[str]) -> dict[str, str | bytes]:
    contents: dict[str, str | bytes] = {}
    if "csv" in formats:
        from promptpo.comparison.csv_files import csv_files

        contents |= csv_files(found)
    if drawn := [name for name in formats if name != "csv"]:
        from promptpo.comparison.plot import figures

        contents |= figures(found, drawn)
    return contents


def show(found: Sequence[Panel]) -> None:
    """Print the tables of each spec, then what must be known to read them."""
    from rich.console import Console

    from promptpo.comparison import tables

    width = shutil.get_terminal_size((_WIDTH, 24)).columns if sys.stdout.isatty() else _WIDTH
    console = Console(width=width, highlight=False, emoji=False, markup=False)
    for panel in found:
        console.print(
            f"{clean_line(panel.name)}: held-out scores, mean and 95% interval", style="bold"
        )
        references = tables.reference_rows(panel)
        _print(console, tables.SCORES, tables.score_rows(panel), references)
        if rows := tables.contrast_rows(panel):
            _print(console, tables.CONTRASTS, rows)
        _print(console, tables.RUNS, tables.run_rows(panel))
    for note in tables.notes(found):
        console.print(f"- {clean_line(note)}", style="dim")


def _print(console: Console, header: Row, rows: Sequence[Row], more: Sequence[Row] = ()) -> None:
    """A table without the columns in which no row has anything; ``more`` rows come apart."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False,
        show_edge=False,
    )  # fmt: skip
    used = [i for i in range(len(header)) if any(row[i] for row in [*rows, *more])]
    for i in used:
        right = header[i] in _NUMBERS
        table.add_column(header[i], justify="right" if right else "left", overflow="fold")
    for number, row in enumerate([*rows, *more]):
        style = "dim" if number >= len(rows) else None
        table.add_row(*(clean_line(row[i]) for i in used), style=style)
    console.print(table)
    console.print()
