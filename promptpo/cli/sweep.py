"""``promptpo SPEC... --seeds LIST``: several runs of one command, and going on with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, cast

from promptpo.common import text
from promptpo.common.streams import output
from promptpo.common.terminal import say
from promptpo.common.twins import side_by_side
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, PromptPOError, UsageError
from promptpo.matrix.plan import SUITE_FILE, Plan, PlanFolder, PlannedRun, limits_of
from promptpo.methods import find_method
from promptpo.run.settings import changes, merge


def settings_of_runs(
    specs: Sequence[str], seeds: Sequence[int], layers: Sequence[Mapping[str, Any]], **more: bool
) -> dict[PlannedRun, RunConfig]:
    """Return each run and its settings, for each spec and seed; without seeds, of one seed.

    Raises UsageError, SpecError or ModelError before anything is begun.
    """
    from promptpo.run.settings import configure
    from promptpo.spec import load_spec

    planned: dict[PlannedRun, RunConfig] = {}
    twins: dict[str, str] = {}
    for ref in specs:
        settings = configure(*layers, {"spec": ref}, **more)
        spec = load_spec(ref, published=settings.published_prompt, limit=settings.env_timeout)
        twins[spec.name] = spec.twin_of
        for seed in seeds or (settings.seed,):
            planned[PlannedRun(spec.ref, spec.name, seed)] = settings
    ordered = side_by_side(planned, lambda run: (run.name, twins[run.name]))
    return {run: planned[run] for run in ordered}


def begin(specs: Sequence[str], seeds: Sequence[int], layers: Sequence[Mapping[str, Any]]) -> int:
    """Start a run for each spec and seed; return an exit code."""
    from promptpo.llm.providers import check_configured, check_priced
    from promptpo.trackers import check_ready

    planned = settings_of_runs(specs, seeds, layers)
    for settings in planned.values():
        if find_method(settings.method).needs_model:
            check_configured(settings.model or "", settings.api_base)
            check_priced(settings.model or "", settings.max_cost)
        check_ready(settings.trackers)
    given = merge(*layers)
    out = Path(given.pop("out", RunConfig.out))
    given["model"] = given.get("model") or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    shared = {k: v for k, v in given.items() if k not in ("spec", "seed") and v is not None}
    plan = Plan.of(planned, shared)
    return _run(PlanFolder.create(out, plan), plan, {})


def resume(folder: PlanFolder, layers: Sequence[Mapping[str, Any]]) -> int:
    """Go on with what is missing of a sweep; return an exit code.

    The given settings are for all of its runs. Raises UsageError for one that shaped what is done.
    """
    if (folder.path / SUITE_FILE).is_file():
        words = "its runs are those of a benchmark: `promptpo bench` with the suite's file goes on"
        raise UsageError(f"{folder.path}: {words}")
    plan, given = folder.read(), merge(*layers)
    given.pop("out", None)
    changed = changes(plan.settings, given, "sweep")
    return _run(folder, replace(plan, settings={**plan.settings, **changed}), changed)


def _run(folder: PlanFolder, plan: Plan, changed: Mapping[str, Any]) -> int:
    """Carry out what is missing, and compare; ``changed`` settings reopen ended runs."""
    from promptpo.common.streams import Steady
    from promptpo.matrix.overview import counts, states
    from promptpo.matrix.runner import run_plan

    stream = cast("TextIO", Steady(output()))
    here = text.near_path(folder.path)

    def announce(runs: int, cores: int | None) -> None:
        specs, limits = dict.fromkeys(run.name for run in plan.runs), limits_of(plan.settings)
        rows = [
            ("sweep", here),
            ("runs", f"{len(plan.runs)} of {', '.join(specs)}"),
            ("at once", at_once(runs, plan.workers, cores)),
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
        ("compare", "" if interrupted else f"{text.program()} compare {here}"),
        ("resume", f"{text.program()} --resume {here}" if outcome.unfinished else ""),
    ])  # fmt: skip
    return outcome.code


def at_once(runs: int, workers: int | None, cores: int | None = None) -> str:
    """Return how many of so many runs go side by side, in words; empty where there are none.

    ``cores`` are those of a cluster that plays the episodes.
    """
    from promptpo.matrix.runner import slots

    places = slots(runs, workers, cores)
    each = sorted({place.workers for place in places})
    processes = f"environment process{'es' if each[-1] > 1 else ''} each"
    return f"{len(places)}, {' or '.join(map(str, each))} {processes}" if runs else ""


def print_rows(rows: Sequence[tuple[str, str]], stream: TextIO | None = None) -> None:
    """Print labels and words, a line each; those without words are left out."""
    for label, words in rows:
        if words:
            say(f"{label:11}  {words}", stream)


def _compare(folder: PlanFolder) -> None:
    """Print tables of all runs that have begun, and write a page that shows them."""
    from promptpo.comparison import Comparison
    from promptpo.report import write_report
    from promptpo.ui.tables import console_of

    if runs := folder.runs():
        Comparison.of(runs).print(console_of(output()))
        say()
        try:
            write_report(runs, folder.page)
        except PromptPOError as e:
            say(f"promptpo: {folder.page} could not be written: {e}", sys.stderr)
