"""``promptpo check SPEC...``: hold specs against their live environments."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from promptpo.cli.parser import Parser
from promptpo.errors import SpecError, UsageError
from promptpo.ui.terminal import say

if TYPE_CHECKING:
    from promptpo.check import Effort, Replays
    from promptpo.spec import EnvSpec


def parser() -> Parser:
    """The specs, and how much is played."""
    p = Parser("check")
    p.add_argument(
        "specs",
        nargs="*",
        metavar="SPEC",
        help="spec files, names of shipped specs, family:member; 'family:' is all of its members",
    )
    p.add_argument("--all", action="store_true", help="every shipped spec that is installed")
    p.add_argument(
        "--quick", action="store_true", help="play a tenth: seconds a spec, less certainty"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command: 0 if all specs are true, 1 if a check failed."""
    from promptpo.check import FULL, QUICK, open_replays
    from promptpo.spec import load_spec, shipped_specs
    from promptpo.spec.families import expanded

    if bool(arguments.specs) == arguments.all:
        raise UsageError("name the specs to check, or give --all")
    specs = [
        load_spec(ref) for ref in (shipped_specs() if arguments.all else expanded(arguments.specs))
    ]
    effort = QUICK if arguments.quick else FULL
    warnings.filterwarnings("ignore", message="Constant.s. may be too high")  # Meta-World's experts
    wrong = []
    with open_replays([spec.ref for spec in specs]) as replays:
        for spec in specs:
            if not _check(spec, effort, replays, may_lack=arguments.all):
                wrong.append(spec.name)
    if wrong:
        say(f"\n{len(wrong)} of {len(specs)} specs are not true: {', '.join(wrong)}")
    return 1 if wrong else 0


def _check(spec: EnvSpec, effort: Effort, replays: Replays, *, may_lack: bool) -> bool:
    """Print the table of one spec; True if nothing failed."""
    from promptpo.check import check_spec

    say(f"{spec.name}: {spec.title}")
    passed = True
    try:
        for finding in check_spec(spec, effort, replays):
            passed = passed and not finding.failed
            say(f"  {finding.verdict:4}  {finding.check:22}  {finding.detail}")
    except SpecError as error:
        if not (may_lack and is_missing_package(error)):
            raise
        say(f"  skipped: {error}")
    return passed


def is_missing_package(error: SpecError) -> bool:
    """Whether a spec failed only for want of a package, which the message names."""
    cause = error.__cause__
    return isinstance(cause, ModuleNotFoundError) or (
        type(cause).__name__ == "DependencyNotInstalled"
    )
