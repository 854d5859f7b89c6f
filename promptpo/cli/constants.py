"""``promptpo constants FILE``: the numbers of a policy that an optimizer may choose."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.listing import print_table
from promptpo.cli.parser import Parser, add_out, one_of
from promptpo.common.terminal import say
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from promptpo.policies.constants import Constant

NOTE = """\
A policy declares constants where it uses them, kp = tunable(1.5, 0.1, 10, log=True): value, low,
high. Of any other policy these are the numbers that modules, classes and __init__ assign, and
defaults of parameters, each with a range from its magnitude and sign. Indices, counts, shapes and
what changes while the policy acts are left alone."""

_COLUMNS = ("line", "constant", "value", "from", "to", "kind")


def parser() -> Parser:
    """The policy, and which of its constants."""
    p = Parser("constants", epilog=NOTE)
    p.add_argument("policy", metavar="FILE", help=f"a policy's file; or {runs.NAMES}")
    p.add_argument(
        "--constants",
        default="auto",
        type=one_of(("auto", "declared")),
        metavar="auto|declared",
        help="all that there are, or those that the policy declares (default: auto)",
    )
    p.add_argument("--json", action="store_true", help="print one JSON list")
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.evaluation import find_player
    from promptpo.policies.constants import listed

    player = find_player(arguments.policy, partial(runs.find, out=arguments.out))
    if player.file is None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    found = listed(player.file.source, arguments.constants, player.label)
    if arguments.json:
        say(json.dumps([_as_data(c) for c in found], indent=2, allow_nan=False))
    elif found:
        print_table(_COLUMNS, [_row(c) for c in found])
    else:
        say("no constants: nothing in it is declared or assigned as a number")
    return 0


def _row(c: Constant) -> tuple[str, ...]:
    kinds = ["declared"] * c.declared + ["whole"] * c.integer + ["logarithm"] * c.log
    return (
        str(c.line), c.name, f"{c.value:.6g}", f"{c.low:.4g}", f"{c.high:.4g}", ", ".join(kinds)
    )  # fmt: skip


def _as_data(c: Constant) -> dict[str, object]:
    data = asdict(c)
    del data["literal"]
    return {"line": c.line, **data}
