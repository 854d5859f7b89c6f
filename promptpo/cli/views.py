"""The commands that show what there is: ``list``, ``compare``, ``report`` and ``view``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, nearest, number
from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.plaintext import listed
from promptpo.common.terminal import STATUS, named, output, print_table, say
from promptpo.common.text import side_by_side
from promptpo.errors import PromptPOError, UsageError

if TYPE_CHECKING:
    from promptpo.store.summary import Summary

_SPEC_COLUMNS = ("spec", "recording", "twin", "from", "task")
_FAMILY_COLUMNS = ("family", "for example", "from", "tasks")
_RUN_COLUMNS = ("run", "status", "best", "held-out or search score")

#: Runs that stand in the list of all there is: the latest.
_LATEST = 20


def list_all_parser() -> Parser:
    """Return the parser of ``list``."""
    p = Parser("list")
    words = (
        "'runs': all of them, and no specs; a family of specs: its members; 'suites': those of"
        " benchmarks"
    )
    p.add_argument("what", nargs="?", metavar="WHAT", help=words)
    p.add_argument("--json", action="store_true", help="print all runs and specs as one object")
    add_out(p)
    return p.finish()


def list_all(arguments: argparse.Namespace) -> int:
    """Print the runs and specs, the members of a family, or the suites of benchmarks."""
    what: str | None = arguments.what
    if what not in (None, "runs", "suites"):
        _print_members(what)
    elif what == "suites":
        from promptpo.matrix.suite import shipped_suites

        print_table(("suite", "what it compares"), list(shipped_suites().items()))
    elif arguments.json:
        _print_json(arguments.out)
    else:
        _print_runs(arguments.out, None if what else _LATEST)
        if what is None:
            say()
            _print_specs()
    return 0


def _print_members(name: str) -> None:
    """Print the members of a family. Raises UsageError where there is none of that name."""
    from promptpo.spec import catalog

    name = name.rstrip(":")
    families = {family.name: family for family in catalog.families()}
    if name not in families:
        hint = nearest(name, ["runs", "suites", *families])
        raise UsageError(f"no family of specs is called '{name}'; {hint}")
    for member in families[name].members():
        say(f"{name}:{member}")


def _print_json(out: Path) -> None:
    """Print all that there is as one JSON object."""
    from promptpo.spec import catalog
    from promptpo.store.codec import encode

    def objects(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[dict[str, str]]:
        return [dict(zip(header, row, strict=True)) for row in rows]

    listing = {
        "runs": [{"folder": str(folder), **encode(run)} for folder, run in _summaries(out)],
        "specs": objects(_SPEC_COLUMNS, _spec_rows()),
        "families": objects(_FAMILY_COLUMNS, _family_rows()),
        "problems": catalog.installed().problems,
    }
    say(json.dumps(listing, indent=2))


def _print_runs(out: Path, most: int | None) -> None:
    """Print the runs under ``out``, the latest ``most`` of them, and the sweeps before them."""
    rows = run_rows(out)
    if sweeps := _sweep_rows(out, rows):
        print_table(("sweep", "runs"), sweeps)
        say()
    if not rows:
        say(f"no runs in {out} yet")
        return
    print_table(_RUN_COLUMNS, rows[:most])
    if more := len(rows[most:]) if most else 0:
        say(f"and {more:,} older: promptpo list runs")


def _print_specs() -> None:
    """Print specs and families; nothing of them is imported but the families."""
    from promptpo.spec import catalog

    specs = [(*row[:-1], row[-1].partition(": ")[2] or row[-1]) for row in _spec_rows()]
    _print_origins(_SPEC_COLUMNS, specs)
    say()
    _print_origins(_FAMILY_COLUMNS, _family_rows())
    for problem in catalog.installed().problems:
        say(f"\n{problem}")


def _spec_rows() -> list[tuple[str, ...]]:
    """Return a row for each spec that has a name."""
    from promptpo.llm.recording import find_recording
    from promptpo.spec import catalog

    twins = with_twins()

    def row(e: catalog.Entry) -> tuple[str, ...]:
        ways = ("yes" if exists else "" for exists in (find_recording(e.name), e.name in twins))
        return (e.name, *ways, e.origin, e.title)

    return [row(entry) for entry in (*catalog.shipped().specs, *catalog.installed().specs)]


def with_twins() -> set[str]:
    """Return the specs that have a twin, ``twin:NAME``."""
    from promptpo.spec.catalog import families

    twins = next((family for family in families() if family.name == "twin"), None)
    try:
        return set(twins.members()) if twins else set()
    except PromptPOError:  # the family's own row says so
        return set()


def _family_rows() -> list[tuple[str, ...]]:
    from promptpo.spec.catalog import families

    rows: list[tuple[str, ...]] = []
    for family in families():
        try:
            example, title = family.example, family.title
        except PromptPOError as e:
            example, title = "", str(e)
        rows.append((family.name, example, family.origin, title))
    return rows


def _print_origins(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a table, without the column "from" where all is shipped."""
    at = header.index("from")
    if not any(row[at] for row in rows):
        header, *rows = [row[:at] + row[at + 1 :] for row in (header, *rows)]
    print_table(header, rows, cut=True)


def run_rows(out: Path) -> list[tuple[str, ...]]:
    """Return a row for each run, the latest first, and for each folder that should be one.

    Those of a twin follow those of its original.
    """
    return [_row(*item) for item in _summaries(out)]


def _summaries(out: Path) -> list[tuple[Path, Summary]]:
    summaries = [(folder, _summary(folder)) for folder in reversed(runs.all_folders(out))]
    return side_by_side(summaries, lambda item: (item[0].parent.name, item[1].twin_of))


def _summary(folder: Path) -> Summary:
    from promptpo.store.summary import Summary, summary_of

    try:
        return summary_of(folder)
    except PromptPOError as e:
        return Summary(status="unreadable", problem=str(e))


def _row(folder: Path, run: Summary) -> tuple[str, ...]:
    words = "  ".join(filter(None, (run.words, run.problem)))
    return (text.near_path(folder), run.status, run.best, words)


def _sweep_rows(out: Path, rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return a row for each sweep, the latest first, with the states of its runs in ``rows``."""
    from promptpo.matrix.overview import counts
    from promptpo.matrix.plan import PlanFolder

    sweeps: list[tuple[str, ...]] = []
    for sweep in reversed(PlanFolder.all_in(out)):
        name = text.near_path(sweep.path)
        states = [status for run, status, *_ in rows if Path(name) in Path(run).parents]
        states += ["waiting"] * (len(sweep.read().runs) - len(states))
        sweeps.append((name, counts(states)))
    return sweeps


def compare_parser() -> Parser:
    """Return the parser of ``compare``."""
    p = Parser(
        "compare",
        epilog="Runs that differ in nothing but their seed are one group; each spec has tables and"
        " axes of its own. docs/runs.md says how the intervals and tests are made.",
    )
    p.add_argument("runs", nargs="+", metavar="RUN", help=runs.SEVERAL)
    add_out(p)
    files = p.add_argument_group("files")
    words = "folder for the files (default: comparison); alone it means all of them"
    files.add_argument("--to", type=Path, metavar="DIR", help=words)
    words = (
        "files to write: scores, tests and curves as numbers; learning curves, 3.25 inches wide;"
        " the same with text as text, for papers"
    )
    files.add_argument("--format", type=listed, default=(), metavar="csv,png,svg", help=words)
    words = "one self-contained page: all runs, curves, scores, tests"
    files.add_argument("--html", type=Path, metavar="FILE", help=words)
    return p.finish()


def compare(arguments: argparse.Namespace) -> int:
    """Print scores, tests and curves of runs side by side, and write files of them."""
    from promptpo.comparison import FORMATS, Comparison
    from promptpo.ui.tables import console_of

    comparison = Comparison.of(runs.find_all(arguments.runs, arguments.out))
    formats = arguments.format or (FORMATS if arguments.to else ())
    if arguments.html:
        comparison.html(arguments.html)
    contents = comparison.files(formats)  # before the tables: an error is the only output
    with named(output()):
        comparison.print(console_of(output()))
    folder = arguments.to or Path("comparison")
    try:
        for name, content in contents.items():
            write_atomically(folder / name, content)
            say(text.near_path(folder / name))
        if arguments.html:
            say(text.near_path(arguments.html))
    except OSError as e:
        words = f"{folder}: {e.strerror}; give --to a folder that can be written"
        raise UsageError(words) from None
    return 0


def report_parser() -> Parser:
    """Return the parser of ``report``."""
    p = Parser("report")
    p.add_argument("runs", nargs="*", metavar="RUN", help=f"{runs.NAMES} (default: latest)")
    words = "the page (default: report.html in the run's folder)"
    p.add_argument("--to", type=Path, metavar="FILE", help=words)
    words = "put the videos into the page, not beside it"
    p.add_argument("--inline-videos", action="store_true", help=words)
    p.add_argument("--open", action="store_true", help="open the page in a browser")
    add_out(p)
    return p.finish()


def report(arguments: argparse.Namespace) -> int:
    """Write the self-contained page of a run."""
    from promptpo.report import write_report
    from promptpo.store.summary import summary_of
    from promptpo.video import add_strip

    if len(arguments.runs) > 1:
        several = " ".join(arguments.runs)
        words = f"{text.program()} compare {several} --html FILE"
        raise UsageError(f"a report is of one run; several on one page: {words}")
    folder = runs.find((arguments.runs or ["latest"])[0], arguments.out)
    STATUS.show("drawing moments of the best policy")
    add_strip(folder)
    file = write_report(folder, arguments.to, inline_videos=arguments.inline_videos)
    say(text.near_path(file))
    if summary_of(folder).status == "killed":
        path = text.near_path(folder)
        words = f"{path}: stopped without an end; {text.program()} --resume {path} continues it"
        say(f"promptpo: {words}", sys.stderr)
    if arguments.open:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())
    return 0


def view_parser() -> Parser:
    """Return the parser of ``view``."""
    p = Parser("view")
    p.add_argument("run", nargs="?", metavar="RUN", help=f"{runs.NAMES} (default: all runs)")
    words = "port on 127.0.0.1; 0: a free one (default: 8321)"
    port = number("--port", int, 0, 65_535)
    p.add_argument("--port", type=port, default=8321, metavar="N", help=words)
    p.add_argument("--open", action="store_true", help="open the page in a browser")
    add_out(p)
    return p.finish()


def view(arguments: argparse.Namespace) -> int:
    """Serve reports until Ctrl-C."""
    from promptpo.view import PageServer

    out: Path = arguments.out
    if arguments.run is None:
        server = PageServer(lambda: runs.all_runs(out), out, arguments.port)
    else:
        folder = runs.find(arguments.run, out).resolve()
        server = PageServer(lambda: [folder], folder.parent.parent, arguments.port, only=True)
    with contextlib.suppress(KeyboardInterrupt), server:
        say(f"{server.url}  (Ctrl-C ends it)")
        if arguments.open:
            import webbrowser

            webbrowser.open(server.url)
        STATUS.end()
        server.serve_forever()
    return 0
