"""Options that are settings of a run, generated from the fields of ``RunConfig``."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from promptpo import config
from promptpo.cli.parser import Parser, converter
from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.methods import find_method
from promptpo.run import options
from promptpo.run.config_file import load_toml

GROUPS = {
    "task": "task",
    "model": "language model",
    "search": "search",
    "tuning": "tuning",
    "preparing": "preparing",
    "limits": "limits: the run stops cleanly at the first one reached",
    "machine": "machine",
}


def add_preset(to: argparse._ActionsContainer) -> None:
    """Add ``--preset``, whose help tells what each one sets."""
    named = "; ".join(
        f"{name}: " + ", ".join(_words(k, v) for k, v in values.items())
        for name, values in options.PRESETS.items()
    )
    words = named.replace("_", " ")
    to.add_argument("--preset", type=_preset, metavar="|".join(options.PRESETS), help=words)


def _words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"no {name}"
    return f"{name} {value}"


def _preset(name: str) -> str:
    try:
        options.preset(name)
    except UsageError as e:
        raise argparse.ArgumentTypeError(str(e)) from None
    return name


def add_settings(
    parser: Parser,
    names: Iterable[str],
    aliases: Mapping[str, Sequence[str]] = MappingProxyType({}),
    words: Mapping[str, str] = MappingProxyType({}),
    method: str = RunConfig.method,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Add settings as options, in groups; what is not given is not in the result.

    ``names`` are fields of RunConfig, or options of the ``method``, which have their own group;
    ``words`` say what some of them mean to a command that plays episodes and does not search,
    ``defaults`` what it takes where it is told nothing, if not the field's default.
    """
    titles = GROUPS | ({"search": "episodes"} if words else {})
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name in names:
        f = options.fields(method)[name]
        own = name not in config.fields()
        key = f"search: {method}" if own else f.metadata["group"]
        if key not in groups:
            groups[key] = parser.add_argument_group(titles.get(key, key))
        kind = options.value_type(name, method)
        if kind is bool:
            _add_switch(groups[key], name, f.metadata["help"], on=not f.default)
        else:
            groups[key].add_argument(
                *aliases.get(name, ()),
                options.flag(name, method),
                dest=name,
                default=argparse.SUPPRESS,
                action=_Listing if f.metadata["several"] else "store",
                type=_or_auto(converter(kind)) if f.metadata["auto"] else converter(kind),
                metavar=_metavar(name, f, kind),
                help=_help(words.get(name, f.metadata["help"]), defaults.get(name, f.default)),
            )


#: What stands below the help of commands that play the policy of a run, or a policy's file.
PLAYING_NOTE = "What is not given is as it was in the run; a policy's file needs SPEC."


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
    add_settings(parser, options.PLAYING, {"test_episodes": also}, words)


def _or_auto(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Takes the word that leaves a number to the program, too."""

    def taken(word: str) -> Any:  # noqa: ANN401
        if word == config.AUTO:
            return word
        try:
            return convert(word)
        except argparse.ArgumentTypeError as e:
            words = str(e).replace(", not ", f" or '{config.AUTO}', not ", 1)
            raise argparse.ArgumentTypeError(words) from None

    return taken


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


def _metavar(name: str, f: dataclasses.Field[Any], kind: type) -> str:
    if f.metadata["choices"]:
        return "|".join(f.metadata["choices"])
    kinds = {int: "N", float: "X", str: name.upper()}
    return str(f.metadata["metavar"] or kinds[kind])


def _help(words: str, default: object) -> str:
    text = words.replace("%", "%%")
    if default is None or default == "":
        return text
    return f"{text} (default: {f'{default:g}' if isinstance(default, float) else default})"


def chosen_method(argv: Sequence[str]) -> str:
    """The method that a command line names, or its file of settings; else the default one.

    Raises UsageError, naming the nearest one, where there is none of that name.
    """
    named = _last_value(argv, "--method")
    file = Path(_last_value(argv, "--config") or "")
    if named is None and file.is_file():  # a pipe can be read once only
        named = load_toml(file).get("method")
    named = named or RunConfig.method
    find_method(named)
    return named


def _last_value(argv: Sequence[str], option: str) -> str | None:
    """What an option is given, wherever it stands."""
    value = None
    for i, word in enumerate(argv):
        if word == option and i + 1 < len(argv):
            value = argv[i + 1]
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
    return value
