"""``promptpo bench SUITE``: methods on the same specs, seeds and budget, and their comparison."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TextIO, cast

from promptpo.cli.listing import print_table
from promptpo.cli.parser import Parser, add_out, add_settings
from promptpo.cli.sweep import at_once, print_rows
from promptpo.common import text
from promptpo.common.streams import output
from promptpo.common.terminal import say
from promptpo.common.values import listed
from promptpo.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from promptpo.bench.runner import Bench
    from promptpo.sweep.course import Ended
    from promptpo.sweep.plan import Member
    from promptpo.ui.status import RunStatus

EXAMPLES = """\
examples:
  promptpo list suites                           those that ship
  promptpo bench smoke                           two minutes, no model
  promptpo bench r2po10 --model openai/gpt-5     each method, spec and seed
  promptpo bench mine.toml --only 'random search'"""

#: Settings that make no difference to what is compared.
_MACHINE = ("max_concurrency", "executor", "ray_address", "workers")

_HEADER = ("spec", "method", "seed", "held-out", "search steps", "others", "calls", "cost", "ended")


def parser() -> Parser:
    """The suite, and what of it is to be run."""
    p = Parser(
        "bench",
        epilog="The same command goes on where it was interrupted. docs/benchmark.md says what a"
        f" suite holds.\n\n{EXAMPLES}",
    )
    p.add_argument("suite", metavar="SUITE", help="a suite's TOML file, or one that ships by name")
    p.add_argument(
        "--only", type=listed, default=[], metavar="LABELS",
        help="run these methods of it now, comma-separated; the others stay as they are",
    )  # fmt: skip
    add_settings(
        p, ("model", *_MACHINE),
        words={
            "model": "language model for the methods that ask one and name none (default:"
            " $PROMPTPO_MODEL)",
            "max_concurrency": "model calls in flight at once, of all runs together (default: one"
            " per candidate of each)",
            "workers": "environment processes of all runs together (default: one per core)",
        },
    )  # fmt: skip
    add_out(p)
    p.add_argument("--dry-run", action="store_true", help="say what would be run, and run nothing")
    p.add_argument("--compare", action="store_true", help="run nothing: compare what there is")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.bench.runner import open_bench
    from promptpo.bench.suite_file import load_suite
    from promptpo.common.streams import Steady

    given = vars(arguments)
    bench = open_bench(
        load_suite(arguments.suite),
        arguments.out,
        model=given.get("model"),
        only=arguments.only,
        machine={name: given[name] for name in _MACHINE if name in given},
        asks=not (arguments.dry_run or arguments.compare),
    )
    stream = cast("TextIO", Steady(output()))
    if arguments.dry_run:
        _announce(bench, sum(m.label in bench.chosen for m in bench.plan.members), None, stream)
        return 0
    if arguments.compare:
        ended = bench.standing()
    else:
        ended = bench.run(stream, lambda tasks, cores: _announce(bench, len(tasks), cores, stream))
        say("", stream)
    _tell(bench, ended)
    if ended.code != EXIT_INTERRUPTED and any(ended.statuses.values()):
        _compare(bench)
    return ended.code


def _compare(bench: Bench) -> None:
    """Write the comparison, and name its files."""
    from promptpo.bench.results import write_comparison

    folder = bench.folder.path
    files = [file.relative_to(folder) for file in write_comparison(folder, bench.suite)]
    pages = [file for file in files if file.suffix == ".html"]
    rest = [file.name for file in files if len(file.parts) == 1 and file not in pages]
    drawn = [file for file in files if len(file.parts) > 1]
    rows = [("comparison", text.near_path(folder / page)) for page in pages]
    rows.append(("beside it", ", ".join(rest)))
    if drawn:
        rows.append(("figures", f"{text.near_path(folder / drawn[0].parent)}, {len(drawn)} files"))
    print_rows(rows)


def _announce(bench: Bench, runs: int, cores: int | None, stream: TextIO) -> None:
    """What is going to be run."""
    from promptpo.sweep.machines import on_ray
    from promptpo.sweep.plan import limits_of

    suite, cells = bench.suite, bench.plan.members
    tasks = text.plural(len(suite.specs), "spec")
    asked = on_ray(bench.plan.settings) and cores is None
    places = "as the Ray cluster has cores" if asked else at_once(runs, bench.plan.workers, cores)
    rows = [
        ("suite", f"{suite.name}: {suite.title}" if suite.title else suite.name),
        ("folder", text.near_path(bench.folder.path)),
        ("methods", ", ".join(e.label for e in suite.entrants)),
        ("cells", f"{len(cells)} on {tasks}, {runs} to run"),
        ("budget", f"each run: {limits_of(suite.budget)}; selection and held-out on top"),
        ("at once", places),
        *(("left out", f"{why}: {', '.join(which)}") for why, which in _by_reason(bench).items()),
        *(("no spec", f"{name}: {why}") for name, why in suite.absent.items()),
    ]
    print_rows(rows, stream)
    say("", stream)


def _by_reason(bench: Bench) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for member, why in bench.idle.items():
        found.setdefault(why, []).append(str(member))
    return found


def _tell(bench: Bench, ended: Ended) -> None:
    """A line a cell, and what there is to do next."""
    from promptpo.sweep.overview import counts, states

    order = {name: number for number, name in enumerate(bench.suite.specs)}
    cells = sorted(ended.statuses.items(), key=lambda cell: order[cell[0].name])
    print_table(_HEADER, [_row(member, status) for member, status in cells])
    say()
    rows = [("cells", counts(states(ended.statuses.values())))]
    rows += [("failed", f"{member}: {why}") for member, why in ended.failed]
    rows += [("to go on", "the same command again")] if ended.unfinished else []
    print_rows(rows)


def _row(member: Member, status: RunStatus | None) -> tuple[str, ...]:
    head = (member.name, member.label, str(member.seed))
    if status is None:
        return (*head, "", "", "", "", "", "not begun")
    search = f"{status.search_steps:,}"
    others = f"{status.steps - status.search_steps:,}"
    cost = text.money(status.cost) if status.cost is not None else "unknown"
    ended = f"{status.status}: {status.reason}" if status.reason else status.status
    return (*head, _held_out(status), search, others, f"{status.calls:,}", cost, ended)


def _held_out(status: RunStatus) -> str:
    score = status.held_out
    if score is None:
        return ""
    rate, mean = score.get("success_rate"), text.number(score["mean_return"])
    return mean if rate is None else f"success {rate:.2f}, {mean}"
