"""``promptpo SPEC... --seeds LIST``: several runs of one command, and going on with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from promptpo import config
from promptpo.common import text
from promptpo.common.terminal import say
from promptpo.common.twins import side_by_side
from promptpo.config import RunConfig
from promptpo.errors import EXIT_INTERRUPTED, PromptPOError, UsageError
from promptpo.methods import find_method
from promptpo.run import options
from promptpo.sweep.folder import SweepFolder
from promptpo.sweep.plan import Member, Plan, as_flags, limits_of

if TYPE_CHECKING:
    from promptpo.sweep.schedule import Task
    from promptpo.ui.status import RunStatus


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
    from promptpo.llm.providers import check_configured
    from promptpo.trackers import check_ready

    members = settings_of_runs(specs, seeds, layers)
    for settings in members.values():
        if find_method(settings.method).needs_model:
            check_configured(settings.model or "", settings.api_base)
        check_ready(settings.trackers)
    given = options.merge(*layers)
    out = Path(given.pop("out", RunConfig.out))
    given["model"] = given.get("model") or os.environ.get("PROMPTPO_MODEL", "").strip() or None
    shared = {k: v for k, v in given.items() if k not in ("spec", "seed") and v is not None}
    plan = Plan.of(members, shared)
    folder = SweepFolder.create(out, plan)
    return Sweep(folder, plan).go_on({})


def resume(folder: SweepFolder, layers: Sequence[Mapping[str, Any]]) -> int:
    """Go on with what is missing of a sweep; returns an exit code.

    What is given is for all of its runs. Raises UsageError where it shaped what is done already.
    """
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
    return Sweep(folder, Plan(plan.members, {**plan.settings, **changed})).go_on(changed)


@dataclass
class Sweep:
    """A sweep on its way."""

    folder: SweepFolder
    plan: Plan

    def go_on(self, changed: Mapping[str, Any]) -> int:
        """Carry out what is missing, and compare; ``changed`` settings open ended runs again."""
        from promptpo.common.streams import Steady
        from promptpo.sweep.overview import open_overview
        from promptpo.sweep.schedule import carry_out

        lock = self.folder.lock()
        try:
            self.folder.tidy()
            self.folder.write(self.plan)
            statuses, tasks = self._standing(changed)
            stream = cast("TextIO", Steady(sys.stdout))
            self._announce(tasks, stream)
            with open_overview(statuses, stream) as overview:
                outcome = carry_out(tasks, self.plan.workers, lock, overview)
        finally:
            os.close(lock)
        say()
        if outcome.code != EXIT_INTERRUPTED:
            self._compare()
        self._close({**statuses, **outcome.statuses}, outcome.code)
        return outcome.code

    def _standing(
        self, changed: Mapping[str, Any]
    ) -> tuple[dict[Member, RunStatus | None], list[Task]]:
        """How the runs stand, and what is to be done."""
        from promptpo.store.reading import read_record
        from promptpo.sweep.schedule import DONE, Task
        from promptpo.ui.status import RunStatus

        statuses: dict[Member, RunStatus | None] = {}
        tasks = []
        for member in self.plan.members:
            run = self.folder.run_of(member)
            if run is None:
                statuses[member] = None
                flags = [*self.plan.flags(member), f"--out={self.folder.path}"]
                tasks.append(Task(member, tuple(flags)))
                continue
            status = RunStatus.on_record(read_record(run))
            statuses[member] = status
            if status.status not in DONE or changed:
                tasks.append(Task(member, (f"--resume={run}", *as_flags(changed))))
        return statuses, tasks

    def _announce(self, tasks: Sequence[Task], stream: TextIO) -> None:
        from promptpo.sweep.schedule import slots

        specs = dict.fromkeys(member.name for member in self.plan.members)
        places = slots(len(tasks), self.plan.workers)
        each = sorted({place.workers for place in places})
        processes = f"environment process{'es' if each[-1] > 1 else ''} each"
        at_once = f"{len(places)}, {' or '.join(map(str, each))} {processes}" if tasks else ""
        limits = limits_of(self.plan.settings)
        rows = [
            ("sweep", text.near_path(self.folder.path)),
            ("runs", f"{len(self.plan.members)} of {', '.join(specs)}"),
            ("at once", at_once),
            ("limits", f"for each run: {limits}" if limits else ""),
        ]
        for label, words in rows:
            if words:
                say(f"{label:11}  {words}", stream)
        say("", stream)

    def _compare(self) -> None:
        """Tables of all runs that have begun, and a page that shows them."""
        from promptpo.comparison import Comparison
        from promptpo.report import write_report
        from promptpo.ui.tables import console_of

        if runs := self.folder.runs():
            Comparison.of(runs).print(console_of(sys.stdout))
            say()
            try:
                write_report(runs, self.folder.page)
            except PromptPOError as e:
                say(f"promptpo: {self.folder.page} could not be written: {e}", sys.stderr)

    def _close(self, statuses: Mapping[Member, RunStatus | None], code: int) -> None:
        from promptpo.sweep.overview import counts, states
        from promptpo.sweep.schedule import DONE

        here = text.near_path(self.folder.path)
        rows = [("runs", counts(states(statuses.values())))]
        rows += [
            ("failed", f"{member}: {status.reason}")
            for member, status in statuses.items()
            if status is not None and status.status == "failed"
        ]
        if self.folder.page.is_file():
            rows.append(("report", text.near_path(self.folder.page)))
        if code != EXIT_INTERRUPTED:
            rows.append(("compare", f"{text.program()} compare {here}"))
        if any(status is None or status.status not in DONE for status in statuses.values()):
            rows.append(("resume", f"{text.program()} --resume {here}"))
        for label, words in rows:
            say(f"{label:11}  {words}")
