"""Specs on the command line: as an argument or as ``--spec``, which mean the same."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path

from promptpo import config
from promptpo.cli.parser import COMMANDS
from promptpo.errors import UsageError


def add_specs(to: argparse._ActionsContainer, words: str = "", *, several: bool = False) -> None:
    """Add SPEC as an argument beside the option ``--spec``; ``given_specs`` takes both out."""
    help_ = words or config.fields(config.RunConfig)["spec"].help
    to.add_argument(
        "specs",
        nargs="*" if several else "?",
        metavar="SPEC",
        help=f"{help_}; also as --spec SPEC",
    )


def given_specs(arguments: argparse.Namespace) -> list[str]:
    """Take the specs out of the arguments. Raises UsageError where both ways name one."""
    named: list[str] | str | None = vars(arguments).pop("specs")
    words = [named] if isinstance(named, str) else named or []
    option: str | None = vars(arguments).pop("spec", None)
    if option is None:
        return words
    if words:
        raise UsageError(f"two specs, '{words[0]}' and --spec {option}; leave one of them out")
    return [option]


def given_spec(arguments: argparse.Namespace) -> str:
    """Return the one spec of a command that takes no more; empty where there is none."""
    return "".join(given_specs(arguments))


def is_spec(word: str) -> bool:
    """Return whether a word that is no command can be a spec: a file, a member or a name."""
    from promptpo.spec import known_specs

    like_one = word.endswith(".py") or "/" in word or ":" in word
    return like_one or word in known_specs() or Path(f"{word}.py").is_file()


def neither(word: str) -> UsageError:
    """Return the error for a word that is no command and no spec, with the nearest of both."""
    from promptpo.spec import known_specs

    kinds = {**dict.fromkeys(known_specs(), "the spec "), **dict.fromkeys(COMMANDS, "")}
    near = difflib.get_close_matches(word, kinds, 1, 0.6)
    hint = (
        f"did you mean {kinds[near[0]]}'{near[0]}'?"
        if near
        else "`promptpo help` shows the commands, `promptpo list` the specs"
    )
    return UsageError(f"'{word}' is no command and no spec; {hint}")
