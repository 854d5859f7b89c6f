"""``promptpo bench SUITE``: methods on the same specs, seeds and budget, and their comparison."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TextIO, cast

from promptpo.cli.parser import Parser, add_out, add_settings
from promptpo.common import text
from promptpo.common.plaintext import listed
from promptpo.common.terminal import output, print_rows, print_table, say
from promptpo.errors import EXIT_INTERRUPTED

if TYPE_CHECKING:
    from promptpo.matrix.bench import Bench
    from promptpo.matrix.plan import PlannedRun
    from promptpo.matrix.runner import Outcome
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
    """Return the parser of ``bench``."""
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
            "workers": "environment processes of all runs together (default: one per core)",
        },
    )  # fmt: skip
    add_out(p)
    p.add_argument("--dry-run", action="store_true", help="say what would be run, and run nothing")
    p.add_argument("--compare", action="store_true", help="run nothing: compare what there is")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.common.terminal import Steady
    from promptpo.matrix.bench import open_bench
    from promptpo.matrix.suite import load_suite

    values = vars(arguments)
    bench = open_bench(
        load_suite(arguments.suite),
        arguments.out,
        model=values.get("model"),
        only=arguments.only,
        machine={name: values[name] for name in _MACHINE if name in values},
        asks=not (arguments.dry_run or arguments.compare),
    )
    stream = cast("TextIO", Steady(output()))
    if arguments.dry_run:
        _announce(bench, sum(r.label in bench.chosen for r in bench.plan.runs), None, stream)
        return 0
    if arguments.compare:
        outcome = bench.outcome()
    else:
        outcome = bench.run(stream, lambda runs, cores: _announce(bench, runs, cores, stream))
        say("", stream)
    _print_outcome(bench, outcome)
    if outcome.code != EXIT_INTERRUPTED and any(outcome.statuses.values()):
        _compare(bench, outcome)
    return outcome.code


def _compare(bench: Bench, outcome: Outcome) -> None:
    """Write the comparison, and name its files."""
    from promptpo.matrix.bench import write_comparison

    folder = bench.folder.path
    written = write_comparison(folder, bench.suite, bench.runs(outcome.statuses))
    files = [file.relative_to(folder) for file in written]
    beside = [f.name for f in files if len(f.parts) == 1 and f.suffix != ".html"]
    drawn = [f for f in files if len(f.parts) > 1]
    figures = f"{text.near_path(folder / 'figures')}, {len(drawn)} files" if drawn else ""
    rows = [("comparison", text.near_path(folder / f)) for f in files if f.suffix == ".html"]
    print_rows([*rows, ("beside it", ", ".join(beside)), ("figures", figures)])


def _announce(bench: Bench, runs: int, cores: int | None, stream: TextIO) -> None:
    """Print what is going to be run."""
    from promptpo.matrix.plan import limits_of
    from promptpo.matrix.runner import at_once, on_ray

    suite, planned = bench.suite, bench.plan.runs
    specs = text.plural(len(suite.specs), "spec")
    on_cluster = on_ray(bench.plan.settings) and cores is None
    places = (
        "as the Ray cluster has cores" if on_cluster else at_once(runs, bench.plan.workers, cores)
    )
    left_out: dict[str, list[str]] = {}
    for run, reason in bench.idle.items():
        left_out.setdefault(reason, []).append(str(run))
    rows = [
        ("suite", f"{suite.name}: {suite.title}" if suite.title else suite.name),
        ("folder", text.near_path(bench.folder.path)),
        ("methods", ", ".join(suite.labels)),
        ("cells", f"{len(planned)} on {specs}, {runs} to run"),
        ("budget", f"each run: {limits_of(suite.budget)}; selection and held-out on top"),
        ("at once", places),
        *(("left out", f"{reason}: {', '.join(names)}") for reason, names in left_out.items()),
        *(("no spec", f"{name}: {reason}") for name, reason in suite.absent.items()),
    ]
    print_rows(rows, stream)
    say("", stream)


def _print_outcome(bench: Bench, outcome: Outcome) -> None:
    """Print a line a run, and how to go on."""
    from promptpo.matrix.overview import counts, states

    place = bench.suite.specs.index
    runs = sorted(outcome.statuses.items(), key=lambda each: place(each[0].name))
    print_table(_HEADER, [_row(run, status) for run, status in runs])
    say()
    print_rows([
        ("cells", counts(states(outcome.statuses))),
        *(("failed", f"{run}: {reason}") for run, reason in outcome.failed),
        ("to go on", "the same command again" if outcome.unfinished else ""),
    ])  # fmt: skip


def _row(run: PlannedRun, status: RunStatus | None) -> tuple[str, ...]:
    head = (run.name, run.label, str(run.seed))
    if status is None:
        return (*head, "", "", "", "", "", "not begun")
    held_out = text.score(status.held_out) if status.held_out is not None else ""
    search = f"{status.search_steps:,}"
    others = f"{status.steps - status.search_steps:,}"
    cost = text.money(status.cost) if status.cost is not None else "unknown"
    ended = f"{status.status}: {status.reason}" if status.reason else status.status
    return (*head, held_out, search, others, f"{status.calls:,}", cost, ended)
