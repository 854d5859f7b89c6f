"""The commands that take a policy or a run: ``eval``, ``tune``, ``video`` and ``export``."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo import config
from promptpo.cli import run as run_command
from promptpo.cli import runs
from promptpo.cli.parser import Parser, add_out, add_settings, number
from promptpo.cli.specs import add_specs, take_spec
from promptpo.common import text
from promptpo.common.files import write_atomically
from promptpo.common.plaintext import shown
from promptpo.common.terminal import STATUS, named, output, print_rows, print_table, say
from promptpo.config import PlaySettings, RunConfig
from promptpo.errors import PromptPOError, RunError, UsageError

if TYPE_CHECKING:
    from promptpo.evaluation import PolicyComparison, Transfer
    from promptpo.export.learned import Learned
    from promptpo.policies.constants import Constant, Scale

_UNGIVEN = "What is not given is as it was in the run; a policy's file needs SPEC."

_EVAL_NOTE = f"""\
expert, random and zero are what every task has: its expert, if it has one, random actions and zero
actions (a file of such a name is ./expert). Several policies are played on the same seeds, and
tested in pairs.

With --on TWIN, one policy is played on its own task and on the world of a twin of it (lengths,
masses, time step), behind the order, signs and names of its own task. What it keeps there of its
score was not the body that it was written for.

{_UNGIVEN}"""

_TUNE_NOTE = """\
Its constants (--list prints them) are chosen by CMA-ES on episodes of their own.
What is found plays on if it is better beyond noise than what is written, or open and ahead of it,
and stands in the policy as plain numbers, the old ones in comments. This is a run like any other:
it has a report, and after an interruption promptpo --resume latest goes on. A policy's file needs
SPEC."""

_TUNE_SETTINGS = (
    "tune_steps", "constants", "constants_in", "last_word", "seed", "policy_seed",
    "selection_episodes", "test_episodes", "max_env_steps", "max_time", "executor",
    "ray_address", "workers", "sandbox", "act_timeout", "episode_timeout", "env_timeout",
    "policy_lifetime", "evaluation_episodes", "out", "track",
)  # fmt: skip

#: Names the folder of Minari's datasets.
_MINARI_ROOT = "MINARI_DATASETS_PATH"

_VIDEO_NOTE = f"""\
{_UNGIVEN}
MP4 holds H.264 video. A run's files go to its folder videos/, a policy's to videos/
beside it."""


def _add_playing(p: Parser, purpose: str, *also: str) -> None:
    """Add the settings of a command that plays held-out episodes for a purpose.

    ``also`` are other names of the option that says how many.
    """
    words = {
        "test_episodes": f"held-out episodes to {purpose}",
        "seed": "seed of the held-out episodes",
    }
    add_settings(p, config.fields(PlaySettings), {"test_episodes": also}, words)


def evaluate_parser() -> Parser:
    """Return the parser of ``eval``."""
    p = Parser("eval", epilog=_EVAL_NOTE)
    words = f"a policy's file, {runs.NAMES}; or expert, random, zero"
    p.add_argument("policies", nargs="+", metavar="POLICY_OR_RUN", help=words)
    add_specs(p, "the task of a policy's file")
    words = "twin:NAME or twin:NAME@SEED of the policy's task, or the original of its twin"
    p.add_argument("--on", metavar="TWIN", help=words)
    add_out(p)
    results = p.add_argument_group("results")
    results.add_argument("--json", action="store_true", help="print one JSON object")
    words = "keep them in the runs whose policies are scored"
    results.add_argument("--keep", action="store_true", help=words)
    _add_playing(p, "play", "--episodes")
    return p.finish()


def evaluate(arguments: argparse.Namespace) -> int:
    """Score policies: 0 if every one got through its episodes, else 1."""
    from promptpo.common.concurrency import run_to_end
    from promptpo.evaluation import PolicyComparison, find_player, score, settings_for, transfer
    from promptpo.ui.tables import console_of

    values = vars(arguments)
    words: list[str] = values.pop("policies")
    as_json, keep, out = values.pop("json"), values.pop("keep"), values.pop("out")
    on: str | None = values.pop("on")
    if "spec" not in values and len(words) > 1 and _is_task(words[-1]):
        values["specs"] = words.pop()
    if ref := take_spec(arguments):
        values["spec"] = ref
    if on is not None and (keep or len(words) > 1):
        raise UsageError("--on: takes one policy, and keeps nothing; leave out the rest")
    find_run = partial(runs.find, out=out)
    players = [find_player(word, find_run) for word in dict.fromkeys(words)]
    if keep and not any(player.run for player in players):
        raise UsageError("--keep: none of these is the best policy of a run; leave it out")
    if on is not None:
        transferred = run_to_end(transfer(players[0], on, values, _note))
        say(_json(transferred) if as_json else transferred)
        return 1 if transferred.error else 0
    settings = settings_for(players, values, _note)
    if not as_json:
        STATUS.show("playing held-out episodes")
    evaluations = run_to_end(score(players, settings))
    comparison = PolicyComparison(tuple(evaluations))
    if as_json:
        say(_json(comparison))
    elif len(evaluations) > 1:
        with named(output()):
            comparison.print(console_of(output()))
    elif error := evaluations[0].error:
        raise PromptPOError(error)
    else:
        say(evaluations[0])
    files = [("kept", text.near_path(file)) for file in comparison.keep()] if keep else []
    print_rows(files, sys.stderr if as_json else output())
    return 1 if any(evaluation.error for evaluation in evaluations) else 0


def _json(result: PolicyComparison | Transfer) -> str:
    return json.dumps(result.as_dict(), indent=2, allow_nan=False)


def _note(words: str) -> None:
    say(f"promptpo: {words}", sys.stderr)


def _is_task(word: str) -> bool:
    """Return whether the last of several words is a spec: no policy, and no path of a run."""
    from promptpo.spec import shipped_specs

    for path in (Path(word), Path(f"{word}.py")):
        if path.is_file():
            return re.search(r"(?m)^SPEC\b", path.read_text("utf-8", "replace")) is not None
    return word in shipped_specs() or (":" in word and not Path(word).exists())


def tune_parser() -> Parser:
    """Return the parser of ``tune``."""
    p = Parser("tune", epilog=_TUNE_NOTE)
    p.add_argument("policy", metavar="POLICY_OR_RUN", help=f"a policy's file, or {runs.NAMES}")
    add_specs(p, "its task")
    p.add_argument("--to", type=Path, metavar="FILE", help="also write the policy to this file")
    p.add_argument("--list", action="store_true", help="print the constants, and tune nothing")
    p.add_argument("--json", action="store_true", help="print JSON: the run's end, or the list")
    words = {"out": config.fields(RunConfig)["out"].help}
    add_settings(p, ("spec", *_TUNE_SETTINGS), {"tune_steps": ("--steps",)}, words)
    return p.finish()


def tune(arguments: argparse.Namespace) -> int:
    """Tune a policy's numbers: 0 if there is a policy that got through its episodes, else 1."""
    from promptpo.evaluation import find_player
    from promptpo.policies.constants import listed
    from promptpo.run.settings import build, configure, play_settings

    values: dict[str, Any] = vars(arguments)
    word, to, as_json = values.pop("policy"), values.pop("to"), values.pop("json")
    only_list = values.pop("list")
    if spec := take_spec(arguments):
        values["spec"] = spec
    if to is not None and to.is_dir():
        raise UsageError(f"--to {to}: is a folder; name a file")
    player = find_player(word, partial(runs.find, out=Path(values.get("out", RunConfig.out))))
    if player.file is None:
        raise UsageError(f"{player.label} is no policy; name a run, or a policy's file")
    asked = build(values)
    which, task = asked.constants, asked.spec or player.settings.get("spec")
    scales = None
    if asked.constants_in == "everywhere":
        scales = _scales(replace(asked, spec=task)) if task else {}
    constants = listed(player.file.source, which, player.label, scales)
    if only_list:
        _print_constants(constants, as_json=as_json)
        return 0
    if not constants:
        hint = "; --set constants=auto takes all that are found" if which == "declared" else ""
        raise UsageError(f"{player.label}: no constants to tune: no number to choose in it{hint}")
    learned = player.file.learned if player.file.prepared else None
    beside = _beside(to, learned) if to is not None and learned is not None else None
    settings = {**play_settings(player.settings), **values}
    if "test_episodes" not in values:
        settings.pop("test_episodes", None)
    if not settings.get("spec"):
        raise UsageError(f"{player.label}: of which task? name it: promptpo tune FILE SPEC")
    path = player.file.path.resolve()
    fixed = {"method": "tune", "model": f"file:{path}", "tune": True, "rounds": 1, "candidates": 1}
    result = run_command.execute(configure({**settings, **fixed}), None, as_json=as_json)
    if to is not None and result.best is not None and result.best.source is not None:
        if learned is not None and learned.beside is not None and beside is not None:
            write_atomically(beside, learned.beside)
        best = result.folder / "best" / "policy.py"
        write_atomically(to, best.read_text("utf-8") if learned else result.best.source)
        if not as_json:
            print_rows([("written", text.near_path(to))])
    return run_command.exit_code(result) or int(result.best is None)


def _scales(config: RunConfig) -> dict[str, Scale]:
    """Return what the ranges of constants go by: the fields and the actions of a task."""
    from promptpo.common.concurrency import run_to_end
    from promptpo.policies.constants import scales_of
    from promptpo.rollout import open_executor
    from promptpo.spec import load_spec

    spec = load_spec(config.spec, limit=config.env_timeout)
    with contextlib.closing(open_executor(config.for_spec(spec), spec)) as executor:
        return scales_of(spec, run_to_end(executor.describe()).actions)


def _beside(to: Path, learned: Learned) -> Path:
    """Return the file of a policy's arrays. Raises UsageError where another policy's lie there."""
    from promptpo.export.learned import BESIDE

    file = to.with_name(BESIDE)
    if learned.beside is not None and file.exists() and file.read_bytes() != learned.beside:
        raise UsageError(f"--to {to}: {file} is of another policy; name a file in another folder")
    return file


def _print_constants(constants: Sequence[Constant], *, as_json: bool) -> None:
    """Print line, name, value and range of each, as a table or as one JSON list."""
    if as_json:
        data = [{"line": c.line, **asdict(c)} for c in constants]
        for each in data:
            del each["literal"]
        say(json.dumps(data, indent=2, allow_nan=False))
        return
    if not constants:
        say("no constants: no number to choose in it")
        return
    rows: list[tuple[str, ...]] = []
    for c in constants:
        kinds = ["declared"] * c.declared + ["whole"] * c.integer + ["log"] * c.log
        numbers = (f"{c.value:.6g}", f"{c.low:.4g}", f"{c.high:.4g}")
        rows.append((str(c.line), c.name, *numbers, ", ".join(kinds)))
    print_table(("line", "constant", "value", "from", "to", "kind"), rows)


def video_parser() -> Parser:
    """Return the parser of ``video``."""
    p = Parser("video", epilog=_VIDEO_NOTE)
    p.add_argument("policy", metavar="RUN_OR_POLICY", help=f"a policy's file, or {runs.NAMES}")
    add_specs(p, "the task of a policy's file")
    group = p.add_argument_group("video")
    words = (
        "which held-out episodes: some of best,median,worst, or the first N (default:"
        " best,median,worst)"
    )
    group.add_argument("--episodes", default="best,median,worst", metavar="NAMES|N", help=words)
    words = "files to write (default: mp4)"
    group.add_argument("--format", default="mp4", metavar="mp4,gif,jpg", help=words)
    group.add_argument("--to", metavar="DIR", help="folder that receives the files")
    add_out(group)
    words = "high: shadows and smooth edges, several times slower (default: fast)"
    group.add_argument("--quality", default="fast", metavar="fast|high", help=words)
    words = (
        "pixels of the picture above the caption (default: 640x480 for MuJoCo, else as large as"
        " the environment draws)"
    )
    group.add_argument("--size", metavar="WxH", help=words)
    words = "show every step, so many a second (default: the environment's own pace)"
    group.add_argument("--fps", type=number("--fps", float, 0.1, 120), metavar="X", help=words)
    _add_playing(p, "choose from")
    return p.finish()


def video(arguments: argparse.Namespace) -> int:
    """Film held-out episodes of a policy."""
    from promptpo.store.folder import RunFolder
    from promptpo.trackers import send
    from promptpo.video import Options, parse_episodes, render_policy, render_run
    from promptpo.video.progress import bars

    values: dict[str, Any] = vars(arguments)
    if spec := take_spec(arguments):
        values["spec"] = spec
    name, to, out = values.pop("policy"), values.pop("to"), values.pop("out")
    size: str | None = values.pop("size")
    pixels = re.fullmatch(r"([0-9]{1,5})[xX]([0-9]{1,5})", size or "")
    options = Options(
        episodes=parse_episodes(values.pop("episodes")),
        formats=tuple(dict.fromkeys(values.pop("format").split(","))),
        quality=values.pop("quality"),
        size=(int(pixels[1]), int(pixels[2])) if pixels else None,
        fps=values.pop("fps"),
    )
    if size is not None and not pixels:
        raise UsageError(f"--size: write it as WIDTHxHEIGHT, such as 640x480, not {shown(size)}")
    path = Path(name)
    problems: list[str] = []
    with bars() as watcher:
        if path.is_file():
            render_policy(path, options, to=to, settings=values, watcher=watcher)
        else:
            folder = runs.find(name, out)
            films = render_run(folder, options, to=to, settings=values, watcher=watcher)
            problems = send(RunFolder.open(folder), films)
    for problem in problems:
        say(problem, file=sys.stderr)
    return 0


def export_parser() -> Parser:
    """Return the parser of ``export``."""
    p = Parser("export")
    p.add_argument("run", metavar="RUN", help=runs.NAMES)
    words = "folder to write (default: 'export' in the run's folder)"
    p.add_argument("--to", type=Path, metavar="DIR", help=words)
    add_out(p)
    p.add_argument("--force", action="store_true", help="replace files that are there already")
    data = p.add_argument_group("trajectories")
    words = (
        "also write the best policy's search episodes as a Minari dataset, into DIR/minari;"
        " without --to, to where Minari looks ($MINARI_DATASETS_PATH)"
    )
    data.add_argument("--minari", action="store_true", help=words)
    replies = p.add_argument_group("replies")
    words = "write only a recording of the model's replies, for --model recorded:FILE"
    replies.add_argument("--recording", type=Path, metavar="FILE", help=words)
    replies.add_argument("--how", metavar="TEXT", help="a line in it on how they were made")
    words = "author of the dataset, or of the replies (default: the model of the run)"
    p.add_argument("--author", metavar="NAME", help=words)
    return p.finish()


def export(arguments: argparse.Namespace) -> int:
    """Write a run's policy, trajectories or replies, to use them elsewhere."""
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
    if note := spec_of_run(run.folder, run.settings["spec"])[1]:
        _note(note)
    for file in write_folder(run, arguments.to or run.folder / "export", force=arguments.force):
        say(text.near_path(file))
    if arguments.minari:
        from promptpo.export.minari_dataset import require_minari
        from promptpo.rollout.watched import apart

        require_minari()
        root = arguments.to / "minari" if arguments.to else None
        limit = run.settings.get("env_timeout") or RunConfig.env_timeout
        how = (run.folder, root, arguments.author, arguments.force)
        name, path = apart(run.spec, limit, _write_dataset, *how)
        place = f"{_MINARI_ROOT}={root} " if root else ""
        say(f"{text.near_path(path)}  {place}minari.load_dataset({name!r})")
    return 0


def _write_dataset(
    folder: Path, root: Path | None, author: str | None, force: bool
) -> tuple[str, Path]:
    """Write a dataset under ``root``, in a process of its own: Minari reads the environment."""
    from promptpo.export.minari_dataset import write_dataset
    from promptpo.store.run import load_run

    if root is not None:
        os.environ[_MINARI_ROOT] = str(root.resolve())
    return write_dataset(load_run(folder), author=author, force=force)


def _write_recording(arguments: argparse.Namespace) -> None:
    """Write the replies of a run, as they stand in its log, below a header.

    Raises UsageError where the file is there, and RunError where the run holds no reply.
    """
    from promptpo.run.settings import settings_of
    from promptpo.store.events import FORMAT, read_log
    from promptpo.store.folder import RunFolder

    file: Path = arguments.recording
    if file.exists() and not arguments.force:
        raise UsageError(f"{file}: exists already; give --force to replace it")
    folder = runs.find(arguments.run, arguments.out)
    settings, log = settings_of(RunFolder(folder)), read_log(folder / "events.jsonl")
    lines = zip(log.events, log.good.values(), strict=True)
    replies = [line.decode() + "\n" for event, line in lines if event.type == "reply"]
    if unreadable := log.words("events.jsonl"):
        _note(f"{unreadable}; replies in it are left out")
    if not replies:
        raise RunError(f"{folder}: no reply on record; there is nothing to replay")
    header = {
        "type": "recording",
        "format": FORMAT,
        "spec": folder.parent.name,
        "policy_seed": settings.get("policy_seed") or 0,
        "config": settings | {"spec": folder.parent.name, "out": RunConfig.out},  # no paths
        "how": arguments.how or "",
        "model": arguments.author or json.loads(replies[0])["model"],
        "date": time.strftime("%Y-%m-%d", time.gmtime(log.events[0].time)),
    }
    try:
        write_atomically(file, "".join([json.dumps(header) + "\n", *replies]))
    except OSError as e:
        words = f"{file}: {e.strerror}; give --recording a file that can be written"
        raise UsageError(words) from None
    say(f"{file}: {len(replies)} replies of {folder}")
