"""``promptpo analyze salience RUN...``: what runs show of a question."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, one_of
from promptpo.common.streams import output
from promptpo.common.terminal import named, say
from promptpo.common.text import p_value, plural

if TYPE_CHECKING:
    from promptpo.analysis.salience import Salience, Share

#: What can be asked.
QUESTIONS = ("salience",)

NOTE = """\
salience: of runs whose critic saw worst, median and best episodes (--method r2po --shown three, or
--critic winner --critic-shows three), how often a revision with a lower mean return came from a
text that refers to the worst one, and how often any other revision did. docs/runs.md says how to
read it."""

_WORDS = {
    "regressions": "regressions",
    "regressions_beyond_noise": "regressions beyond noise",
    "others": "all other revisions",
}

_HEAD = ("", "number", "worst < median", 'and says "worst"', 'and says "worst episode"', "p")


def parser() -> Parser:
    """The question, and the runs."""
    p = Parser("analyze", epilog=NOTE)
    p.add_argument("question", type=one_of(QUESTIONS), metavar="QUESTION", help="salience")
    p.add_argument("runs", nargs="+", metavar="RUN", help=runs.SEVERAL)
    add_out(p)
    results = p.add_argument_group("results")
    results.add_argument(
        "--json", action="store_true", help="print one JSON object, with every revision"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.analysis.salience import salience

    found = salience(runs.find_all(arguments.runs, arguments.out))
    if arguments.json:
        told = {"salience": [each.as_dict() for each in found]}
        say(json.dumps(told, indent=2, allow_nan=False))
        return 0
    from promptpo.ui.tables import Table, console_of, print_table

    with named(output()):
        console = console_of(output())
        for each in found:
            console.print(_title(each))
            print_table(console, Table(_HEAD, [_row(each, group) for group in _WORDS]))
    return 0


def _title(found: Salience) -> str:
    failed = f", {found.failed} more failed" if found.failed else ""
    count = f"{plural(len(found.revisions), 'revision')}{failed}"
    runs = plural(found.runs, "run")
    return f"{found.spec}, {found.method}: {count} in {runs}; shares with 95% intervals"


def _row(found: Salience, group: str) -> tuple[str, ...]:
    shares = [found.share(group, c) for c in ("strict", "strict_word", "strict_phrase")]
    test = "" if group == "others" else p_value(found.p_value(group, "strict_word"))
    return (_WORDS[group], str(shares[0].of), *map(_share_words, shares), test)


def _share_words(share: Share) -> str:
    if share.share is None or share.interval is None:
        return "-"
    low, high = share.interval.low, share.interval.high
    return f"{share.count} ({share.share:.1%}; {100 * low:.0f} to {high:.0%})"
