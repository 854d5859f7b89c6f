"""``promptpo repair RUN``: set aside what cannot be read of a run's files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common import text
from promptpo.common.terminal import say
from promptpo.errors import RunError
from promptpo.store.folder import RunFolder


def parser() -> Parser:
    """The run."""
    p = Parser(
        "repair",
        epilog="Nothing is thrown away: unreadable lines of events.jsonl go to"
        " events.jsonl.damaged. `promptpo --resume RUN` does the same, and then does again what"
        " those lines recorded.",
    )
    p.add_argument("run", metavar="RUN", help=runs.NAMES)
    add_out(p)
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    folder = RunFolder.open(runs.find(arguments.run, arguments.out))
    descriptor = folder.lock()
    try:
        done = [*repaired(folder)]
    finally:
        os.close(descriptor)
    name = text.near_path(folder.path)
    for line in done or ["nothing to repair"]:
        say(f"{name}: {line}")
    return 0


def repaired(folder: RunFolder) -> Iterator[str]:
    """Put a run's files right; a line for each thing that was wrong. The caller has its lock."""
    from promptpo.store import episodes
    from promptpo.store.events import mend, read_log
    from promptpo.store.reading import info_of
    from promptpo.store.record import Record

    contents = read_log(folder.events)
    if notice := mend(folder.events, contents):
        yield notice
    try:
        folder.read_info()
    except RunError as e:
        if not any(event.type == "run" for event in contents.events):
            raise
        info = folder.path / "run.json"
        info.rename(info.with_name("run.json.damaged"))
        folder.write_info(info_of(Record(contents.events)))
        yield f"{e}: set aside in run.json.damaged, written anew from the log"
    for file in sorted(folder.path.glob("candidates/*/*.npz")):
        try:
            episodes.read(file)
        except RunError as e:
            yield str(e)
