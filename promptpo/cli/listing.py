"""``promptpo list``: the specs that names find, and the runs so far."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, nearest
from promptpo.common import text
from promptpo.common.plaintext import clean_line
from promptpo.common.terminal import say
from promptpo.common.twins import side_by_side
from promptpo.errors import PromptPOError, UsageError
from promptpo.matrix.overview import counts
from promptpo.matrix.plan import PlanFolder
from promptpo.store.summary import Summary, summary_of

if TYPE_CHECKING:
    import sandbox
    from promptpo.spec.catalog import Entry

_SPEC_COLUMNS = ("spec", "horizon", "observation", "action", "recording", "twin", "from", "task")
_FAMILY_COLUMNS = ("family", "members", "for example", "from", "tasks")


def parser() -> Parser:
    """Where runs lie."""
    p = Parser("list")
    p.add_argument(
        "family",
        nargs="?",
        metavar="FAMILY",
        help="a family of specs: its members instead of this list; 'suites': those of benchmarks",
    )
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    if arguments.family == "suites":
        return list_suites()
    if arguments.family is not None:
        return list_members(arguments.family.rstrip(":"))
    from promptpo.spec import catalog

    others = catalog.installed()
    twins = with_twins()
    entries = catalog.shipped().specs + others.specs
    print_specs(_SPEC_COLUMNS, [spec_row(e, twin=e.name in twins) for e in entries])
    print_specs(_FAMILY_COLUMNS, family_rows())
    for problem in others.problems:
        say(f"{problem}\n")
    rows = run_rows(arguments.out)
    if rows:
        if sweeps := sweep_rows(arguments.out, rows):
            print_table(("sweep", "runs"), sweeps)
            say()
        print_table(("run", "status", "best", "held-out or search score"), rows)
    else:
        say(f"no runs in {arguments.out} yet")
    return 0


def with_twins() -> set[str]:
    """The specs that have a twin, ``twin:NAME``."""
    from promptpo.spec.catalog import families

    twins = next((family for family in families() if family.name == "twin"), None)
    try:
        return set(twins.members()) if twins else set()
    except PromptPOError:  # told in the row of the family
        return set()


def spec_row(entry: Entry, *, twin: bool) -> tuple[str, ...]:
    """The row of one spec; opens its environment to ask for its action space.

    ``twin``: it has one.
    """
    from promptpo.llm.recording import find_recording
    from promptpo.spec import Task, load_spec, observation_size

    ways = tuple("yes" if there else "no" for there in (find_recording(entry.name), twin))
    try:
        spec = load_spec(entry.name)
        task = Task.open(spec)
        action = space_words(task.action)
        task.close()
    except PromptPOError as e:
        return (entry.name, "", "", "", *ways, entry.origin, str(e))
    size = text.plural(observation_size(spec.observation), "number")
    return (entry.name, f"{spec.horizon:,}", size, action, *ways, entry.origin, spec.title)


def family_rows() -> list[tuple[str, ...]]:
    """One row for each family: how many members it has, one of them, and what they are."""
    from promptpo.spec.catalog import families

    rows: list[tuple[str, ...]] = []
    for family in families():
        origin = family.origin
        try:
            row = (str(len(family.members())), family.example, origin, family.title)
        except PromptPOError as e:
            row = ("", "", origin, str(e))
        rows.append((family.name, *row))
    return rows


def print_specs(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """A table and a blank line; without the column "from" where all is shipped."""
    at = header.index("from")
    if not any(row[at] for row in rows):
        header, *rows = [row[:at] + row[at + 1 :] for row in (header, *rows)]
    print_table(header, rows)
    say()


def list_members(name: str) -> int:
    """Print what ``--spec`` takes for each member of a family, one a line."""
    from promptpo.spec.catalog import families

    known = {family.name: family for family in families()}
    if name not in known:
        raise UsageError(f"no family of specs is called '{name}'; {nearest(name, known)}")
    for member in known[name].members():
        say(f"{name}:{member}")
    return 0


def list_suites() -> int:
    """Print the suites of benchmarks that ship, one a line."""
    from promptpo.matrix.suite import shipped_suites

    print_table(("suite", "what it compares"), list(shipped_suites().items()))
    return 0


def space_words(space: sandbox.Box | sandbox.Discrete | sandbox.MultiDiscrete) -> str:
    """An action space in few words: ``box(4)``, ``discrete(2)``."""
    import sandbox

    if isinstance(space, sandbox.Discrete):
        return f"discrete({space.n})"
    if isinstance(space, sandbox.Box):
        return f"box({', '.join(map(str, space.shape))})"
    return f"multidiscrete({', '.join(map(str, space.nvec))})"


def run_rows(out: Path) -> list[tuple[str, ...]]:
    """One row for each run, the latest first, and for each folder that was meant to be one.

    Those of a twin stand after those of its original.
    """
    found = [(folder, _summary(folder)) for folder in reversed(runs.all_folders(out))]
    ordered = side_by_side(found, lambda item: (item[0].parent.name, item[1].twin_of))
    return [_row(*item) for item in ordered]


def sweep_rows(out: Path, rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """One row for each sweep, the latest first, and how its runs stand, which are in ``rows``."""
    found: list[tuple[str, ...]] = []
    for sweep in reversed(PlanFolder.all_in(out)):
        name = text.near_path(sweep.path)
        states = [status for run, status, *_ in rows if Path(name) in Path(run).parents]
        states += ["waiting"] * (len(sweep.read().runs) - len(states))
        found.append((name, counts(states)))
    return found


def run_row(folder: Path) -> tuple[str, ...]:
    """Folder, status, winner and score; a held-out score where there is one.

    What cannot be read is named beside what can.
    """
    return _row(folder, _summary(folder))


def _summary(folder: Path) -> Summary:
    try:
        return summary_of(folder)
    except PromptPOError as e:
        return Summary(status="unreadable", problem=str(e))


def _row(folder: Path, run: Summary) -> tuple[str, ...]:
    words = "  ".join(filter(None, (run.words, run.problem)))
    return (text.near_path(folder), run.status, run.best, words)


def print_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Aligned columns; the last one may be as long as it likes."""
    rows = [tuple(map(clean_line, row)) for row in rows]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header) - 1)]
    for row in [header, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        say("  ".join([*cells, row[-1]]).rstrip())
