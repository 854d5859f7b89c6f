"""``promptpo help [COMMAND]``: what there is, or the options of a command."""

from __future__ import annotations

import argparse
import importlib

from promptpo.cli import run
from promptpo.cli.parser import BY_METHOD, COMMANDS, USAGE, Parser, commands_help, nearest
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import UsageError


def parser() -> Parser:
    """The command."""
    p = Parser("help")
    p.add_argument("command", nargs="?", metavar="COMMAND", help="the command to tell of")
    words = "the search method whose options are to be told, too"
    p.add_argument("--method", default=RunConfig.method, metavar="METHOD", help=words)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    name: str | None = arguments.command
    if name is None:
        options = "options of a search: promptpo run --help"
        say(f"usage: {USAGE}\n\n{commands_help()}\n\n{options}\n\n{run.EXAMPLES}")
        return 0
    if name not in COMMANDS:
        raise UsageError(f"unknown command '{name}'; {nearest(name, COMMANDS)}")
    command = importlib.import_module(f"promptpo.cli.{COMMANDS[name].module}")
    about = [arguments.method] if name in BY_METHOD else []
    say(command.parser(*about).format_help().rstrip("\n"))
    return 0
