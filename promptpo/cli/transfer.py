"""``promptpo transfer RUN --to twin:NAME``: how much of a policy was the body that it knew."""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.cli.settings import add_playing
from promptpo.common.terminal import say

#: Held-out episodes that are played where nothing else is said.
EPISODES = 100

NOTE = """\
The policy meets the other task's world (lengths, masses, time step) behind the order, signs and
names of its own task. What it keeps there was not the body that it was written for. What is not
given is as it was in the run; a policy's file needs --spec."""


def parser() -> Parser:
    """The policy, the twin, and how it is played."""
    p = Parser("transfer", epilog=NOTE)
    p.add_argument("policy", metavar="RUN", help=f"{runs.NAMES}; or a policy's file")
    p.add_argument(
        "--to",
        required=True,
        metavar="TWIN",
        help="twin:NAME or twin:NAME@SEED of the policy's task; or the original of its twin",
    )
    add_out(p)
    results = p.add_argument_group("results")
    results.add_argument("--json", action="store_true", help="print one JSON object")
    add_playing(p, "play", "--episodes", episodes=EPISODES)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command: 0 if the policy got through its episodes, else 1."""
    given = vars(arguments)
    word, to, out = given.pop("policy"), given.pop("to"), given.pop("out")
    as_json = given.pop("json")
    given.setdefault("test_episodes", EPISODES)
    from promptpo.evaluation import find_player
    from promptpo.evaluation.transfer import transfer
    from promptpo.run.loop import run_to_end

    player = find_player(word, partial(runs.find, out=out))
    found = run_to_end(transfer(player, to, given, _note))
    if as_json:
        say(json.dumps(found.as_dict(), indent=2, allow_nan=False))
    else:
        for label, words in found.rows():
            say(f"{label:11}  {words}")
    return 1 if found.after.error else 0


def _note(words: str) -> None:
    say(f"promptpo: {words}", sys.stderr)
