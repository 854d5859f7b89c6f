"""Argument parsers, generated from the settings where they are settings."""

from __future__ import annotations

import argparse
import difflib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from promptpo import config
from promptpo.config import RunConfig
from promptpo.config_values import shown
from promptpo.errors import UsageError
from promptpo.ui.terminal import say
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
    "list": Command("listing", "the shipped specs, and the runs so far"),
    "report": Command("report", "one page that shows what a run did, or several runs"),
    "view": Command("view", "reports in a browser, following runs that are going on"),
    "new": Command("new", "write a first spec file for a Gymnasium environment"),
    "record": Command("record", "turn a run into a recording that can be replayed"),
    "export": Command("export", "take the best policy of a run away, to use it elsewhere"),
    "repair": Command("repair", "set aside what cannot be read of a run's files"),
    "compare": Command("compare", "runs side by side: scores, tests, learning curves"),
}

GROUPS = {
    "task": "task",
    "model": "language model",
    "search": "search",
    "limits": "limits: the run stops cleanly at the first one reached",
    "machine": "machine",
}


def nearest(word: str, known: Iterable[str]) -> str:
    """``did you mean '--rounds'?``, or what there is to choose from."""
    names = list(known)
    near = difflib.get_close_matches(word, names, 1, 0.6)
    return f"did you mean '{near[0]}'?" if near else f"choose from {', '.join(names)}"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are UsageErrors that name the nearest option."""

    def __init__(self, command: str, epilog: str = "") -> None:
        width = min(shutil.get_terminal_size().columns, 100) - 2
        super().__init__(
            prog="promptpo" if command == "run" else f"promptpo {command}",
            description=COMMANDS[command].help[:1].upper() + COMMANDS[command].help[1:] + ".",
            epilog=epilog,
            allow_abbrev=False,
            add_help=False,
            formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=30, width=width
            ),
        )

    def finish(self) -> Parser:
        """Add what every command has, as the last group of the help."""
        other = self.add_argument_group("other")
        other.add_argument("-h", "--help", action="help", help="show this and exit")
        version = f"promptpo {__version__}"
        other.add_argument("--version", action="version", version=version, help="show it and exit")
        return self

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Parse, or raise UsageError."""
        known, unknown = self.parse_known_args(args, namespace)
        if unknown:
            raise UsageError(self._unknown(unknown[0]))
        return known

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Print help or version; unlike argparse's own, this one hides no error."""
        say(message.rstrip("\n"), file)

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, in promptpo's own form."""
        raise UsageError(message.removeprefix("argument "))

    def _unknown(self, word: str) -> str:
        name = word.split("=", maxsplit=1)[0]
        if not name.startswith("-"):
            return f"unexpected argument '{word}'; see {self.prog} --help"
        # Without their dashes, which would make any two short options look alike.
        options = {
            o.lstrip("-"): o
            for a in self._actions
            if a.help != argparse.SUPPRESS
            for o in a.option_strings
        }
        near = difflib.get_close_matches(name.lstrip("-").replace("_", "-"), options, 1, 0.75)
        hint = f"did you mean '{options[near[0]]}'?" if near else f"see {self.prog} --help"
        return f"unknown option '{name}'; {hint}"


def add_out(to: argparse._ActionsContainer) -> None:
    """Add ``--out`` to a parser or a group of one that takes the names of runs."""
    default = RunConfig.out
    words = f"where runs lie (default: {default})"
    to.add_argument("--out", type=Path, default=Path(default), metavar="DIR", help=words)


def add_preset(to: argparse._ActionsContainer) -> None:
    """Add ``--preset``, whose help tells what each one sets."""
    named = "; ".join(
        f"{name}: " + ", ".join(k if v is True else f"{k} {v}" for k, v in values.items())
        for name, values in config.PRESETS.items()
    )
    words = named.replace("_", " ")
    to.add_argument("--preset", choices=tuple(config.PRESETS), metavar="NAME", help=words)


def add_settings(
    parser: Parser,
    names: Iterable[str],
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    words: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add settings of RunConfig as options, in groups; what is not given is not in the result.

    ``words`` say what some of them mean to a command that plays episodes and does not search.
    """
    titles = GROUPS | ({"search": "episodes"} if words else {})
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name in names:
        f = config.fields()[name]
        key = f.metadata["group"]
        if key not in groups:
            groups[key] = parser.add_argument_group(titles[key])
        if config.value_type(name) is bool:
            _add_switch(groups[key], name, f.metadata["help"], on=not f.default)
        else:
            groups[key].add_argument(
                *aliases.get(name, ()),
                config.flag(name),
                dest=name,
                default=argparse.SUPPRESS,
                action=_Listing if f.metadata["several"] else "store",
                type=converter(config.value_type(name)),
                metavar=_metavar(name),
                help=_help(name, words.get(name)),
            )


#: Settings of a run that matter where a policy is played again.
PLAYING = (
    "spec",
    "published_prompt",
    "test_episodes",
    "seed",
    "policy_seed",
    "workers",
    "sandbox",
    "act_timeout",
    "episode_timeout",
    "env_timeout",
    "policy_lifetime",
)

#: What stands below the help of commands that play the policy of a run, or a policy's file.
PLAYING_NOTE = "What is not given is as it was in the run; a policy's file needs --spec."


def add_playing(parser: Parser, purpose: str, *also: str) -> None:
    """Add the settings of a command that plays held-out episodes for a purpose.

    ``also`` are other names of the option that says how many.
    """
    words = {
        "test_episodes": f"held-out episodes to {purpose}",
        "seed": "seed of the held-out episodes",
        "policy_seed": "seed of the policy's own random numbers (default: the run's; for a file,"
        " from its text)",
    }
    add_settings(parser, PLAYING, {"test_episodes": also}, words)


class _Listing(argparse.Action):
    """An option that may be repeated: its values, separated by commas."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - argparse's signature
        option_string: str | None = None,
    ) -> None:
        """Add one value to those before it."""
        before = getattr(namespace, self.dest, "")
        setattr(namespace, self.dest, f"{before},{values}" if before else values)


def _add_switch(group: argparse._ArgumentGroup, name: str, text: str, *, on: bool) -> None:
    word = name.replace("_", "-")
    shown, hidden = (f"--{word}", f"--no-{word}") if on else (f"--no-{word}", f"--{word}")
    group.add_argument(
        shown,
        dest=name,
        action="store_const",
        const=on,
        default=argparse.SUPPRESS,
        help=text if on else f"do not {text}",
    )
    # The opposite overrides what a --config file says; it needs no line in the help.
    group.add_argument(
        hidden,
        dest=name,
        action="store_const",
        const=not on,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


def _metavar(name: str) -> str:
    meta = config.fields()[name].metadata
    if meta["choices"]:
        return "|".join(meta["choices"])
    kinds = {int: "N", float: "X", str: name.upper()}
    return meta["metavar"] or kinds[config.value_type(name)]


def _help(name: str, words: str | None) -> str:
    f = config.fields()[name]
    text: str = (words or f.metadata["help"]).replace("%", "%%")
    if f.default is None or f.default == "":
        return text
    default = f"{f.default:g}" if isinstance(f.default, float) else f.default
    return f"{text} (default: {default})"


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
