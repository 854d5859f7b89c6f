"""``promptpo compare RUN RUN...``: scores, tests and learning curves of runs side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.streams import output
from promptpo.common.terminal import named, say
from promptpo.common.values import listed
from promptpo.errors import UsageError
from promptpo.ui.tables import console_of

#: Where files go unless --to says otherwise.
_FOLDER = Path("comparison")


def parser() -> Parser:
    """The runs, and what to write of them."""
    p = Parser(
        "compare",
        epilog="Runs that differ in nothing but their seed are one group; each spec has tables and"
        " axes of its own. docs/runs.md says how the intervals and tests are made.",
    )
    p.add_argument("runs", nargs="+", metavar="RUN", help=runs.SEVERAL)
    add_out(p)
    files = p.add_argument_group("files")
    files.add_argument(
        "--to", type=Path, metavar="DIR",
        help=f"folder for the files (default: {_FOLDER}); alone it means all of them",
    )  # fmt: skip
    files.add_argument(
        "--format", type=listed, default=(), metavar="csv,png,svg",
        help="files to write: scores, tests and curves as numbers; learning curves, 3.25 inches"
        " wide; the same with text as text, for papers",
    )  # fmt: skip
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.comparison import FORMATS, Comparison

    compared = Comparison.of(runs.find_all(arguments.runs, arguments.out))
    formats = arguments.format or (FORMATS if arguments.to else ())
    contents = compared.files(formats)  # before the tables: what is missing is said at once
    with named(output()):
        compared.print(console_of(output()))
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
