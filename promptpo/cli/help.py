"""``promptpo help``: the commands, the options of one, all settings; completion in shells."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from promptpo import config
from promptpo.cli import run
from promptpo.cli.parser import COMMANDS, USAGE, Parser, commands_help, help_of, nearest
from promptpo.common.terminal import columns, say
from promptpo.config import RunConfig
from promptpo.errors import UsageError

#: The options of a search that people use, in the words of an overview.
_COMMON = {
    "--model NAME": "openai/gpt-5, manual, builtin, ... (or a recording)",
    "--rounds N": f"rounds of candidates ({RunConfig.rounds})",
    "--candidates N": f"policies that are written in each round ({RunConfig.candidates})",
    "--episodes N": f"episodes that each of them plays ({RunConfig.episodes})",
    "--seeds 0..4": "a run for each seed, side by side",
    "--max-cost X": "stop before model calls cost more US dollars than this",
    "--tune": "let an optimizer find the numbers of policies",
    "--preset paper|quick": "the published method, or a first look",
    "--set NAME=VALUE": "any other setting: promptpo help settings",
    "--dry-run": "say what calls, tokens, dollars and steps to expect",
    "--resume RUN": "continue a run; 'latest' is one",
}


def parser() -> Parser:
    """Return the parser of ``help``."""
    p = Parser("help")
    words = "a command, for its options; 'settings', for all that --set and TOML files take"
    p.add_argument("topic", nargs="?", metavar="COMMAND", help=words)
    words = "with 'settings': the search method whose own are shown, too"
    p.add_argument("--method", default=RunConfig.method, metavar="METHOD", help=words)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Print help."""
    topic: str | None = arguments.topic
    if topic is None:
        say(overview())
    elif topic == "settings":
        _print_settings(arguments.method)
    elif topic in COMMANDS:
        say(COMMANDS[topic].parser().format_help().rstrip("\n"))
    else:
        raise UsageError(f"unknown command '{topic}'; {nearest(topic, [*COMMANDS, 'settings'])}")
    return 0


def overview() -> str:
    """Return usage, the options that people use, the commands and examples: one screen."""
    options = "\n".join(f"  {option:21} {words}" for option, words in _COMMON.items())
    options = f"options (promptpo help run has all of them):\n{options}"
    return f"usage: {USAGE}\n\n{options}\n\n{commands_help()}\n\n{run.EXAMPLES}"


def _print_settings(method: str) -> None:
    """Print each setting with its values, help and default, those of the method last."""
    from promptpo.methods import find_method

    chosen = find_method(method)
    usual, own = {**chosen.defaults, **chosen.fixed}, config.fields(chosen.Options)
    say("Keys of a TOML file, arguments of promptpo.optimize, and what --set NAME=VALUE takes")
    for title, settings in (("of every run", config.fields(RunConfig)), (f"of {method}", own)):
        if settings:
            say(f"\n{title}:")
        for s in settings.values():
            kinds = {int: "N", float: "X", str: "TEXT", bool: "true|false"}
            values = "|".join(s.words) if s.words and s.kind is str else kinds[s.kind]
            default = usual.get(s.name, s.default)
            words = help_of(s.help, default).replace("%%", "%")
            lines = textwrap.wrap(words, min(columns(), 100) - 7)
            say("\n      ".join([f"  {s.name}={values}", *lines]))


def complete() -> None:
    """Print what may come next on the line that the shell has put into the environment, and exit.

    Return where argcomplete is not installed.
    """
    try:
        import argcomplete
    except ImportError:
        return
    line = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
    start = int(os.environ["_ARGCOMPLETE"])  # so many words are the program
    before = line.split()[start : None if line[-1:].isspace() else -1]
    name = "run"
    if before and before[0] in COMMANDS:
        name = before[0]
        os.environ["_ARGCOMPLETE"] = str(start + 1)
    parser = COMMANDS[name].parser()
    for action in parser._actions:
        kinds = str(action.metavar or "")
        if not action.option_strings and not before:
            kinds += "_OR_COMMAND"
        if "|" in kinds or any(kind in _NAMES for kind in kinds.split("_OR_")):
            action.completer = _completer(kinds)  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser, always_complete_options=False)


def _completer(kinds: str) -> Callable[..., Iterable[str]]:
    """Return what argcomplete calls for the values that the help names so: ``SPEC``, ``on|off``."""
    from argcomplete.completers import FilesCompleter

    def words(prefix: str, **_: Any) -> Iterable[str]:  # noqa: ANN401 - what argcomplete passes
        if "|" in kinds:
            return [word for word in kinds.split("|") if not word.isupper()]
        names = [
            name for kind in kinds.split("_OR_") if kind in _NAMES for name in _NAMES[kind](prefix)
        ]
        files = {"SPEC", "POLICY", "RUN"} & set(kinds.split("_OR_"))
        return [*names, *(FilesCompleter(("py",))(prefix) if files else ())]

    return words


def _specs(prefix: str) -> Iterable[str]:
    from promptpo.spec import known_specs
    from promptpo.spec.catalog import families

    family, colon, _ = prefix.partition(":")
    if colon:
        return [f"{f.name}:{m}" for f in families() if f.name == family for m in f.members()]
    return [*known_specs(), *(f"{f.name}:" for f in families())]


def _runs(prefix: str) -> Iterable[str]:
    logs = Path(RunConfig.out).glob("*/*/events.jsonl")
    return ["latest", *{log.parents[1].name for log in logs}]


def _methods(prefix: str) -> Iterable[str]:
    from promptpo.methods import method_names

    return method_names()


_NAMES: dict[str, Callable[[str], Iterable[str]]] = {
    "SPEC": _specs,
    "RUN": _runs,
    "METHOD": _methods,
    "COMMAND": lambda prefix: COMMANDS,
    "NAME=VALUE": lambda prefix: [f"{name}=" for name in config.fields(RunConfig)],
}
