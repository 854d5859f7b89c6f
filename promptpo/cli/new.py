"""``promptpo new ENV_ID``: write a first spec file for a Gymnasium environment, ready to edit."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from promptpo.cli.parser import Parser
from promptpo.common.plaintext import clean
from promptpo.errors import SpecError, UsageError
from promptpo.ui.terminal import say


def parser() -> Parser:
    """The environment, and where the file goes."""
    p = Parser("new")
    p.add_argument(
        "env_id", metavar="ENV_ID", help="a Gymnasium id, e.g. Pendulum-v1, or package:ID"
    )
    p.add_argument(
        "--to", type=Path, metavar="FILE", help="the spec file (default: as the id, pendulum_v1.py)"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    env_id = arguments.env_id.removeprefix("gym:")
    file = arguments.to or Path(re.sub(r"\W+", "_", env_id).lower() + ".py")
    if file.suffix != ".py":
        raise UsageError(f"--to {file}: a spec is a Python module; name it {file}.py")
    if file.exists():
        raise UsageError(f"{file} exists and is left as it is; give another one with --to FILE")
    text = draft_of(env_id)
    try:
        # "x": a file that has appeared since is not overwritten either.
        with file.open("x", encoding="utf-8") as out:
            out.write(clean(text))
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror}; give --to a file that can be written") from None
    say(next_steps(file))
    return 0


def draft_of(env_id: str) -> str:
    """The text of the file. Raises SpecError where the environment cannot be a spec."""
    import difflib

    from promptpo.spec import UnknownMember, Unsuitable
    from promptpo.spec.writing import registered_ids, registered_source

    try:
        return registered_source(env_id, draft=True)
    except UnknownMember:
        near = difflib.get_close_matches(env_id, registered_ids(), n=1, cutoff=0.7)
        hint = f"did you mean {near[0]}?" if near else "for one of another package: package:ID"
        raise SpecError(f"{env_id}: Gymnasium knows no such environment; {hint}") from None
    except Unsuitable as error:
        raise SpecError(f"{env_id}: {error}") from None


def next_steps(file: Path) -> str:
    """What to do with the file."""
    steps = [
        (f"edit {file}", "the reward is to be filled in; say better what the fields mean"),
        (f"promptpo prompt {file}", "read what a model will read"),
        (f"promptpo check {file}", "is it true?"),
        (f"promptpo --spec {file} --model MODEL", "search"),
    ]
    width = max(len(step) for step, _ in steps)
    lines = [f"  {step:{width}}  {words}" for step, words in steps]
    return "\n".join([f"wrote {file}. Next:", *lines])
