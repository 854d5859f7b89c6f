"""``promptpo view [RUN]``: reports in a browser, following runs that are going on."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, converter
from promptpo.common import text
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
        help="port to listen on; 0: a free one (default: 8321)",
    )
    p.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1)",
    )
    p.add_argument(
        "--public", action="store_true", help="allow a --host that other machines can reach"
    )
    p.add_argument("--open", action="store_true", help="open the page in a browser")
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    from promptpo.view import Site, open_server

    out: Path = arguments.out
    if arguments.run is None:
        site = Site(lambda: runs.all_runs(out), text.near_path(out))
    else:
        folder = runs.find(arguments.run, out)
        site = Site(lambda: [folder], text.near_path(folder.parent), only=True)
    server = open_server(site, arguments.host, arguments.port, public=arguments.public)
    with contextlib.suppress(KeyboardInterrupt), server:
        say(f"{server.url}  (Ctrl-C ends it)")
        if arguments.open:
            import webbrowser

            webbrowser.open(server.url)
        server.serve_forever()
    return 0
