"""``promptpo export RUN``: take a run's policy, or its replies, to use them elsewhere."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import RunError, UsageError
from promptpo.store.events import FORMAT, read_log
from promptpo.store.folder import RunFolder

#: Names the folder of Minari's datasets.
_ROOT = "MINARI_DATASETS_PATH"


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
    replies = p.add_argument_group("replies")
    replies.add_argument(
        "--recording",
        type=Path,
        metavar="FILE",
        help="write only a recording of the model's replies, for --model recorded:FILE",
    )
    replies.add_argument("--how", metavar="TEXT", help="a line in it on how they were made")
    p.add_argument(
        "--author",
        metavar="NAME",
        help="author of the dataset, or of the replies (default: the model of the run)",
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    if arguments.author is not None and not (arguments.minari or arguments.recording):
        raise UsageError("--author: of a dataset or a recording; add --minari or --recording")
    if arguments.how is not None and arguments.recording is None:
        raise UsageError("--how: it stands in a recording's header; add --recording")
    if arguments.recording is not None:
        if arguments.to or arguments.minari:
            raise UsageError("--recording: writes no policy; leave out --to and --minari")
        _write_recording(arguments)
        return 0
    from promptpo.export import write_folder
    from promptpo.export.folder import spec_of_run
    from promptpo.store.run import load_run

    run = load_run(runs.find(arguments.run, arguments.out))
    to = arguments.to or run.folder / "export"
    if note := spec_of_run(run.folder, run.settings["spec"])[1]:
        say(f"promptpo: {note}", sys.stderr)
    for file in write_folder(run, to, force=arguments.force):
        say(text.near_path(file))
    if arguments.minari:
        from promptpo.export.minari_dataset import require_minari
        from promptpo.rollout.watched import apart

        require_minari()
        root = arguments.to / "minari" if arguments.to else None
        limit = run.settings.get("env_timeout") or RunConfig.env_timeout
        given = (run.folder, root, arguments.author, arguments.force)
        name, path = apart(run.spec, limit, _write_dataset, *given)
        place = f"{_ROOT}={root} " if root else ""
        say(f"{text.near_path(path)}  {place}minari.load_dataset({name!r})")
    return 0


def _write_dataset(
    folder: Path, root: Path | None, author: str | None, force: bool
) -> tuple[str, Path]:
    """Write a dataset under ``root``, in a process of its own: Minari reads the environment."""
    from promptpo.export.minari_dataset import write_dataset
    from promptpo.store.run import load_run

    if root is not None:
        os.environ[_ROOT] = str(root.resolve())
    return write_dataset(load_run(folder), author=author, force=force)


def _write_recording(arguments: argparse.Namespace) -> None:
    """Write the replies of a run, and say how many. Raises UsageError where the file is there."""
    file: Path = arguments.recording
    if file.exists() and not arguments.force:
        raise UsageError(f"{file}: exists already; give --force to replace it")
    folder = runs.find(arguments.run, arguments.out)
    header, replies = _recording(folder, author=arguments.author, how=arguments.how)
    try:
        write_atomically(file, "".join([json.dumps(header) + "\n", *replies]))
    except OSError as e:
        raise UsageError(
            f"{file}: {e.strerror}; give --recording a file that can be written"
        ) from None
    say(f"{file}: {len(replies)} replies of {folder}")


def _recording(
    folder: Path, *, author: str | None, how: str | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the header and the reply lines, as they stand, of a run's log.

    Raises RunError where the run holds no reply.
    """
    from promptpo.run.settings import settings_of

    settings = settings_of(RunFolder(folder))
    log = read_log(folder / "events.jsonl")
    lines = zip(log.events, log.good.values(), strict=True)
    replies = [line.decode() + "\n" for event, line in lines if event.type == "reply"]
    if unreadable := log.words("events.jsonl"):
        say(f"promptpo: {unreadable}; replies in it are left out", sys.stderr)
    if not replies:
        raise RunError(f"{folder}: no reply on record; there is nothing to replay")
    header = {
        "type": "recording",
        "format": FORMAT,
        "spec": folder.parent.name,
        "policy_seed": settings.get("policy_seed") or 0,
        "config": settings | {"spec": folder.parent.name, "out": RunConfig.out},  # no paths
        "how": how or "",
        "model": author or json.loads(replies[0])["model"],
        "date": time.strftime("%Y-%m-%d", time.gmtime(log.events[0].time)),
    }
    return header, replies
