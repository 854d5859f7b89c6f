"""``promptpo SPEC... --seeds LIST``: several runs of one command, and going on with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from promptpo import config
from promptpo.bench.suite import FILE
from promptpo.common import text
from promptpo.common.streams import output
from promptpo.common.terminal import say
from promptpo.common.twins import side_by_side
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, PromptPOError, UsageError
from promptpo.methods import find_method
from promptpo.run import options
from promptpo.sweep.folder import SweepFolder
from promptpo.sweep.plan import Member, Plan, limits_of

if TYPE_CHECKING:
    from promptpo.sweep.course import Ended
    from promptpo.sweep.schedule import Task


def settings_of_runs(
    specs: Sequence[str], seeds: Sequence[int], layers: Sequence[Mapping[str, Any]], **more: bool
) -> dict[Member, RunConfig]:
    """Each run and its settings, for each spec and seed; without seeds those of the settings.

    Raises UsageError, SpecError or ModelError before anything is begun.
    """
    from promptpo.run.settings import configure
    from promptpo.spec import load_spec

    found: dict[Member, RunConfig] = {}
    twins: dict[str, str] = {}
    for ref in specs:
        settings = configure(*layers, {"spec": ref}, **more)
        spec = load_spec(ref, published=settings.published_prompt, limit=settings.env_timeout)
        twins[spec.name] = spec.twin_of
        for seed in seeds or (settings.seed,):
            found[Member(spec.ref, spec.name, seed)] = settings
    ordered = side_by_side(found, lambda member: (member.name, twins[member.name]))
    return {member: found[member] for member in ordered}


def begin(specs: Sequence[str], seeds: Sequence[int], layers: Sequence[Mapping[str, Any]]) -> int:
    """Start a run for each spec and seed; returns an exit code."""
    from promptpo.llm.providers import check_configured, check_priced
    from promptpo.trackers import check_ready

    members = settings_of_runs(specs, seeds, layers)
    for settings in members.values():
        if find_method(settings.method).needs_model:
            check_configured(settings.model or "", settings.api_base)
            check_priced(settings.model or "", settings.max_cost)
        check_ready(settings.trackers)
    given = options.merge(*layers)
    out = Path(given.pop("out", RunConfig.out))
    given["model"] = given.get("model") or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    shared = {k: v for k, v in given.items() if k not in ("spec", "seed") and v is not None}
    plan = Plan.of(members, shared)
    folder = SweepFolder.create(out, plan)
    return _go_on(folder, plan, {})


def resume(folder: SweepFolder, layers: Sequence[Mapping[str, Any]]) -> int:
    """Go on with what is missing of a sweep; returns an exit code.

    What is given is for all of its runs. Raises UsageError where it shaped what is done already.
    """
    if (folder.path / FILE).is_file():
        words = "its runs are those of a benchmark: `promptpo bench` with the suite's file goes on"
        raise UsageError(f"{folder.path}: {words}")
    plan, given = folder.read(), options.merge(*layers)
    given.pop("out", None)
    changed = {k: v for k, v in given.items() if plan.settings.get(k) != v}
    method = str(plan.settings.get("method", RunConfig.method))
    known = options.fields(method)
    for name, value in changed.items():
        if name not in known or not known[name].metadata["resumable"]:
            spelled = options.flag(name, method) if name in known else f"--{name}"
            raise UsageError(
                f"{spelled} cannot change when a sweep is resumed; leave it out or start a new one"
            )
        config.check_setting(options.kind_of(name, method), name, value)
    return _go_on(folder, replace(plan, settings={**plan.settings, **changed}), changed)


def _go_on(folder: SweepFolder, plan: Plan, changed: Mapping[str, Any]) -> int:
    """Carry out what is missing, and compare; ``changed`` settings open ended runs again."""
    from promptpo.common.streams import Steady
    from promptpo.sweep.course import go_on

    stream = cast("TextIO", Steady(output()))

    def announce(tasks: Sequence[Task], cores: int | None) -> None:
        _announce(folder, plan, at_once(len(tasks), plan.workers, cores), stream)

    ended = go_on(folder, plan, stream, announce, changed)
    say()
    if ended.code != EXIT_INTERRUPTED:
        _compare(folder)
    _close(folder, ended)
    return ended.code


def _announce(folder: SweepFolder, plan: Plan, at_once: str, stream: TextIO) -> None:
    specs = dict.fromkeys(member.name for member in plan.members)
    limits = limits_of(plan.settings)
    rows = [
        ("sweep", text.near_path(folder.path)),
        ("runs", f"{len(plan.members)} of {', '.join(specs)}"),
        ("at once", at_once),
        ("limits", f"for each run: {limits}" if limits else ""),
    ]
    print_rows(rows, stream)
    say("", stream)


def at_once(runs: int, workers: int | None, cores: int | None = None) -> str:
    """How many of so many runs go side by side, in words; empty where there are none.

    ``cores`` are those of a cluster, where they are played on one.
    """
    from promptpo.sweep.schedule import slots

    places = slots(runs, workers, cores)
    each = sorted({place.workers for place in places})
    processes = f"environment process{'es' if each[-1] > 1 else ''} each"
    return f"{len(places)}, {' or '.join(map(str, each))} {processes}" if runs else ""


def print_rows(rows: Sequence[tuple[str, str]], stream: TextIO | None = None) -> None:
    """Labels and words, a line each; those without words are left out."""
    for label, words in rows:
        if words:
            say(f"{label:11}  {words}", stream)


def _compare(folder: SweepFolder) -> None:
    """Tables of all runs that have begun, and a page that shows them."""
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


def _close(folder: SweepFolder, ended: Ended) -> None:
    from promptpo.sweep.overview import counts, states

    here = text.near_path(folder.path)
    rows = [("runs", counts(states(ended.statuses.values())))]
    rows += [("failed", f"{member}: {reason}") for member, reason in ended.failed]
    if folder.page.is_file():
        rows.append(("report", text.near_path(folder.page)))
    if ended.code != EXIT_INTERRUPTED:
        rows.append(("compare", f"{text.program()} compare {here}"))
    if ended.unfinished:
        rows.append(("resume", f"{text.program()} --resume {here}"))
    print_rows(rows)
