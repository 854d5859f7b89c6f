"""``promptpo tune POLICY``: other numbers for a policy whose structure stays."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo import config
from promptpo.cli import run, runs
from promptpo.cli.listing import print_table
from promptpo.cli.parser import Parser, add_settings
from promptpo.cli.specs import given_specs
from promptpo.common.files import write_atomically
from promptpo.common.terminal import say
from promptpo.common.text import near_path
from promptpo.config import RunConfig
from promptpo.errors import UsageError
from promptpo.run.settings import build, played_again

if TYPE_CHECKING:
    from promptpo.export.learned import Learned
    from promptpo.policies.constants import Constant

NOTE = """\
Its constants (--list prints them) are chosen by CMA-ES on episodes of their own.
What is found is kept only if it is better beyond noise than what is written, and stands in the
policy as plain numbers, the old ones in comments. This is a run like any other: it has a report,
and after an interruption promptpo --resume latest goes on. A policy's file needs SPEC."""

_SETTINGS = (
    "constants", "seed", "policy_seed", "selection_episodes", "test_episodes", "max_env_steps",
    "max_time", "executor", "ray_address", "workers", "sandbox", "act_timeout", "episode_timeout",
    "env_timeout", "policy_lifetime", "evaluation_episodes", "out", "track",
)  # fmt: skip


def parser() -> Parser:
    """The policy, the steps, and where the result goes."""
    p = Parser("tune", epilog=NOTE)
    p.add_argument("policy", metavar="POLICY_OR_RUN", help=f"a policy's file, or {runs.NAMES}")
    p.add_argument("specs", nargs="?", metavar="SPEC", help="its task; also as --spec SPEC")
    p.add_argument("--spec", default=None, metavar="SPEC", help=argparse.SUPPRESS)
    p.add_argument("--to", type=Path, metavar="FILE", help="also write the policy to this file")
    p.add_argument("--list", action="store_true", help="print the constants, and tune nothing")
    p.add_argument("--json", action="store_true", help="print JSON: the run's end, or the list")
    words = {"out": config.fields(RunConfig)["out"].help}
    add_settings(p, ("tune_steps", *_SETTINGS), {"tune_steps": ("--steps",)}, words)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command: 0 if there is a policy that got through its episodes, else 1."""
    given: dict[str, Any] = vars(arguments)
    word, to, as_json = given.pop("policy"), given.pop("to"), given.pop("json")
    only_list = given.pop("list")
    if specs := given_specs(arguments):
        given["spec"] = specs[0]
    if to is not None and to.is_dir():
        raise UsageError(f"--to {to}: is a folder; name a file")
    from promptpo.evaluation import find_player
    from promptpo.export.learned import BESIDE
    from promptpo.policies.constants import listed
    from promptpo.run.settings import configure

    player = find_player(word, partial(runs.find, out=Path(given.get("out", RunConfig.out))))
    if player.file is None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    which = build(given).constants
    constants = listed(player.file.source, which, player.label)
    if only_list:
        _print_constants(constants, as_json=as_json)
        return 0
    if not constants:
        hint = "; --set constants=auto takes all that are found" if which == "declared" else ""
        raise UsageError(f"{player.label}: no constants to tune: no number is assigned{hint}")
    learned = player.file.learned if player.file.prepared else None
    if to is not None and learned is not None:
        _check_beside(to, learned)
    below = played_again(player.settings)
    below.pop("test_episodes", None)
    settings = {**below, **given}
    if not settings.get("spec"):
        raise UsageError(f"{player.label}: of which task? name it: promptpo tune FILE SPEC")
    path = player.file.path.resolve()
    fixed = {"method": "tune", "model": f"file:{path}", "tune": True, "rounds": 1, "candidates": 1}
    result = run.execute(configure({**settings, **fixed}), None, as_json=as_json)
    if to is not None and result.best is not None and result.best.source is not None:
        if learned is not None and learned.beside is not None:
            write_atomically(to.with_name(BESIDE), learned.beside)
        best = result.folder / "best" / "policy.py"
        write_atomically(to, best.read_text("utf-8") if learned else result.best.source)
        if not as_json:
            say(f"{'written':11}  {near_path(to)}")
    return run.exit_code(result) or int(result.best is None)


def _print_constants(constants: Sequence[Constant], *, as_json: bool) -> None:
    """Print line, name, value and range of each, as a table or as one JSON list."""
    if as_json:
        data = [{"line": c.line, **asdict(c)} for c in constants]
        for each in data:
            del each["literal"]
        say(json.dumps(data, indent=2, allow_nan=False))
        return
    if not constants:
        say("no constants: no number in it is declared or assigned")
        return
    rows: list[tuple[str, ...]] = []
    for c in constants:
        kinds = ["declared"] * c.declared + ["whole"] * c.integer + ["logarithm"] * c.log
        numbers = (f"{c.value:.6g}", f"{c.low:.4g}", f"{c.high:.4g}")
        rows.append((str(c.line), c.name, *numbers, ", ".join(kinds)))
    print_table(("line", "constant", "value", "from", "to", "kind"), rows)


def _check_beside(to: Path, learned: Learned) -> None:
    """Raise UsageError where arrays of another policy lie where those of this one are to lie."""
    from promptpo.export.learned import BESIDE

    there = to.with_name(BESIDE)
    if learned.beside is not None and there.exists() and there.read_bytes() != learned.beside:
        raise UsageError(f"--to {to}: {there} is of another policy; name a file in another folder")
