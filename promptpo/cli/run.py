"""``promptpo [run] --spec SPEC``: search for a policy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from promptpo import config
from promptpo.cli import runs
from promptpo.cli.parser import COMMANDS, Parser, add_settings
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, UsageError
from promptpo.store.folder import RunFolder

if TYPE_CHECKING:
    from promptpo.run import Forecast

EXAMPLES = """\
examples:
  promptpo --spec cartpole                                 replay a recording: no key needed
  promptpo --spec my_task.py --model openai/gpt-5          search, 5 rounds of 4 candidates
  promptpo --spec my_task.py --preset paper --max-cost 2   10 rounds of 10, two dollars at most
  promptpo --resume latest                                 continue the run that was stopped last
"""


def parser() -> Parser:
    """Every setting of a run, and where settings may come from."""
    commands = "\n".join(f"  {name:8} {c.help}" for name, c in COMMANDS.items())
    p = Parser("run", epilog=f"commands (promptpo COMMAND --help):\n{commands}\n\n{EXAMPLES}")
    p.description = (
        "Find a readable policy for a sequential task: a language model writes policies, sees how"
        " they\nbehave in the simulator, and writes better ones."
    )
    p.usage = "promptpo [COMMAND] --spec SPEC [options]"
    add_settings(p, config.fields())
    sources = p.add_argument_group("where settings come from, later ones winning")
    sources.add_argument(
        "--preset", choices=tuple(config.PRESETS), metavar="NAME", help=_presets_help()
    )
    sources.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    action = p.add_argument_group("instead of a new run")
    action.add_argument(
        "--resume", metavar="RUN", help="continue the run in this folder, or the 'latest'"
    )
    action.add_argument(
        "--dry-run", action="store_true", help="print the calls, tokens and steps to expect"
    )
    return p.finish()


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    given = vars(arguments)
    resume, dry_run = given.pop("resume"), given.pop("dry_run")
    toml = given.pop("config")
    layers = [config.load_toml(toml)] if toml else []
    layers.append(given)
    if resume is not None:
        settings, folder = _resumed(resume, layers)
    else:
        settings, folder = _new(layers), None
    return _forecast(settings) if dry_run else _execute(settings, folder)


def _new(layers: list[dict[str, Any]]) -> RunConfig:
    if not config.build(*layers).spec:
        raise UsageError(
            "no spec; give --spec FILE, or the name of a shipped one: --spec cartpole"
            " (promptpo list shows them, --help the options)"
        )
    from promptpo.run import configure

    return configure(*layers)


def _execute(settings: RunConfig, folder: Path | None) -> int:
    from promptpo.run import execute
    from promptpo.ui import open_view

    with open_view() as view:
        result = execute(settings, listener=view, resume=folder)
    return EXIT_INTERRUPTED if result.status == "interrupted" else 0


def _resumed(name: str, layers: list[dict[str, Any]]) -> tuple[RunConfig, Path]:
    """The settings of an earlier run with those that may change replaced.

    Raises UsageError where a setting is given that shaped what the run has already done.
    """
    given: dict[str, Any] = {}
    for layer in layers:
        given.update({k: v for k, v in layer.items() if v is not None})
    out = Path(given.get("out", config.fields()["out"].default))
    folder = runs.find(name, out, given.get("spec"))
    from promptpo.run import settings_of

    stored = settings_of(RunFolder(folder))
    changed = {k: v for k, v in given.items() if k != "out" and stored.get(k) != v}
    known = config.fields()
    for key in changed:
        if key not in known or not known[key].metadata["resumable"]:
            free = [config.flag(n) for n, f in known.items() if f.metadata["resumable"]]
            was = f" (it was {stored[key]})" if key in stored else ""
            spelled = config.flag(key) if key in known else f"--{key}"
            raise UsageError(
                f"{spelled} cannot change when a run is resumed{was}; leave it out or start a"
                f" new run; what may change: {', '.join(free)}"
            )
    return config.build(stored, changed), folder


def _forecast(settings: RunConfig) -> int:
    from promptpo.run import forecast

    for line in forecast_lines(settings, forecast(settings)):
        print(line)
    return 0


def forecast_lines(settings: RunConfig, expected: Forecast) -> list[str]:
    """What ``--dry-run`` prints."""
    raise NotImplementedError


def _presets_help() -> str:
    named = "; ".join(
        f"{name}: " + ", ".join(f"{k} {v}" for k, v in values.items())
        for name, values in config.PRESETS.items()
    )
    return named.replace("_", " ")
