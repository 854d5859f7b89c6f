"""What may come next on a command line, for completion in shells."""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from promptpo import config
from promptpo.cli import run
from promptpo.cli.parser import BY_METHOD, COMMANDS, Parser
from promptpo.cli.settings import chosen_method
from promptpo.cli.words import Part, parts
from promptpo.config import RunConfig
from promptpo.errors import PromptPOError
from promptpo.methods import method_names

#: Words that may come next, each with what it means, in few words or none.
Candidates = dict[str, str]


def candidates(argv: Sequence[str], begun: str) -> Candidates:
    """What the word that has begun may become; ``argv`` are those before it, without the program.

    Nothing where nothing is known. Never raises a PromptPOError: a spec that is broken must not
    break the shell's line.
    """
    with contextlib.suppress(PromptPOError, OSError):
        return {
            word: meaning
            for word, meaning in _next(argv, begun).items()
            if word.startswith(begun) and (begun or not word.startswith("-"))
        }
    return {}


def _next(argv: Sequence[str], begun: str) -> Candidates:
    method = chosen_method(argv)
    name, rest = _command(argv, method)
    command = importlib.import_module(f"promptpo.cli.{COMMANDS[name or 'run'].module}")
    parser: Parser = command.parser(*([method] if (name or "run") in BY_METHOD else []))
    before = list(parts(rest, parser))
    if before and _waits(before[-1]) and "--" not in rest:
        return _values(before[-1].action, begun, before)
    option, equals, value = begun.partition("=")
    if begun.startswith("-") and "--" not in rest:
        if not equals:
            return _options(parser, before)
        action = parser._option_string_actions.get(option)
        return {f"{option}={word}": help_ for word, help_ in _values(action, value, before).items()}
    place = sum(not part.name for part in before)
    words = _words_at(parser, place, begun, before)
    if name is None and place == 0:
        words = {**{name: command.help for name, command in COMMANDS.items()}, **words}
    return words


def _command(argv: Sequence[str], method: str) -> tuple[str | None, list[str]]:
    """The command that is named, and the words without its name; None where none is."""
    for part in parts(argv, run.parser(method)):
        if not part.name and part.value in COMMANDS:
            return part.value, [*argv[: part.first], *argv[part.end :]]
        if not part.name:
            break
    return None, list(argv)


def _waits(part: Part) -> bool:
    """Whether the value of an option is still to come."""
    return part.value is None and part.action is not None and part.action.nargs != 0


def _options(parser: Parser, before: Iterable[Part]) -> Candidates:
    """The options of a command that are not given yet."""
    given = {part.action.dest for part in before if part.action is not None}
    listing = {name for name, field in config.fields().items() if field.metadata["several"]}
    return {
        option: _meaning(action)
        for action in parser._actions
        for option in action.option_strings
        if action.help != argparse.SUPPRESS and action.dest not in given - listing
    }


def _meaning(action: argparse.Action) -> str:
    """The help of an option, without the default and what else stands in brackets."""
    return (action.help or "").partition(" (")[0].replace("%%", "%")


def _words_at(parser: Parser, place: int, begun: str, before: Sequence[Part]) -> Candidates:
    """What an argument may be that follows ``place`` others."""
    for action in parser._actions:
        if not action.option_strings:
            if place == 0 or action.nargs in ("*", "+"):
                return _values(action, begun, before)
            place -= 1
    return {}


def _values(action: argparse.Action | None, begun: str, before: Iterable[Part]) -> Candidates:
    """What the value of an option, or an argument, may be: by the name that its help gives it."""
    if action is None:
        return {}
    metavar = str(action.metavar or "")
    setting = config.fields().get(action.dest)
    if setting is not None and setting.metadata["choices"]:
        return dict.fromkeys(setting.metadata["choices"], "")
    if "|" in metavar:
        return {word: "" for word in metavar.split("|") if not word.isupper()}
    out = next((p.value for p in before if p.name == "--out" and p.value), RunConfig.out)
    found: Candidates = {}
    for kind in metavar.split("_OR_"):
        if kind in _KINDS:
            found |= _KINDS[kind](begun, Path(out))
    return found


def _specs(begun: str, out: Path) -> Candidates:
    from promptpo.spec import known_specs
    from promptpo.spec.loading.families import families

    family, colon, _ = begun.partition(":")
    if colon:
        known = {f.name: f for f in families()}
        members = known[family].members() if family in known else ()
        return dict.fromkeys([f"{family}:{member}" for member in members], "")
    named = dict.fromkeys(known_specs(), "")
    return {**named, **{f"{f.name}:": "a family" for f in families()}, **_files(begun, ".py")}


def _runs(begun: str, out: Path) -> Candidates:
    """``latest``, specs that have runs, and runs below a folder that has begun."""
    named = {"latest": "the run that began last"} if any(out.glob("*/*/events.jsonl")) else {}
    for run_log in out.glob("*/*/events.jsonl"):
        named[run_log.parents[1].name] = "its latest run"
        if "/" in begun:
            named[f"{run_log.parents[1].name}/{run_log.parent.name}"] = ""
    return {**named, **_files(begun, "/")}


def _files(begun: str, *endings: str) -> Candidates:
    """Files below the folder that a word names, with one of the endings, and folders."""
    folder, slash, start = begun.rpartition("/")
    found: Candidates = {}
    inside: list[Path] = []
    with contextlib.suppress(OSError, RuntimeError):  # no such folder, no such user
        inside = sorted(Path((folder + slash) or ".").expanduser().iterdir())
    for path in inside:
        name = f"{folder}{slash}{path.name}{'/' if path.is_dir() else ''}"
        hidden = path.name.startswith(".") and not start.startswith(".")
        if not hidden and (path.is_dir() or name.endswith(endings)):
            found[name] = ""
    return found


def _policies(begun: str, out: Path) -> Candidates:
    return {**_runs(begun, out), **_files(begun, ".py")}


def _families(begun: str, out: Path) -> Candidates:
    from promptpo.spec.loading.families import families

    return {family.name: "" for family in families()}


def _environments(begun: str, out: Path) -> Candidates:
    from promptpo.spec.writing.registry import registered_ids

    return dict.fromkeys(registered_ids(), "")


def _models(begun: str, out: Path) -> Candidates:
    from promptpo.llm.providers import KEYS

    own = {
        "recorded": "replay the spec's recording",
        "recorded:": "replay a run",
        "builtin": "no language model: standard structures",
        "manual": "write prompts to files, wait for replies",
    }
    kind, colon, path = begun.partition(":")
    if kind == "recorded" and colon:
        return {f"recorded:{name}": "" for name in _files(path, ".jsonl")}
    return {**own, **{f"{provider}/": "" for provider in KEYS}}


def _methods(begun: str, out: Path) -> Candidates:
    return dict.fromkeys(method_names(), "")


def _suites(begun: str, out: Path) -> Candidates:
    from promptpo.bench.suite_file import shipped_suites

    return {**shipped_suites(), **_files(begun, ".toml")}


_KINDS: Mapping[str, Callable[[str, Path], Candidates]] = {
    "SPEC": _specs,
    "RUN": _runs,
    "POLICY": _policies,
    "FAMILY": _families,
    "ENV_ID": _environments,
    "MODEL": _models,
    "SUITE": _suites,
    "METHOD": _methods,
    "COMMAND": lambda begun, out: {name: c.help for name, c in COMMANDS.items()},
    "DIR": lambda begun, out: _files(begun, "/"),
    "FILE": lambda begun, out: _files(begun, ""),
}
