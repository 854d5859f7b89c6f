"""Specs on the command line, and the commands about them: ``new``, ``check`` and ``prompt``."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo import config
from promptpo.cli.parser import COMMANDS, Parser, add_preset, add_settings, nearest
from promptpo.common.plaintext import clean
from promptpo.common.terminal import STATUS, columns, output, say
from promptpo.config import RunConfig
from promptpo.errors import SpecError, UsageError

if TYPE_CHECKING:
    from promptpo.checks import Checker
    from promptpo.prompts.task import Messages
    from promptpo.spec import EnvSpec


def add_specs(to: Parser, words: str = "", *, several: bool = False) -> None:
    """Add SPEC as an argument beside the option ``--spec``; ``take_specs`` takes both out."""
    text = f"{words or config.fields(RunConfig)['spec'].help}; also as --spec SPEC"
    to.add_argument("specs", nargs="*" if several else "?", metavar="SPEC", help=text)


def take_specs(arguments: argparse.Namespace) -> list[str]:
    """Take the specs out of the arguments. Raises UsageError where both ways name one."""
    words: list[str] | str | None = vars(arguments).pop("specs")
    named = [words] if isinstance(words, str) else words or []
    option: str | None = vars(arguments).pop("spec", None)
    if option is None:
        return named
    if named:
        raise UsageError(f"two specs, '{named[0]}' and --spec {option}; leave one of them out")
    return [option]


def take_spec(arguments: argparse.Namespace) -> str:
    """Take out the spec of a command that takes one; empty where none is given."""
    return "".join(take_specs(arguments))


def is_spec(word: str) -> bool:
    """Return whether a word that is no command can be a spec: a file, a member or a name."""
    from promptpo.spec import known_specs

    like_one = word.endswith(".py") or "/" in word or ":" in word
    return like_one or word in known_specs() or Path(f"{word}.py").is_file()


def neither(word: str) -> UsageError:
    """Return the complaint of a word that is no command and no spec, with the nearest of both."""
    from promptpo.spec import known_specs

    names = {**dict.fromkeys(known_specs(), "the spec "), **dict.fromkeys(COMMANDS, "")}
    hint = "`promptpo help` shows the commands, `promptpo list` the specs"
    if near := difflib.get_close_matches(word, names, 1, 0.6):
        hint = f"did you mean {names[near[0]]}'{near[0]}'?"
    return UsageError(f"'{word}' is no command and no spec; {hint}")


def new_parser() -> Parser:
    """Return the parser of ``new``."""
    p = Parser("new")
    words = "a Gymnasium id, e.g. Pendulum-v1, or package:ID; with --own, a name for your task"
    p.add_argument("name", metavar="ENV_ID|NAME", help=words)
    words = (
        "write a small environment of your own and its spec in one file, whole and true, to make"
        " your task of"
    )
    p.add_argument("--own", action="store_true", help=words)
    words = "the spec file (default: as the id or name, pendulum_v1.py)"
    p.add_argument("--to", type=Path, metavar="FILE", help=words)
    return p.finish()


def new(arguments: argparse.Namespace) -> int:
    """Write a first spec file, for a Gymnasium id or an environment of one's own."""
    name = arguments.name.removeprefix("gym:").removesuffix(".py")
    file = arguments.to or Path(re.sub(r"\W+", "_", name).lower() + ".py")
    if file.suffix != ".py":
        raise UsageError(f"--to {file}: a spec is a Python module; name it {file}.py")
    if file.exists():
        raise UsageError(f"{file} exists and is left as it is; give another one with --to FILE")
    text = _own_source(name, file) if arguments.own else _draft(name)
    try:
        # "x": a file that has appeared since is not overwritten either.
        with file.open("x", encoding="utf-8") as out:
            out.write(clean(text))
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror}; give --to a file that can be written") from None
    unfinished = "the reward is to be filled in; say better what the fields mean"
    steps = [
        (f"edit {file}", "make it your task" if arguments.own else unfinished),
        (f"promptpo prompt {file}", "read what a model will read"),
        (f"promptpo check {file}", "is it true?"),
        (f"promptpo --spec {file} --model MODEL", "search"),
    ]
    say(f"wrote {file}{', which is whole and true as it stands' * arguments.own}. Next:")
    width = max(len(step) for step, _ in steps)
    for step, words in steps:
        say(f"  {step:{width}}  {words}")
    return 0


def _own_source(name: str, file: Path) -> str:
    """Return a file's text with an environment called ``name``. Raises UsageError."""
    from promptpo.spec.drafts import own_source

    module = file.stem
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    installed = spec and spec.origin and "site-packages" in Path(spec.origin).parts
    if installed or module in sys.stdlib_module_names:
        raise UsageError(
            f"{file}: there is a Python module {module!r}, which the file would hide; give"
            " another name, or --to FILE"
        )
    try:
        return own_source(name)
    except ValueError:
        raise UsageError(
            f"{name!r}: no class can be called after that; give a name of letters, digits and _,"
            " such as night_shift"
        ) from None


def _draft(env_id: str) -> str:
    """Return a file's text. Raises SpecError where the environment cannot be a spec."""
    from promptpo.spec import UnknownMember, Unsuitable
    from promptpo.spec.drafts import registered_ids, registered_source

    try:
        return registered_source(env_id, draft=True)
    except UnknownMember:
        near = difflib.get_close_matches(env_id, registered_ids(), n=1, cutoff=0.7)
        own = f"for one of another package: package:ID; for your own: promptpo new {env_id} --own"
        hint = f"did you mean {near[0]}?" if near else own
        raise SpecError(f"{env_id}: Gymnasium knows no such environment; {hint}") from None
    except Unsuitable as error:
        raise SpecError(f"{env_id}: {error}") from None


def check_parser() -> Parser:
    """Return the parser of ``check``."""
    p = Parser("check")
    words = "spec files, names of shipped specs, family:member; 'family:' is all of its members"
    add_specs(p, words, several=True)
    p.add_argument("--all", action="store_true", help="every shipped spec that is installed")
    words = "play a tenth: seconds a spec, less certainty"
    p.add_argument("--quick", action="store_true", help=words)
    add_settings(p, ("spec", "env_timeout"))
    return p.finish()


def check(arguments: argparse.Namespace) -> int:
    """Hold specs against their live environments: 0 if all are true, 1 if a check failed."""
    from promptpo.checks import FULL, QUICK, Checker
    from promptpo.spec import load_spec, shipped_specs
    from promptpo.spec.catalog import expanded

    named = take_specs(arguments)
    if bool(named) == arguments.all:
        raise UsageError("name the specs to check, or give --all")
    limit = vars(arguments).get("env_timeout", RunConfig.env_timeout)
    refs = shipped_specs() if arguments.all else expanded(named)
    specs = [load_spec(ref, limit=limit) for ref in refs]
    effort = QUICK if arguments.quick else FULL
    with Checker([spec.ref for spec in specs], effort, limit) as checker:
        wrong = [s.name for s in specs if not _check(s, checker, may_lack=arguments.all)]
    if wrong:
        say(f"\n{len(wrong)} of {len(specs)} specs are not true: {', '.join(wrong)}")
    return 1 if wrong else 0


def _check(spec: EnvSpec, checker: Checker, *, may_lack: bool) -> bool:
    """Print the findings on one spec; return True if nothing failed."""
    from promptpo.checks import MissingPackage

    say(f"{spec.name}: {spec.title}")
    passed = True
    STATUS.show(f"checking {spec.name}")
    width = columns() - 2 if output().isatty() else 0
    try:
        for finding in checker.findings(spec.ref):
            passed = passed and not finding.failed
            say(textwrap.indent(finding.text(width), "  "))
    except MissingPackage as error:
        if not may_lack:
            raise
        say(f"  skipped: {error}")
    return passed


def prompt_parser() -> Parser:
    """Return the parser of ``prompt``."""
    p = Parser("prompt")
    add_specs(p)
    words = "only this: task, observation, action, facts, reward, system, or a stage, e.g. feedback"
    p.add_argument("part", nargs="?", metavar="PART", help=words)
    add_settings(p, ("spec", "method", "published_prompt", "episodes", "tune"), methods=True)
    add_preset(p.add_argument_group("where settings come from"))
    return p.finish()


def prompt(arguments: argparse.Namespace) -> int:
    """Print exactly what a model would be sent, stage by stage, or one part of it."""
    from promptpo.methods import check_tunes, find_method
    from promptpo.run.settings import build
    from promptpo.spec import load_spec

    part: str | None = vars(arguments).pop("part")
    if "spec" in arguments and part is None:  # then the only word is the part
        part, arguments.specs = arguments.specs, None
    if not (ref := take_spec(arguments)):
        raise UsageError("name the spec whose prompts are to be shown: promptpo prompt SPEC")
    settings = build({**vars(arguments), "spec": ref})
    if settings.tune:
        check_tunes(settings.method)
    spec = load_spec(settings.spec, published=settings.published_prompt, limit=settings.env_timeout)
    method = find_method(settings.method)
    stages = method.all_prompts(spec, settings)
    if part is not None:
        _print_part(part, spec, settings, stages)
        return 0
    if not stages:
        why = "does not show its prompts" if method.needs_model else "asks no model"
        say(f"the method {settings.method} {why}")
    _print_stages(stages)
    return 0


def _print_stages(stages: Sequence[tuple[str, Messages]]) -> None:
    for stage, messages in stages:
        say(f"{'=' * 20} {stage} {'=' * max(4, 78 - len(stage))}")
        for message in messages:
            say(f"{'-' * 20} {message.role}\n{message.content}\n")


def _print_part(
    part: str, spec: EnvSpec, settings: RunConfig, stages: Sequence[tuple[str, Messages]]
) -> None:
    """Print a part of the task, the system messages, or the stages that begin with a word.

    Raises UsageError where there is no such part.
    """
    from promptpo.prompts.task import task_text
    from promptpo.spec import prompt_parts

    parts = prompt_parts(spec)
    system = (m.content for _, messages in stages for m in messages if m.role == "system")
    texts = {
        "task": task_text(spec, settings),
        "observation": parts.observation,
        "action": parts.action,
        "facts": parts.facts if settings.facts else "",
        "reward": parts.reward,
        "system": "\n\n".join(dict.fromkeys(system)),
    }
    texts = {name: text for name, text in texts.items() if text}
    beginnings = [re.split(r"\W", stage)[0] for stage, _ in stages]
    if part in texts:
        say(texts[part])
    elif part in beginnings:
        _print_stages([s for s, word in zip(stages, beginnings, strict=True) if word == part])
    else:
        hint = nearest(part, dict.fromkeys([*texts, *beginnings]))
        raise UsageError(f"'{part}' is no part of what is sent of {spec.name}; {hint}")
