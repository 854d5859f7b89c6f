"""Completion of command lines in shells, by the package argcomplete."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from promptpo.cli.parser import BY_METHOD, COMMANDS, Parser
from promptpo.cli.settings import chosen_method
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError


def complete() -> None:
    """Print what may come next on the line that the shell has put into the environment, and exit.

    Return where argcomplete is not installed, or the line names a method that there is not.
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
    command = importlib.import_module(f"promptpo.cli.{COMMANDS[name].module}")
    try:
        parser: Parser = command.parser(*([chosen_method(before)] if name in BY_METHOD else []))
    except PromptPOError:
        return
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
}
