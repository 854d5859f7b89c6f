"""``promptpo record RUN --to FILE``: turn a run into a recording that can be replayed."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out
from promptpo.common.files import write_atomically
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import RunError, UsageError
from promptpo.store.events import read_log
from promptpo.store.folder import RunFolder
from promptpo.store.shapes import FORMAT


def parser() -> Parser:
    """The run, the file, and what the header says of its origin."""
    p = Parser("record")
    p.add_argument("run", metavar="RUN", help=runs.NAMES)
    p.add_argument("--to", type=Path, required=True, metavar="FILE", help="the recording to write")
    p.add_argument(
        "--by",
        default="",
        metavar="NAME",
        help="who wrote the replies (default: the model of the run)",
    )
    p.add_argument("--how", default="", metavar="TEXT", help="a line on how they were made")
    add_out(p)
    p.add_argument("--force", action="store_true", help="replace FILE where it exists")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    file: Path = arguments.to
    if file.exists() and not arguments.force:
        raise UsageError(f"{file}: exists already; give --force to replace it")
    folder = runs.find(arguments.run, arguments.out)
    header, replies = recording(folder, by=arguments.by, how=arguments.how)
    try:
        write_atomically(file, "".join([json.dumps(header) + "\n", *replies]))
    except OSError as e:
        raise UsageError(f"{file}: {e.strerror}; give --to a file that can be written") from None
    say(f"{file}: {len(replies)} replies of {folder}")
    return 0


def recording(folder: Path, *, by: str = "", how: str = "") -> tuple[dict[str, Any], list[str]]:
    """The header and the reply lines (as they stand, each with its line end) of a run's log.

    Raises RunError where the run holds no reply.
    """
    from promptpo.run.settings import settings_of

    settings = settings_of(RunFolder(folder))
    log = read_log(folder / "events.jsonl")
    lines = zip(log.events, log.good.values(), strict=True)
    replies = [line.decode() + "\n" for event, line in lines if event.type == "reply"]
    if text := log.words("events.jsonl"):
        say(f"promptpo: {text}; replies in it are left out", sys.stderr)
    if not replies:
        raise RunError(f"{folder}: no reply on record; there is nothing to replay")
    header = {
        "type": "recording",
        "format": FORMAT,
        "spec": folder.parent.name,
        "policy_seed": settings.get("policy_seed") or 0,
        "config": settings | {"spec": folder.parent.name, "out": RunConfig.out},  # no paths
        "how": how,
        "model": by or json.loads(replies[0])["model"],
        "date": time.strftime("%Y-%m-%d", time.gmtime(log.events[0].time)),
    }
    return header, replies
