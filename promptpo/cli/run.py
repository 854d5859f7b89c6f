"""``promptpo [run] SPEC``: search for a policy."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from promptpo import config
from promptpo.cli import dry_runs, runs, sweep
from promptpo.cli.parser import USAGE, Parser, add_preset, add_settings, commands_help
from promptpo.cli.specs import add_specs, given_specs
from promptpo.common.streams import output
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, UsageError
from promptpo.matrix.plan import PlanFolder, read_seeds
from promptpo.run.settings import build, load_toml, merge

if TYPE_CHECKING:
    from promptpo.store.run import Run

EXAMPLES = """\
examples:
  promptpo cartpole                              replay a recording: no key
  promptpo task.py --model openai/gpt-5          5 rounds of 4 candidates
  promptpo task.py --preset paper --max-cost 2   10 rounds of 10, $2 at most
  promptpo cartpole nim --seeds 0..4             ten runs side by side
  promptpo --resume latest                       continue the last run"""


def parser() -> Parser:
    """Return the parser of a search: its settings, and where settings may come from."""
    p = Parser("run", epilog=f"{commands_help()}\n\n{EXAMPLES}")
    p.description = (
        "Find a readable policy for a sequential task: a language model writes policies, sees how"
        " they behave in the simulator, and writes better ones."
    )
    p.usage = USAGE
    add_specs(p, several=True)
    add_settings(p, config.fields(RunConfig), methods=True)
    several = p.add_argument_group("several runs side by side (each its own; limits hold for each)")
    several.add_argument(
        "--seeds",
        type=read_seeds,
        default=(),
        metavar="LIST",
        help="a run for each spec and seed: 0..4, or 0,3,7; compared at the end",
    )
    sources = p.add_argument_group("where settings come from, later ones winning")
    add_preset(sources)
    sources.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    action = p.add_argument_group("instead of a new run")
    action.add_argument(
        "--resume", metavar="RUN", help=f"continue this run, or sweep: {runs.NAMES}"
    )
    action.add_argument(
        "--dry-run",
        action="store_true",
        help="print the calls, tokens, dollars and steps to expect",
    )
    programs = p.add_argument_group("for programs that start runs")
    programs.add_argument(
        "--json", action="store_true", help="print how the run stands as lines of JSON"
    )
    programs.add_argument(
        "--attached",
        action="store_true",
        help="stop as with Ctrl-C when standard input ends; ignore Ctrl-C itself",
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    given = vars(arguments)
    specs = given_specs(arguments)
    resume, dry_run = given.pop("resume"), given.pop("dry_run")
    seeds, as_json, toml = given.pop("seeds"), given.pop("json"), given.pop("config")
    if given.pop("attached"):
        _attach()
    if seeds and "seed" in given:
        raise UsageError("--seed and --seeds; leave one of them out")
    layers = [load_toml(toml)] if toml else []
    layers.append(given)
    if len(specs) > 1 or len(seeds) > 1:
        if resume is not None or as_json:
            option = "--json" if resume is None else "--resume"
            raise UsageError(f"{option} is not for several runs; leave it, or --seeds, out")
        specs = specs or [_spec_of(layers)]
        start = dry_runs.of_sweep if dry_run else sweep.begin
        return start(specs, seeds, layers)
    given |= {"spec": specs[0]} if specs else {}
    given |= {"seed": seeds[0]} if seeds else {}
    if resume is None:
        settings, folder = _new(layers, needs_model=not dry_run), None
    elif several := _sweep_of(resume, layers):
        if dry_run or as_json:
            option = "--dry-run" if dry_run else "--json"
            raise UsageError(f"{option} is not for a sweep that goes on; leave it out")
        return sweep.resume(several, layers)
    else:
        settings, folder = _resumed(resume, layers)
    return (
        dry_runs.of_run(settings, folder)
        if dry_run
        else exit_code(execute(settings, folder, as_json=as_json))
    )


def _sweep_of(name: str, layers: Sequence[Mapping[str, Any]]) -> PlanFolder | None:
    """The sweep that is to be resumed, if it is one; ``latest`` is that of the latest run."""
    given = merge(*layers)
    out = Path(given.get("out", RunConfig.out))
    if name == "latest":
        return PlanFolder.around(runs.find(name, out, given.get("spec")))
    return PlanFolder.find(name, out)


def _spec_of(layers: Sequence[Mapping[str, Any]]) -> str:
    """The spec that is given. Raises UsageError where none is."""
    if spec := build(*layers).spec:
        return spec
    raise UsageError(
        "no spec; name a spec file or a shipped spec, as in: promptpo cartpole"
        " (promptpo list shows them, promptpo help the commands)"
    )


def _new(layers: Sequence[Mapping[str, Any]], *, needs_model: bool) -> RunConfig:
    _spec_of(layers)
    from promptpo.run.settings import configure

    return configure(*layers, needs_model=needs_model)


def _attach() -> None:
    """End, resumably, when standard input ends: then the program that started this one is gone.

    Ctrl-C reaches all programs on a terminal; that one decides what it means for its runs.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(sys.stdin.fileno(), 4096):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def execute(settings: RunConfig, folder: Path | None, *, as_json: bool) -> Run:
    """Carry out a run, and show how it goes."""
    from promptpo import api
    from promptpo.common.streams import Steady
    from promptpo.ui import open_view
    from promptpo.ui.progress import View
    from promptpo.ui.status import JsonView

    stream = Steady(output())
    out = cast("TextIO", stream)
    shown: View = JsonView(out) if as_json else open_view(out)
    with shown as view:
        result = api.execute(settings, listener=view, resume=folder)
    if stream.problem is not None and not isinstance(stream.problem, BrokenPipeError):
        note = f"standard output cannot be written ({stream.problem}); the run went on without"
        with contextlib.suppress(OSError):
            say(f"promptpo: {note}", sys.stderr)
    return result


def exit_code(result: Run) -> int:
    """What a command that has carried out a run ends with."""
    return EXIT_INTERRUPTED if result.status == "interrupted" else 0


def _resumed(name: str, layers: Sequence[Mapping[str, Any]]) -> tuple[RunConfig, Path]:
    """The run to continue, and its settings with those replaced that are given and may change."""
    from promptpo.run.settings import resumed_config

    given = merge(*layers)
    out = Path(given.pop("out", RunConfig.out))
    spec = given.pop("spec", None)
    folder = runs.find(name, out, spec)
    if spec is not None and runs.folder_name(spec, out) != folder.parent.name:
        raise UsageError(f"{folder}: not a run of {spec}; leave --spec out to resume it")
    return resumed_config(folder, given), folder
