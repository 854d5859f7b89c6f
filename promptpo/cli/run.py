"""``promptpo [run] SPEC``: search for a policy."""

from __future__ import annotations

import argparse
import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from promptpo.cli import runs
from promptpo.cli.parser import USAGE, Parser, commands_help
from promptpo.cli.settings import add_preset, add_settings
from promptpo.cli.specs import add_specs, given_spec
from promptpo.common.terminal import say
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, UsageError
from promptpo.run import options
from promptpo.run.config_file import load_toml

if TYPE_CHECKING:
    from promptpo.run.forecast import Forecast

EXAMPLES = """\
examples:
  promptpo cartpole                              replay a recording: no key
  promptpo task.py --model openai/gpt-5          5 rounds of 4 candidates
  promptpo task.py --preset paper --max-cost 2   10 rounds of 10, $2 at most
  promptpo --resume latest                       continue the last run"""


class RunParser(Parser):
    """Knows of the options that other methods have."""

    def explain(self, name: str) -> str:
        """Which method has it."""
        word = name.lstrip("-").replace("-", "_")
        owner = options.owner_of(word) or options.owner_of(word.removeprefix("no_"))
        return f"it is an option of --method {owner}" if owner else ""


def parser(method: str = RunConfig.method) -> Parser:
    """Every setting of a run, and where settings may come from."""
    p = RunParser("run", epilog=f"{commands_help()}\n\n{EXAMPLES}")
    p.description = (
        "Find a readable policy for a sequential task: a language model writes policies, sees how"
        " they\nbehave in the simulator, and writes better ones."
    )
    p.usage = USAGE
    add_specs(p)
    add_settings(p, options.fields(method), method=method)
    sources = p.add_argument_group("where settings come from, later ones winning")
    add_preset(sources)
    sources.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    action = p.add_argument_group("instead of a new run")
    action.add_argument("--resume", metavar="RUN", help=f"continue this run: {runs.NAMES}")
    action.add_argument(
        "--dry-run", action="store_true", help="print the calls, tokens and steps to expect"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    given = vars(arguments)
    if spec := given_spec(arguments):
        given["spec"] = spec
    resume, dry_run = given.pop("resume"), given.pop("dry_run")
    toml = given.pop("config")
    layers = [load_toml(toml)] if toml else []
    layers.append(given)
    if resume is not None:
        settings, folder = _resumed(resume, layers)
    else:
        settings, folder = _new(layers, needs_model=not dry_run), None
    return _forecast(settings, folder) if dry_run else _execute(settings, folder)


def _new(layers: list[dict[str, Any]], *, needs_model: bool) -> RunConfig:
    if not options.build(*layers).spec:
        raise UsageError(
            "no spec; name a spec file or a shipped spec, as in: promptpo cartpole"
            " (promptpo list shows them, promptpo help the commands)"
        )
    from promptpo.run.settings import configure

    return configure(*layers, needs_model=needs_model)


def _execute(settings: RunConfig, folder: Path | None) -> int:
    from promptpo.api import execute
    from promptpo.ui import open_view
    from promptpo.ui.streams import Steady

    stream = Steady(sys.stdout)
    with open_view(cast("TextIO", stream)) as view:
        result = execute(settings, listener=view, resume=folder)
    if stream.problem is not None and not isinstance(stream.problem, BrokenPipeError):
        note = f"standard output cannot be written ({stream.problem}); the run went on without"
        with contextlib.suppress(OSError):
            say(f"promptpo: {note}", sys.stderr)
    return EXIT_INTERRUPTED if result.status == "interrupted" else 0


def _resumed(name: str, layers: list[dict[str, Any]]) -> tuple[RunConfig, Path]:
    """The run to continue, and its settings with those replaced that are given and may change."""
    from promptpo.run.settings import resumed_config

    given: dict[str, Any] = {}
    for layer in layers:
        given.update({k: v for k, v in layer.items() if v is not None})
    out = Path(given.pop("out", RunConfig.out))
    spec = given.pop("spec", None)
    folder = runs.find(name, out, spec)
    if spec is not None and runs.folder_name(spec, out) != folder.parent.name:
        raise UsageError(f"{folder}: not a run of {spec}; leave --spec out to resume it")
    return resumed_config(folder, given), folder


def _forecast(settings: RunConfig, folder: Path | None) -> int:
    from promptpo.export.spec_copy import spec_of_run
    from promptpo.run.forecast import forecast

    if folder is not None:
        settings = replace(settings, spec=spec_of_run(folder, settings.spec)[0])
    for line in forecast_lines(settings, forecast(settings)):
        say(line)
    return 0


def forecast_lines(settings: RunConfig, expected: Forecast) -> list[str]:
    """What ``--dry-run`` prints."""
    f, search = expected, expected.search
    replayed = (settings.model or "").partition(":")[0] == "recorded"
    tokens = (
        f"about {round(search.prompt_tokens, -3):,} in and {round(search.completion_tokens, -3):,}"
        " out, without repairs"
    )
    calls = f"{search.calls:,}; {search.max_calls:,} at most, if every candidate needs all repairs"
    if search.max_calls == search.calls:
        calls = f"{search.calls:,}"
    asked = [
        ("model", settings.model or "none is configured yet"),
        ("calls", calls),
        ("tokens", "none: replies are replayed" if replayed else tokens),
    ]
    rows = [
        ("task", settings.spec),
        ("method", settings.method),
        *(asked if search.max_calls else [("model", "none is asked")]),
        ("env steps", f"{f.steps:,} at most, if no episode ends early"),
        ("  search", f"{search.search_steps:,}"),
        ("  selection", f"{f.selection_steps:,}"),
        ("  held-out", f"{f.test_steps:,}"),
    ]
    return [f"{label:11}  {words}" for label, words in rows]
