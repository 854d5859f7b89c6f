"""The commands, and the argument parser that each of them fills."""

from __future__ import annotations

import argparse
import difflib
import os
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from promptpo.cli.words import options_first, parts
from promptpo.common.terminal import columns, say
from promptpo.common.values import shown
from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.version import __version__


@dataclass(frozen=True)
class Command:
    """A sub-command: the module under ``promptpo.cli`` that holds it, and one line of help."""

    module: str
    help: str


COMMANDS = {
    "run": Command("run", "search for a policy (what happens where no command is named)"),
    "prompt": Command("prompt", "print exactly what a model would be sent"),
    "check": Command("check", "hold specs against their live environments"),
    "eval": Command("evaluate", "score a policy file, or the best policy of a run"),
    "video": Command("video", "film the best, median and worst episode of a policy"),
    "list": Command("listing", "the specs that have names, and the runs so far"),
    "report": Command("report", "one page that shows what a run did, or several runs"),
    "view": Command("view", "reports in a browser, following runs that are going on"),
    "new": Command("new", "write a first spec file: for a Gymnasium id, or your own task"),
    "tune": Command("tune", "let an optimizer choose the numbers of a policy"),
    "export": Command("export", "take a run's policy, or its replies, to use them elsewhere"),
    "compare": Command("compare", "runs side by side: scores, tests, learning curves"),
    "bench": Command("bench", "methods on the same specs, seeds and budget, compared"),
    "help": Command("help", "what there is, or the options of a command"),
}

#: Commands whose options depend on the method.
BY_METHOD = ("run", "prompt")

USAGE = "promptpo SPEC [options]\n       promptpo COMMAND ..."


def commands_help() -> str:
    """The commands, one a line."""
    lines = "\n".join(f"  {name:11} {c.help}" for name, c in COMMANDS.items())
    return f"commands (promptpo help COMMAND):\n{lines}"


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean '--rounds'?``, or what there is to choose from."""
    names = list(known)
    near = difflib.get_close_matches(word, names, 1, 0.6)
    return f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(names)}"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are UsageErrors that name the nearest option."""

    def __init__(self, command: str, epilog: str = "") -> None:
        width = min(columns(), 100) - 2
        super().__init__(
            prog="promptpo" if command == "run" else f"promptpo {command}",
            description=COMMANDS[command].help[:1].upper() + COMMANDS[command].help[1:] + ".",
            epilog=epilog,
            allow_abbrev=False,
            add_help=False,
            formatter_class=lambda prog: _Formatter(prog, max_help_position=30, width=width),
        )
        self._positionals.title = "arguments"

    def explain(self, name: str) -> str:
        """What there is to know of an option that the parser does not; may be empty."""
        return ""

    def finish(self) -> Parser:
        """Add what every command has, as the last group of the help."""
        other = self.add_argument_group("other")
        other.add_argument("--no-color", action=_NoColor, help="no colours (as with NO_COLOR=1)")
        other.add_argument("-h", "--help", action="help", help="show this and exit")
        version = f"promptpo {__version__}"
        other.add_argument("--version", action="version", version=version, help="show it and exit")
        return self

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Parse options and words, which may stand in any order, or raise UsageError."""
        argv = list(args or ())
        for part in parts(argv, self):
            if part.name and part.action is None:
                raise UsageError(self._unknown(part.name))
            if part.action is not None and part.action.nargs is None and part.value is None:
                raise UsageError(f"{part.name}: expected one argument")
        known, left = self.parse_known_args(options_first(argv, self), namespace)
        if left:
            raise UsageError(f"unexpected argument '{left[0]}'; see {self.prog} --help")
        return known

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Print help or version to what is standard output; argparse's own hides errors."""
        say(message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, in promptpo's own form."""
        raise UsageError(message.removeprefix("argument "))

    def _unknown(self, name: str) -> str:
        # Without their dashes, which would make any two short options look alike.
        options = {
            o.lstrip("-"): o
            for a in self._actions
            if a.help != argparse.SUPPRESS
            for o in a.option_strings
        }
        near = difflib.get_close_matches(name.lstrip("-").replace("_", "-"), options, 1, 0.75)
        hint = f"did you mean '{options[near[0]]}'?" if near else f"see {self.prog} --help"
        return f"unknown option '{name}'; {self.explain(name) or hint}"


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs, and leaves lists, whose lines are indented, as they stand."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(p if "\n  " in p else textwrap.fill(p, width) for p in paragraphs)


class _NoColor(argparse.Action):
    """An option that turns colours off, in this process and in those that it starts."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, *_: object) -> None:
        """Say so in the way that every library knows (https://no-color.org)."""
        os.environ["NO_COLOR"] = "1"


def add_out(to: argparse._ActionsContainer) -> None:
    """Add ``--out`` to a parser or a group of one that takes the names of runs."""
    default = RunConfig.out
    words = f"where runs lie (default: {default})"
    to.add_argument("--out", type=Path, default=Path(default), metavar="DIR", help=words)


def converter(kind: type, least: float | None = None, most: float = 0) -> Callable[[str], Any]:
    """An argparse type whose complaint says what the value must be; ``least`` to ``most``."""

    def convert(text: str) -> Any:  # noqa: ANN401
        try:
            value = kind(text)
        except ValueError:
            words = {int: "a whole number", float: "a number"}
            raise argparse.ArgumentTypeError(f"must be {words[kind]}, not {shown(text)}") from None
        if least is not None and not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"must be from {least:g} to {most:g}, not {shown(value)}"
            )
        return value

    return convert


def one_of(names: Iterable[str]) -> Callable[[str], str]:
    """An argparse type: one of some names; its complaint tells the nearest."""
    known = tuple(names)

    def convert(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not known; {nearest(text, known)}")
        return text

    return convert
