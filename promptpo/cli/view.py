"""``promptpo view [RUN]``: reports in a browser, following runs that are going on."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, converter
from promptpo.common.terminal import say


def parser() -> Parser:
    """The run, and where the server listens."""
    p = Parser("view")
    p.add_argument("run", nargs="?", metavar="RUN", help=f"{runs.NAMES} (default: all runs)")
    p.add_argument(
        "--port",
        type=converter(int, 0, 65_535),
        default=8321,
        metavar="N",
        help="port on 127.0.0.1; 0: a free one (default: 8321)",
    )
    p.add_argument("--open", action="store_true", help="open the page in a browser")
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from promptpo.view import PageServer

    out: Path = arguments.out
    if arguments.run is None:
        server = PageServer(lambda: runs.all_runs(out), out, arguments.port)
    else:
        folder = runs.find(arguments.run, out).resolve()
        server = PageServer(lambda: [folder], folder.parent.parent, arguments.port, only=True)
    with contextlib.suppress(KeyboardInterrupt), server:
        say(f"{server.url}  (Ctrl-C ends it)")
        if arguments.open:
            import webbrowser

            webbrowser.open(server.url)
        server.serve_forever()
    return 0
