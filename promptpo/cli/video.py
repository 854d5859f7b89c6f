"""``promptpo video RUN_OR_POLICY``: film held-out episodes of a policy."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from promptpo.cli import runs
from promptpo.cli.parser import PLAYING_NOTE, Parser, add_out, add_playing, converter
from promptpo.cli.specs import add_specs, given_spec
from promptpo.common.terminal import say
from promptpo.common.values import shown
from promptpo.errors import UsageError

_EPILOG = f"""\
{PLAYING_NOTE}
MP4 holds H.264 video. A run's files go to its folder videos/, a policy's to videos/
beside it."""


def parser() -> Parser:
    """The policy, which episodes, and how they look."""
    p = Parser("video", epilog=_EPILOG)
    p.add_argument("policy", metavar="RUN_OR_POLICY", help=f"a policy's file, or {runs.NAMES}")
    add_specs(p, "the task of a policy's file")
    group = p.add_argument_group("video")
    group.add_argument(
        "--episodes",
        default="best,median,worst",
        metavar="NAMES|N",
        help="which held-out episodes: some of best,median,worst, or the first N"
        " (default: best,median,worst)",
    )
    group.add_argument(
        "--format", default="mp4", metavar="mp4,gif", help="files to write (default: mp4)"
    )
    group.add_argument("--to", metavar="DIR", help="folder that receives the files")
    add_out(group)
    group.add_argument(
        "--quality",
        default="fast",
        metavar="fast|high",
        help="high: shadows and smooth edges, several times slower (default: fast)",
    )
    group.add_argument(
        "--size",
        metavar="WxH",
        help="pixels of the picture above the caption (default: 640x480 for MuJoCo, else as large"
        " as the environment draws)",
    )
    group.add_argument(
        "--fps",
        type=converter(float, 0.1, 120),
        metavar="X",
        help="show every step, so many a second (default: the environment's own pace)",
    )
    add_playing(p, "choose from")
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    given: dict[str, Any] = vars(arguments)
    if spec := given_spec(arguments):
        given["spec"] = spec
    name, to, out = given.pop("policy"), given.pop("to"), given.pop("out")
    drawn = {k: given.pop(k) for k in ("episodes", "format", "quality", "size", "fps")}
    from promptpo.store.folder import RunFolder
    from promptpo.trackers import send
    from promptpo.video import Options, parse_episodes, render_policy, render_run

    options = Options(
        episodes=parse_episodes(drawn["episodes"]),
        formats=tuple(dict.fromkeys(drawn["format"].split(","))),
        quality=drawn["quality"],
        size=_size(drawn["size"]),
        fps=drawn["fps"],
    )
    path = Path(name)
    problems: list[str] = []
    from promptpo.video.progress import bars

    with bars() as watcher:
        if path.is_file():
            render_policy(path, options, to=to, settings=given, watcher=watcher)
        else:
            folder = runs.find(name, out)
            films = render_run(folder, options, to=to, settings=given, watcher=watcher)
            problems = send(RunFolder.open(folder), films)
    for problem in problems:
        say(problem, file=sys.stderr)
    return 0


def _size(words: str | None) -> tuple[int, int] | None:
    if words is None:
        return None
    found = re.fullmatch(r"([0-9]{1,5})[xX]([0-9]{1,5})", words)
    if not found:
        raise UsageError(f"--size: write it as WIDTHxHEIGHT, such as 640x480, not {shown(words)}")
    return int(found[1]), int(found[2])
