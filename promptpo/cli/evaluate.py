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
from promptpo.cli.parser import Parser, add_out
from promptpo.cli.settings import PLAYING_NOTE, add_playing
from promptpo.cli.specs import given_spec
from promptpo.common import text
from promptpo.common.streams import output
from promptpo.common.terminal import named, say
from promptpo.errors import PromptPOError, UsageError
from promptpo.ui.tables import console_of

if TYPE_CHECKING:
    from promptpo.evaluation import PolicyComparison

NOTE = f"""\
expert, random and zero are what every task has: its expert, if it has one, random actions and zero
actions (a file of such a name is ./expert). Several policies are played on the same seeds, and
tested in pairs.

{PLAYING_NOTE}"""


def parser() -> Parser:
    """The policies, and how they are evaluated."""
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
    if "spec" not in given and len(words) > 1 and _is_task(words[-1]):
        given["specs"] = words.pop()
    if ref := given_spec(arguments):
        given["spec"] = ref
    from promptpo.evaluation import PolicyComparison, find_player, keep, score, settings_for
    from promptpo.run.loop import run_to_end

    find_run = partial(runs.find, out=out)
    players = [find_player(word, find_run) for word in dict.fromkeys(words)]
    if kept and not any(player.run for player in players):
        raise UsageError("--keep: none of these is the best policy of a run; leave it out")
    settings = settings_for(players, given, tell=lambda note: say(f"promptpo: {note}", sys.stderr))
    evaluations = run_to_end(score(players, settings))
    found = PolicyComparison(tuple(evaluations))
    if as_json:
        say(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        _print(found)
    for file in keep(found) if kept else ():
        say(f"{'kept':11}  {text.near_path(file)}", sys.stderr if as_json else output())
    return 1 if any(evaluation.error for evaluation in evaluations) else 0


def _print(found: PolicyComparison) -> None:
    """Print one policy's score as lines, several as tables."""
    if len(found.evaluations) > 1:
        with named(output()):
            found.print(console_of(output()))
        return
    (evaluation,) = found.evaluations
    if evaluation.error:
        raise PromptPOError(evaluation.error)
    say(evaluation)


def _is_task(word: str) -> bool:
    """Whether the last of several words is a spec: no policy, and no run by a path of its own."""
    from promptpo.spec import shipped_specs

    for path in (Path(word), Path(f"{word}.py")):
        if path.is_file():
            return re.search(r"(?m)^SPEC\b", path.read_text("utf-8", "replace")) is not None
    return word in shipped_specs() or (":" in word and not Path(word).exists())
