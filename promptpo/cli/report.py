"""``promptpo report RUN...``: one self-contained page on a run, or on several."""

from __future__ import annotations

import argparse
from pathlib import Path

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common import text
from promptpo.common.terminal import say

#: Where the report of several runs goes unless --to says otherwise.
_SEVERAL = Path("report.html")


def parser() -> Parser:
    """The runs, and where the page goes."""
    p = Parser("report")
    p.add_argument("runs", nargs="*", metavar="RUN", help=f"{runs.SEVERAL} (default: latest)")
    p.add_argument(
        "--to",
        type=Path,
        metavar="FILE",
        help=f"the page (default: report.html in the run's folder; of several: {_SEVERAL} here)",
    )
    p.add_argument(
        "--inline-videos", action="store_true", help="put the videos into the page, not beside it"
    )
    p.add_argument("--open", action="store_true", help="open the page in a browser")
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.report import write_report

    folders = runs.find_all(arguments.runs or ["latest"], arguments.out)
    to = arguments.to or (_SEVERAL if len(folders) > 1 else None)
    file = write_report(folders, to, inline_videos=arguments.inline_videos)
    say(text.near_path(file))
    if arguments.open:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())
    return 0
