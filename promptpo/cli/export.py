"""``promptpo export RUN``: take a run's policy away, to use it elsewhere."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common import text
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import UsageError

if TYPE_CHECKING:
    from promptpo.export.minari_dataset import Dataset


def parser() -> Parser:
    """The run, and what to write where."""
    p = Parser("export")
    p.add_argument("run", metavar="RUN", help=runs.NAMES)
    p.add_argument(
        "--to",
        type=Path,
        metavar="DIR",
        help="folder to write (default: 'export' in the run's folder)",
    )
    add_out(p)
    p.add_argument("--force", action="store_true", help="replace files that are there already")
    data = p.add_argument_group("trajectories")
    data.add_argument(
        "--minari",
        action="store_true",
        help="also write the best policy's search episodes as a Minari dataset, into DIR/minari;"
        " without --to, to where Minari looks ($MINARI_DATASETS_PATH)",
    )
    data.add_argument(
        "--author", metavar="NAME", help="author in the dataset's metadata (with --minari)"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    if arguments.author is not None and not arguments.minari:
        raise UsageError("--author: it stands in a Minari dataset's metadata; add --minari")
    from promptpo.export import write_folder
    from promptpo.export.spec_copy import spec_of_run
    from promptpo.store.reading import read_record

    run = read_record(runs.find(arguments.run, arguments.out))
    to = arguments.to or run.folder / "export"
    if note := spec_of_run(run.folder, run.config["spec"])[1]:
        say(f"promptpo: {note}", sys.stderr)
    for file in write_folder(run, to, force=arguments.force):
        say(text.near_path(file))
    if arguments.minari:
        from promptpo.export.minari_dataset import require_minari
        from promptpo.rollout.apart import apart

        require_minari()
        root = arguments.to / "minari" if arguments.to else None
        limit = run.config.get("env_timeout") or RunConfig.env_timeout
        given = (run.folder, root, arguments.author, arguments.force)
        dataset = apart(run.spec, limit, _write_dataset, *given)
        say(f"{text.near_path(dataset.path)}  {dataset.use}")
    return 0


def _write_dataset(folder: Path, root: Path | None, author: str | None, force: bool) -> Dataset:
    from promptpo.export.minari_dataset import write_dataset
    from promptpo.store.reading import read_record

    return write_dataset(read_record(folder), root, author=author, force=force)
