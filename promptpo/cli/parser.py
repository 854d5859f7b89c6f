"""The commands, the argument parser that each of them fills, and settings as options."""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from promptpo import config
from promptpo.common.plaintext import unknown_name
from promptpo.common.terminal import columns, say
from promptpo.config import RunConfig, Setting
from promptpo.errors import UsageError
from promptpo.presets import PRESETS
from promptpo.version import __version__


@dataclass(frozen=True)
class Command:
    """A sub-command: a module here, one line of help, and the function that carries it out.

    ``NAME_parser`` beside the function ``NAME`` returns its parser; for ``main``, ``parser``.
    """

    module: str
    help: str
    function: str = "main"

    def parser(self) -> Parser:
        """Return its argument parser."""
        name = "parser" if self.function == "main" else f"{self.function}_parser"
        parser: Parser = getattr(self._imported(), name)()
        return parser

    def main(self, arguments: argparse.Namespace) -> int:
        """Carry it out; returns the exit code."""
        code: int = getattr(self._imported(), self.function)(arguments)
        return code

    def _imported(self) -> object:
        return importlib.import_module(f"promptpo.cli.{self.module}")


COMMANDS = {
    "run": Command("run", "search for a policy (what happens where no command is named)"),
    "finish": Command("run", "select and test now, of a run that has not ended", "finish"),
    "prompt": Command("specs", "print exactly what a model would be sent", "prompt"),
    "check": Command("specs", "hold specs against their live environments", "check"),
    "eval": Command("policies", "score a policy file, or the best policy of a run", "evaluate"),
    "video": Command("policies", "film the best, median and worst episode of a policy", "video"),
    "list": Command("views", "the specs that have names, and the runs so far", "list_all"),
    "report": Command("views", "one page that shows what a run did, or several runs", "report"),
    "view": Command("views", "reports in a browser, following runs that are going on", "view"),
    "new": Command("specs", "write a first spec file: for a Gymnasium id, or your own task", "new"),
    "tune": Command("policies", "let an optimizer choose the numbers of a policy", "tune"),
    "export": Command(
        "policies", "take a run's policy, or its replies, to use them elsewhere", "export"
    ),
    "compare": Command("views", "runs side by side: scores, tests, learning curves", "compare"),
    "bench": Command("bench", "methods on the same specs, seeds and budget, compared"),
    "help": Command("help", "the commands, the options of one, or all settings"),
}

USAGE = "promptpo SPEC [options]\n       promptpo COMMAND ..."

#: Titles of the groups of settings in a command's help, in their order.
GROUPS = {
    "task": "task",
    "model": "language model",
    "search": "search",
    "tuning": "tuning",
    "preparing": "preparing",
    "limits": "limits: the run stops cleanly at the first one reached",
    "machine": "machine",
}

#: Values that begin with a dash: ``--target -1e3``.
_NUMBER = re.compile(r"-(\d|\.\d|inf|nan)", re.IGNORECASE)


def commands_help() -> str:
    """Return the commands, one a line."""
    lines = "\n".join(f"  {name:11} {c.help}" for name, c in COMMANDS.items())
    return f"commands (each: promptpo help COMMAND):\n{lines}"


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return ``did you mean '--rounds'?``, or what there is to choose from."""
    names = list(choices)
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
        self._negative_number_matcher = _NUMBER  # argparse's own takes -1e3 for an option

    def finish(self) -> Parser:
        """Add what every command has, as the last group of the help."""
        other = self.add_argument_group("other")
        other.add_argument("-h", "--help", action="help", help="show this and exit")
        version = f"promptpo {__version__}"
        other.add_argument("--version", action="version", version=version, help="show it and exit")
        return self

    def takes_value(self, option: str) -> bool | None:
        """Return whether the next word is an option's value; None for an unknown option."""
        action = self._option_string_actions.get(option)
        return None if action is None else action.nargs != 0

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Parse options and words, which may stand in any order, or raise UsageError."""
        namespace, rest = self.parse_known_intermixed_args(args, namespace)
        if rest and is_option(rest[0]):
            raise UsageError(self._unknown(rest[0].partition("=")[0]))
        if rest:
            raise UsageError(f"unexpected argument '{rest[0]}'; see {self.prog} --help")
        return namespace

    def _print_message(self, message: str, file: Any = None) -> None:  # noqa: ANN401
        """Print help or version to what is standard output; argparse's own hides errors."""
        say(message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting, in promptpo's own form."""
        raise UsageError(message.removeprefix("argument "))

    def _unknown(self, option: str) -> str:
        """Return the complaint of an unknown option, with the nearest one, or the setting."""
        from promptpo.run.settings import all_settings, owners_of

        word = option.lstrip("-").replace("-", "_")
        settings = all_settings()
        name = word if word in settings else word.removeprefix("no_")
        own = config.fields(RunConfig)
        if "--set" in self._option_string_actions and (
            (name in own and (name not in config.OPTIONS or name != word)) or owners_of(name)
        ):
            switch = name in settings and settings[name].kind is bool
            value = "false" if name != word else "true" if switch else "VALUE"
            where = "" if name in own else f", with --method {owners_of(name)}"
            return f"unknown option '{option}'; write --set {name}={value}{where}"
        # Without their dashes, which would make any two short options look alike.
        options = {o.lstrip("-"): o for a in self._actions for o in a.option_strings}
        near = difflib.get_close_matches(word.replace("_", "-"), options, 1, 0.75)
        hint = f"did you mean '{options[near[0]]}'?" if near else f"see {self.prog} --help"
        return f"unknown option '{option}'; {hint}"


def is_option(word: str) -> bool:
    """Return whether a word of a command line is an option, and no value such as -1e3."""
    return word.startswith("-") and word not in ("-", "--") and not _NUMBER.match(word)


class _Formatter(argparse.HelpFormatter):
    """Wraps paragraphs, and leaves lists, whose lines are indented, as they stand."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join(p if "\n  " in p else textwrap.fill(p, width) for p in paragraphs)


def add_settings(
    parser: Parser,
    names: Iterable[str],
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    words: Mapping[str, str] = MappingProxyType({}),
    *,
    methods: bool = False,
) -> None:
    """Add settings as options, in groups; what is not given is not in the result.

    Those without an option of their own, and with ``methods`` the options of search methods, are
    given by ``--set``. ``words`` say what some of them mean to a command that plays episodes and
    does not search.
    """
    declared = config.fields(RunConfig)
    taken = {name: declared[name] for name in names}
    titles = GROUPS | ({"search": "episodes"} if words else {})
    for group, title in titles.items():
        options = [taken[n] for n in config.OPTIONS if n in taken and taken[n].group == group]
        if not options:
            continue
        added = parser.add_argument_group(title)
        for s in options:
            _add_option(added, s, aliases.get(s.name, ()), words.get(s.name, s.help))
    rare = [name for name in taken if name not in config.OPTIONS]
    if methods:
        text = "any other setting, or an option of the method: `promptpo help settings` shows them"
    else:
        text = f"one of {', '.join(rare)}: `promptpo help settings` says what they are"
    parser.add_argument(
        "--set", action=_Set, settings=None if methods else taken, metavar="NAME=VALUE", help=text
    )


def _add_option(
    group: argparse._ArgumentGroup, s: Setting, aliases: Sequence[str], words: str
) -> None:
    if s.kind is bool:
        group.add_argument(
            s.flag, dest=s.name, action="store_true", default=argparse.SUPPRESS, help=words
        )
        return
    kinds = {int: "N", float: "X", str: s.name.upper()}
    choices = () if "auto" in s.words and s.kind is not str else s.words
    group.add_argument(
        *aliases,
        s.flag,
        dest=s.name,
        default=argparse.SUPPRESS,
        action=_Listing if s.several else "store",
        type=s.read,
        metavar="|".join(s.several or choices) or s.metavar or kinds[s.kind],
        help=help_of(words, s.default),
    )


def help_of(words: str, default: object) -> str:
    """Return help with the default, as argparse formats it."""
    text = words.replace("%", "%%")
    if default is None or default == "":
        return text
    shorter = f"{default:g}" if isinstance(default, float) else str(default)
    return f"{text} (default: {shorter.lower() if isinstance(default, bool) else shorter})"


def add_preset(to: argparse._ActionsContainer) -> None:
    """Add ``--preset``, whose help says what each one sets."""
    values = "; ".join(
        f"{preset}: " + ", ".join(f"{k} {str(v).lower()}" for k, v in settings.items())
        for preset, settings in PRESETS.items()
    )
    to.add_argument("--preset", type=_preset, metavar="|".join(PRESETS), help=values)


def _preset(name: str) -> str:
    if name not in PRESETS:
        raise UsageError(unknown_name("preset", name, PRESETS))
    return name


class _Listing(argparse.Action):
    """An option that may be repeated: its values, separated by commas."""

    def __call__(self, _: object, namespace: argparse.Namespace, value: Any, *__: object) -> None:  # noqa: ANN401
        """Add one value to those before it."""
        before = getattr(namespace, self.dest, "")
        setattr(namespace, self.dest, f"{before},{value}" if before else value)


class _Set(argparse.Action):
    """``--set NAME=VALUE``, where NAME is one of ``settings``, or if that is None any setting."""

    def __init__(
        self, option_strings: Sequence[str], dest: str, settings: Mapping[str, Setting] | None,
        metavar: str, help: str,
    ) -> None:  # fmt: skip
        super().__init__(option_strings, argparse.SUPPRESS, metavar=metavar, help=help)
        self.settings = settings

    def __call__(self, _: object, namespace: argparse.Namespace, value: Any, *__: object) -> None:  # noqa: ANN401
        """Read the value, and have it beside the options. Raises UsageError."""
        key, equals, text = value.partition("=")
        name = key.strip().replace("-", "_")
        settings = config.fields(RunConfig) if self.settings is None else self.settings
        if not equals:
            raise UsageError(f"--set {value}: write it as NAME=VALUE, as in --set act_timeout=2")
        if name in settings:
            setattr(namespace, name, settings[name].read(text))
        elif self.settings is None and name not in ("methods", "options"):
            setattr(namespace, name, config.literal(text))  # of a method: checked once it is known
        else:
            raise UsageError(unknown_name("setting", key, settings))


def add_out(to: argparse._ActionsContainer) -> None:
    """Add ``--out`` to a parser or a group of one that takes the names of runs."""
    default = RunConfig.out
    words = f"where runs lie (default: {default})"
    to.add_argument("--out", type=Path, default=Path(default), metavar="DIR", help=words)


def number(name: str, kind: type, least: float, most: float) -> Callable[[str], Any]:
    """Return an argparse type: a number from ``least`` to ``most``."""
    return Setting(name, None, kind, (), False, "", None, (least, most), "", False, ()).read
