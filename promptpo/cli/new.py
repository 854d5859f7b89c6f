"""``promptpo new``: write a first spec file, for a Gymnasium id or an environment of one's own."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path

from promptpo.cli.parser import Parser
from promptpo.common.plaintext import clean
from promptpo.common.terminal import say
from promptpo.errors import SpecError, UsageError


def parser() -> Parser:
    """Return the parser: the environment, and the file."""
    p = Parser("new")
    p.add_argument(
        "name",
        metavar="ENV_ID|NAME",
        help="a Gymnasium id, e.g. Pendulum-v1, or package:ID; with --own, a name for your task",
    )
    p.add_argument(
        "--own",
        action="store_true",
        help="write a small environment of your own and its spec in one file, whole and true, to "
        "make your task of",
    )
    p.add_argument(
        "--to",
        type=Path,
        metavar="FILE",
        help="the spec file (default: as the id or name, pendulum_v1.py)",
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    name = arguments.name.removeprefix("gym:").removesuffix(".py")
    file = arguments.to or Path(re.sub(r"\W+", "_", name).lower() + ".py")
    if file.suffix != ".py":
        raise UsageError(f"--to {file}: a spec is a Python module; name it {file}.py")
    if file.exists():
        raise UsageError(f"{file} exists and is left as it is; give another one with --to FILE")
    text = own_of(name, file) if arguments.own else draft_of(name)
    try:
        # "x": a file that has appeared since is not overwritten either.
        with file.open("x", encoding="utf-8") as out:
            out.write(clean(text))
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror}; give --to a file that can be written") from None
    say(next_steps(file, own=arguments.own))
    return 0


def own_of(name: str, file: Path) -> str:
    """Return the text of a file with an environment called ``name``. Raises UsageError."""
    from promptpo.spec.drafts import own_source

    if _is_known(file.stem):
        raise UsageError(
            f"{file}: there is a Python module {file.stem!r}, which the file would hide; give "
            "another name, or --to FILE"
        )
    try:
        return own_source(name)
    except ValueError:
        raise UsageError(
            f"{name!r}: no class can be called after that; give a name of letters, digits and _, "
            "such as night_shift"
        ) from None


def _is_known(module: str) -> bool:
    """Return whether Python or an installed package has a module of this name."""
    if module in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    return bool(spec and spec.origin and "site-packages" in Path(spec.origin).parts)


def draft_of(env_id: str) -> str:
    """Return the text of the file. Raises SpecError where the environment cannot be a spec."""
    import difflib

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


def next_steps(file: Path, *, own: bool) -> str:
    """Return the steps that follow, one a line."""
    unfinished = "the reward is to be filled in; say better what the fields mean"
    edit = "make it your task" if own else unfinished
    steps = [
        (f"edit {file}", edit),
        (f"promptpo prompt {file}", "read what a model will read"),
        (f"promptpo check {file}", "is it true?"),
        (f"promptpo --spec {file} --model MODEL", "search"),
    ]
    width = max(len(step) for step, _ in steps)
    lines = [f"  {step:{width}}  {words}" for step, words in steps]
    whole = ", which is whole and true as it stands" if own else ""
    return "\n".join([f"wrote {file}{whole}. Next:", *lines])
