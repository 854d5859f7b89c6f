"""``promptpo [run] SPEC``: search for a policy, or for several side by side; ``--dry-run``."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from promptpo import config
from promptpo.cli import runs
from promptpo.cli.parser import USAGE, Parser, add_out, add_preset, add_settings, commands_help
from promptpo.cli.specs import add_specs, take_specs
from promptpo.common import text
from promptpo.common.terminal import STATUS, is_drawn_on, output, print_rows, say
from promptpo.common.text import side_by_side
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, PromptPOError, UsageError

if TYPE_CHECKING:
    from promptpo.matrix.plan import Plan, PlanFolder, PlannedRun
    from promptpo.methods import Demand
    from promptpo.store.run import Run

EXAMPLES = """\
examples:
  promptpo cartpole                              replay a recording: no key
  promptpo task.py --model openai/gpt-5          5 rounds of 4 candidates
  promptpo cartpole nim --seeds 0..4             ten runs side by side
  promptpo --resume latest                       continue the last run"""

Layers = Sequence[Mapping[str, Any]]


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
    words = "a run for each spec and seed: 0..4, or 0,3,7; compared at the end"
    several.add_argument("--seeds", type=_read_seeds, default=(), metavar="LIST", help=words)
    sources = p.add_argument_group("where settings come from, later ones winning")
    add_preset(sources)
    sources.add_argument("--config", type=Path, metavar="FILE", help="TOML file of settings")
    action = p.add_argument_group("instead of a new run")
    words = f"continue this run, or sweep: {runs.NAMES}"
    action.add_argument("--resume", metavar="RUN", help=words)
    words = "print the calls, tokens, dollars and steps to expect"
    action.add_argument("--dry-run", action="store_true", help=words)
    programs = p.add_argument_group("for programs that start runs")
    words = "print how the run stands as lines of JSON"
    programs.add_argument("--json", action="store_true", help=words)
    words = "stop as with Ctrl-C when standard input ends; ignore Ctrl-C itself"
    programs.add_argument("--attached", action="store_true", help=words)
    return p.finish()


def finish_parser() -> Parser:
    """Return the parser of ``finish``."""
    p = Parser("finish")
    p.description = (
        "Select and test now, of a run that was interrupted or killed: what is recorded counts, and"
        " nothing more is searched. Of a run that has ended, a larger --test-episodes extends the"
        " held-out test; episodes that were played are not played again."
    )
    p.add_argument("run", metavar="RUN", help=runs.NAMES)
    names = ("selection_episodes", "test_episodes", "executor", "ray_address", "workers", "sandbox")
    add_settings(p, (*names, "env_timeout"))
    add_out(p)
    return p.finish()


def finish(arguments: argparse.Namespace) -> int:
    """Carry out ``finish``."""
    from promptpo.run.settings import resumed_config

    options = vars(arguments)
    folder = runs.find(options.pop("run"), options.pop("out"))
    settings = resumed_config(folder, options)
    return exit_code(execute(settings, folder, as_json=False, searching=False))


def _read_seeds(text: str) -> tuple[int, ...]:
    from promptpo.matrix.plan import read_seeds  # here, as the help needs none of it

    return read_seeds(text)


def main(arguments: argparse.Namespace) -> int:
    """Carry out the command."""
    from promptpo.run.settings import configure, load_toml

    values = vars(arguments)
    specs = take_specs(arguments)
    resume, dry_run = values.pop("resume"), values.pop("dry_run")
    seeds, as_json, toml = values.pop("seeds"), values.pop("json"), values.pop("config")
    if values.pop("attached"):
        _attach()
    if seeds and "seed" in values:
        raise UsageError("--seed and --seeds; leave one of them out")
    layers = [load_toml(toml), values] if toml else [values]
    if not as_json:
        STATUS.show("loading the spec", lines=not dry_run)
    if len(specs) > 1 or len(seeds) > 1:
        if resume is not None or as_json:
            option = "--json" if resume is None else "--resume"
            raise UsageError(f"{option} is not for several runs; leave it, or --seeds, out")
        planned = _planned(specs or [_spec_of(layers)], seeds, layers, needs_model=not dry_run)
        return _print_forecast(list(planned.values())) if dry_run else _sweep(planned, layers)
    values |= {"spec": specs[0]} if specs else {}
    values |= {"seed": seeds[0]} if seeds else {}
    folder = None
    if resume is None:
        _spec_of(layers)
        settings = configure(*layers, needs_model=not dry_run)
    elif several := _sweep_of(resume, layers):
        if dry_run or as_json:
            option = "--dry-run" if dry_run else "--json"
            raise UsageError(f"{option} is not for a sweep that goes on; leave it out")
        return _resume_sweep(several, layers)
    else:
        settings, folder = _resumed(resume, layers)
    if dry_run:
        from promptpo.export.folder import spec_of_run

        if folder is not None:
            settings = replace(settings, spec=spec_of_run(folder, settings.spec)[0])
        return _print_forecast([settings])
    return exit_code(execute(settings, folder, as_json=as_json))


def _spec_of(layers: Layers) -> str:
    """Return the spec that is given. Raises UsageError where none is."""
    from promptpo.run.settings import build

    if spec := build(*layers).spec:
        return spec
    raise UsageError(
        "no spec; name a spec file or a shipped spec, as in: promptpo cartpole"
        " (promptpo list shows them, promptpo help the commands)"
    )


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


def execute(
    settings: RunConfig, folder: Path | None, *, as_json: bool, searching: bool = True
) -> Run:
    """Carry out a run, and show its progress."""
    from promptpo import api
    from promptpo.common.terminal import Steady
    from promptpo.ui import open_view
    from promptpo.ui.progress import View
    from promptpo.ui.status import JsonView

    stream = Steady(output())
    out = cast("TextIO", stream)
    opened: View = JsonView(out) if as_json else open_view(out)
    with opened as view:
        result = api.execute(settings, listener=view, resume=folder, searching=searching)
    if is_drawn_on(out) and not as_json and result.status != "interrupted":
        _draw(result.folder)
    if stream.problem is not None and not isinstance(stream.problem, BrokenPipeError):
        note = f"standard output cannot be written ({stream.problem}); the run went on without"
        with contextlib.suppress(OSError):
            say(f"promptpo: {note}", sys.stderr)
    return result


def _draw(folder: Path) -> None:
    """Add moments of the best policy to the page of a run that a person has watched."""
    from promptpo.report import write_report
    from promptpo.video import add_strip

    STATUS.show("drawing moments of the best policy")
    if add_strip(folder):
        with contextlib.suppress(PromptPOError):  # the page without them is there
            write_report(folder)
    STATUS.end()


def exit_code(result: Run) -> int:
    """Return the exit code of a command that has carried out a run."""
    return EXIT_INTERRUPTED if result.status == "interrupted" else 0


def _resumed(name: str, layers: Layers) -> tuple[RunConfig, Path]:
    """Return the settings of the run to continue, changed where they may be, and its folder."""
    from promptpo.run.settings import merge, resumed_config

    values = merge(*layers)
    out = Path(values.pop("out", RunConfig.out))
    spec = values.pop("spec", None)
    folder = runs.find(name, out, spec)
    if spec is not None and runs.folder_name(spec, out) != folder.parent.name:
        raise UsageError(f"{folder}: not a run of {spec}; leave --spec out to resume it")
    return resumed_config(folder, values), folder


def _sweep_of(name: str, layers: Layers) -> PlanFolder | None:
    """Return the sweep that is to be resumed, if it is one; ``latest``: that of the latest run."""
    from promptpo.matrix.plan import PlanFolder
    from promptpo.run.settings import merge

    values = merge(*layers)
    out = Path(values.get("out", RunConfig.out))
    if name == "latest":
        return PlanFolder.around(runs.find(name, out, values.get("spec")))
    return PlanFolder.find(name, out)


def _planned(
    specs: Sequence[str], seeds: Sequence[int], layers: Layers, *, needs_model: bool
) -> dict[PlannedRun, RunConfig]:
    """Return each run and its settings, for each spec and seed; without seeds, of one seed.

    Raises UsageError, SpecError or ModelError before anything is begun.
    """
    from promptpo.matrix.plan import Plan, PlannedRun
    from promptpo.run.settings import configure
    from promptpo.spec import load_spec

    planned: dict[PlannedRun, RunConfig] = {}
    twins: dict[str, str] = {}
    for ref in specs:
        settings = configure(*layers, {"spec": ref}, needs_model=needs_model)
        spec = load_spec(ref, published=settings.published_prompt, limit=settings.env_timeout)
        twins[spec.name] = spec.twin_of
        for seed in seeds or (settings.seed,):
            planned[PlannedRun(spec.ref, spec.name, seed)] = settings
    ordered = side_by_side(planned, lambda run: (run.name, twins[run.name]))
    return {run: planned[run] for run in Plan.of(ordered, {}).runs}


def _sweep(planned: Mapping[PlannedRun, RunConfig], layers: Layers) -> int:
    """Start several runs side by side; return an exit code."""
    from promptpo.llm.providers import check_configured, check_priced
    from promptpo.matrix.plan import Plan, PlanFolder
    from promptpo.methods import find_method
    from promptpo.run.settings import merge
    from promptpo.trackers import check_ready

    STATUS.show("checking the model")
    for settings in planned.values():
        if find_method(settings.method).needs_model:
            check_configured(settings.model or "", settings.api_base)
            check_priced(settings.model or "", settings.max_cost)
        check_ready(settings.trackers)
    values = merge(*layers)
    out = Path(values.pop("out", RunConfig.out))
    values["model"] = values.get("model") or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    shared = {k: v for k, v in values.items() if k not in ("spec", "seed") and v is not None}
    plan = Plan.of(planned, shared)
    return _run_sweep(PlanFolder.create(out, plan), plan, {})


def _resume_sweep(folder: PlanFolder, layers: Layers) -> int:
    """Go on with what is missing of a sweep; return an exit code.

    The given settings are for all of its runs. Raises UsageError for one that shaped what is done.
    """
    from promptpo.matrix.plan import SUITE_FILE
    from promptpo.run.settings import changes, merge

    if (folder.path / SUITE_FILE).is_file():
        words = "its runs are those of a benchmark: `promptpo bench` with the suite's file goes on"
        raise UsageError(f"{folder.path}: {words}")
    plan, values = folder.read(), merge(*layers)
    values.pop("out", None)
    changed = changes(plan.settings, values, "sweep")
    return _run_sweep(folder, replace(plan, settings={**plan.settings, **changed}), changed)


def _run_sweep(folder: PlanFolder, plan: Plan, changed: Mapping[str, Any]) -> int:
    """Carry out what is missing, and compare; ``changed`` settings reopen ended runs."""
    from promptpo.common.terminal import Steady
    from promptpo.matrix.overview import counts, states
    from promptpo.matrix.plan import limits_of
    from promptpo.matrix.runner import at_once, run_plan

    stream = cast("TextIO", Steady(output()))
    path = text.near_path(folder.path)

    def announce(count: int, cores: int | None) -> None:
        specs, limits = dict.fromkeys(run.name for run in plan.runs), limits_of(plan.settings)
        rows = [
            ("sweep", path),
            ("runs", f"{len(plan.runs)} of {', '.join(specs)}"),
            ("at once", at_once(count, plan.workers, cores)),
            ("limits", f"for each run: {limits}" if limits else ""),
        ]
        print_rows(rows, stream)
        say("", stream)

    outcome = run_plan(folder, plan, stream, announce, changed)
    say()
    interrupted = outcome.code == EXIT_INTERRUPTED
    if not interrupted:
        _compare(folder)
    print_rows([
        ("runs", counts(states(outcome.statuses))),
        *(("failed", f"{run}: {reason}") for run, reason in outcome.failed),
        ("report", text.near_path(folder.page) if folder.page.is_file() else ""),
        ("compare", "" if interrupted else f"{text.program()} compare {path}"),
        ("resume", f"{text.program()} --resume {path}" if outcome.unfinished else ""),
    ])  # fmt: skip
    return outcome.code


def _compare(folder: PlanFolder) -> None:
    """Print tables of all runs that have begun, and write a page that shows them."""
    from promptpo.comparison import Comparison
    from promptpo.comparison.page import write_comparison_page
    from promptpo.ui.tables import console_of

    if begun := folder.runs():
        compared = Comparison.of(begun)
        compared.print(console_of(output()))
        say()
        try:
            write_comparison_page(compared, folder.page, "Sweep")
        except PromptPOError as e:
            say(f"promptpo: {folder.page} could not be written: {e}", sys.stderr)


def _print_forecast(planned: Sequence[RunConfig]) -> int:
    """Print what a run, or several together, may take."""
    from promptpo.matrix.plan import limits_of
    from promptpo.methods import Demand
    from promptpo.run.phases import forecast

    forecasts: dict[tuple[str, str | None], Any] = {}
    for settings in planned:  # the seed makes no difference
        forecasts.setdefault((settings.spec, settings.model), forecast(settings))
    expected = [forecasts[settings.spec, settings.model] for settings in planned]
    is_forecast = all(each.search is not None for each in expected)
    searches = [each.search or Demand() for each in expected]
    first, count = planned[0], len(planned)

    def total(name: str, of: Sequence[Any] = searches) -> int:
        return sum(getattr(each, name) for each in of)

    calls, most = total("calls"), total("max_calls")
    models = dict.fromkeys(s.model or "none is configured yet" for s in planned)
    repaired = f"{calls:,}; {most:,} at most, if every candidate needs all repairs"
    search = [
        ("model", ", ".join(models) if most else "none is asked"),
        ("calls", "" if not most else repaired if most > calls else f"{calls:,}"),
        ("tokens", _tokens(planned, searches) if most else ""),
        ("cost", _cost(planned, searches) if most else ""),
        ("env steps", f"{total('steps', expected):,} at most, if no episode ends early"),
        ("  search", f"{total('search_steps'):,}"),
    ]
    if not is_forecast:
        search = [("search", "not known: the method does not forecast what it asks for")]
    limits = limits_of(first.as_dict()) if count > 1 else ""
    print_rows([
        ("task", ", ".join(dict.fromkeys(s.spec for s in planned))),
        ("runs", f"{count}, together:" if count > 1 else ""),
        ("method", first.method),
        *search,
        ("  selection", f"{total('selection_steps', expected):,}"),
        ("  held-out", f"{total('test_steps', expected):,}"),
        ("limits", f"for each run: {limits}" if limits else ""),
    ])  # fmt: skip
    return 0


def _free(settings: RunConfig) -> str:
    """Return why no model is paid; empty where one may be."""
    if settings.model == "builtin":
        return "no language model is asked"
    replays = (settings.model or "").partition(":")[0] == "recorded"
    return "replies are replayed" if replays else ""


def _tokens(planned: Sequence[RunConfig], searches: Sequence[Demand]) -> str:
    paid = [ask for settings, ask in zip(planned, searches, strict=True) if not _free(settings)]
    if not paid:
        return f"none: {_free(planned[0])}"
    prompt, completion = sum(a.prompt_tokens for a in paid), sum(a.completion_tokens for a in paid)
    return f"about {round(prompt, -3):,} in and {round(completion, -3):,} out, without repairs"


def _cost(planned: Sequence[RunConfig], searches: Sequence[Demand]) -> str:
    """Return the dollars to expect, or why they are unknown."""
    from promptpo.llm.providers import price_of

    cost = 0.0
    paid = [each for each in zip(planned, searches, strict=True) if not _free(each[0])]
    for settings, ask in paid:
        price = price_of(settings.model or "") if settings.api_base is None else None
        if settings.model is None:
            return "unknown: no model is configured yet"
        if settings.model == "manual":
            return "unknown: replies come by hand"
        if settings.api_base is not None:
            return "unknown: the server of --api-base has prices of its own"
        if price is None:
            return f"unknown: litellm has no price for {settings.model}"
        cost += price.of(ask.prompt_tokens, ask.completion_tokens)
    if not paid:
        return text.money(cost)
    limit = planned[0].max_cost
    each = "each" if len(planned) > 1 else "it"
    stop = "" if limit is None else f"; --max-cost stops {each} at ${limit:g}"
    return f"about {text.money(cost)}, without repairs{stop}"
