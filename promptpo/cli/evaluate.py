"""``promptpo eval POLICY_OR_RUN...``: score policies, alone or against each other."""

from __future__ import annotations

import argparse
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import PLAYING_NOTE, Parser, add_out, add_playing
from promptpo.cli.specs import given_spec
from promptpo.common import text
from promptpo.common.streams import output
from promptpo.common.terminal import named, say
from promptpo.errors import PromptPOError, UsageError
from promptpo.ui.tables import console_of

if TYPE_CHECKING:
    from promptpo.evaluation import PolicyComparison, Transfer

NOTE = f"""\
expert, random and zero are what every task has: its expert, if it has one, random actions and zero
actions (a file of such a name is ./expert). Several policies are played on the same seeds, and
tested in pairs.

With --on TWIN, one policy is played on its own task and on the world of a twin of it (lengths,
masses, time step), behind the order, signs and names of its own task. What it keeps there of its
score was not the body that it was written for.

{PLAYING_NOTE}"""


def parser() -> Parser:
    """Return a parser of the policies, and of how they are evaluated."""
    p = Parser("eval", epilog=NOTE)
    p.add_argument(
        "policies",
        nargs="+",
        metavar="POLICY_OR_RUN",
        help=f"a policy's file, {runs.NAMES}; or expert, random, zero",
    )
    p.add_argument(
        "specs", nargs="?", metavar="SPEC", help="the task of a policy's file; also as --spec SPEC"
    )
    p.add_argument(
        "--on",
        metavar="TWIN",
        help="twin:NAME or twin:NAME@SEED of the policy's task, or the original of its twin",
    )
    add_out(p)
    results = p.add_argument_group("results")
    results.add_argument("--json", action="store_true", help="print one JSON object")
    results.add_argument(
        "--keep", action="store_true", help="keep them in the runs whose policies are scored"
    )
    add_playing(p, "play", "--episodes")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command: 0 if every policy got through its episodes, else 1."""
    given = vars(arguments)
    words: list[str] = given.pop("policies")
    as_json, kept, out = given.pop("json"), given.pop("keep"), given.pop("out")
    on: str | None = given.pop("on")
    if "spec" not in given and len(words) > 1 and _is_task(words[-1]):
        given["specs"] = words.pop()
    if ref := given_spec(arguments):
        given["spec"] = ref
    if on is not None and (kept or len(words) > 1):
        raise UsageError("--on: takes one policy, and keeps nothing; leave out the rest")
    from promptpo.common.interrupts import run_to_end
    from promptpo.evaluation import PolicyComparison, find_player, score, settings_for, transfer

    find_run = partial(runs.find, out=out)
    players = [find_player(word, find_run) for word in dict.fromkeys(words)]
    if kept and not any(player.run for player in players):
        raise UsageError("--keep: none of these is the best policy of a run; leave it out")
    if on is not None:
        transferred = run_to_end(transfer(players[0], on, given, _note))
        say(_json(transferred) if as_json else transferred)
        return 1 if transferred.error else 0
    settings = settings_for(players, given, _note)
    evaluations = run_to_end(score(players, settings))
    comparison = PolicyComparison(tuple(evaluations))
    if as_json:
        say(_json(comparison))
    elif len(evaluations) > 1:
        with named(output()):
            comparison.print(console_of(output()))
    elif error := evaluations[0].error:
        raise PromptPOError(error)
    else:
        say(evaluations[0])
    for file in comparison.keep() if kept else ():
        say(f"{'kept':11}  {text.near_path(file)}", sys.stderr if as_json else output())
    return 1 if any(evaluation.error for evaluation in evaluations) else 0


def _json(result: PolicyComparison | Transfer) -> str:
    return json.dumps(result.as_dict(), indent=2, allow_nan=False)


def _note(words: str) -> None:
    say(f"promptpo: {words}", sys.stderr)


def _is_task(word: str) -> bool:
    """Return whether the last of several words is a spec: no policy, and no path of a run."""
    from promptpo.spec import shipped_specs

    for path in (Path(word), Path(f"{word}.py")):
        if path.is_file():
            return re.search(r"(?m)^SPEC\b", path.read_text("utf-8", "replace")) is not None
    return word in shipped_specs() or (":" in word and not Path(word).exists())
