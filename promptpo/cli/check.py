"""``promptpo check SPEC...``: hold specs against their live environments."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING

from promptpo import config
from promptpo.cli.parser import Parser, add_settings
from promptpo.cli.specs import add_specs, given_specs
from promptpo.common.streams import output
from promptpo.common.terminal import columns, say
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from promptpo.checks import Checker
    from promptpo.spec import EnvSpec


def parser() -> Parser:
    """Return the parser: the specs, and how much is played."""
    p = Parser("check")
    words = "spec files, names of shipped specs, family:member; 'family:' is all of its members"
    add_specs(p, words, several=True)
    p.add_argument("--all", action="store_true", help="every shipped spec that is installed")
    p.add_argument(
        "--quick", action="store_true", help="play a tenth: seconds a spec, less certainty"
    )
    add_settings(p, ("spec", "env_timeout"))
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command: 0 if all specs are true, 1 if a check failed."""
    from promptpo.checks import FULL, QUICK, Checker
    from promptpo.spec import load_spec, shipped_specs
    from promptpo.spec.catalog import expanded

    named = given_specs(arguments)
    if bool(named) == arguments.all:
        raise UsageError("name the specs to check, or give --all")
    limit = vars(arguments).get("env_timeout", config.RunConfig.env_timeout)
    refs = shipped_specs() if arguments.all else expanded(named)
    specs = [load_spec(ref, limit=limit) for ref in refs]
    effort = QUICK if arguments.quick else FULL
    wrong = []
    with Checker([spec.ref for spec in specs], effort, limit) as checker:
        for spec in specs:
            if not _check(spec, checker, may_lack=arguments.all):
                wrong.append(spec.name)
    if wrong:
        say(f"\n{len(wrong)} of {len(specs)} specs are not true: {', '.join(wrong)}")
    return 1 if wrong else 0


def _check(spec: EnvSpec, checker: Checker, *, may_lack: bool) -> bool:
    """Print the table of one spec; True if nothing failed."""
    from promptpo.checks import MissingPackage

    say(f"{spec.name}: {spec.title}")
    passed = True
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
