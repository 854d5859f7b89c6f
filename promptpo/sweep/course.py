"""A sweep on its way: what of it is done, and carrying out what is missing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TextIO

from promptpo.store.run import load_run
from promptpo.sweep.folder import SweepFolder
from promptpo.sweep.machines import machines
from promptpo.sweep.overview import open_overview
from promptpo.sweep.plan import Member, Plan, as_flags
from promptpo.sweep.schedule import DONE, Task, carry_out
from promptpo.ui.status import RunStatus

#: How the runs stand; None: not begun.
Statuses = Mapping[Member, RunStatus | None]


@dataclass(frozen=True)
class Ended:
    """How the runs of a sweep stand once nothing more is carried out, and an exit code."""

    code: int
    statuses: Statuses

    @property
    def unfinished(self) -> bool:
        """Whether there is something to resume."""
        return any(s is None or s.status not in DONE for s in self.statuses.values())

    @property
    def failed(self) -> list[tuple[Member, str]]:
        """The runs that failed, and why."""
        found = self.statuses.items()
        return [(m, s.reason) for m, s in found if s is not None and s.status == "failed"]


def go_on(
    folder: SweepFolder,
    plan: Plan,
    stream: TextIO,
    announce: Callable[[Sequence[Task], int | None], None],
    changed: Mapping[str, Any] = MappingProxyType({}),
    chosen: Callable[[Member], bool] = lambda _: True,
    again: Callable[[Member], Mapping[str, Any]] = lambda _: {},
) -> Ended:
    """Carry out what is missing of a plan, of the ``chosen`` runs, and show it on a stream.

    ``announce`` is called with what is to be done, and how many cores a cluster has for it (None:
    it is done on this machine), before it begins. ``changed`` settings open
    ended runs again; ``again`` are those with which an unfinished one goes on. Raises RunError
    where another process carries the sweep out.
    """
    lock = folder.lock()
    try:
        folder.write(plan)
        folder.tidy()
        statuses = standing(folder, plan)
        tasks = [
            _task(folder, plan, member, status, {**again(member), **changed})
            for member, status in statuses.items()
            if chosen(member) and (status is None or status.status not in DONE or changed)
        ]
        with machines(plan.settings, folder.path) as found:
            announce(tasks, found.cores)
            with open_overview(statuses, stream) as overview:
                outcome = carry_out(
                    tasks, plan.workers, lock, overview, found, lambda: folder.check_kept(lock)
                )
        folder.check_kept(lock)
    finally:
        os.close(lock)
    return Ended(outcome.code, {**statuses, **outcome.statuses})


def standing(folder: SweepFolder, plan: Plan) -> Statuses:
    """How the runs of a plan stand."""
    statuses: dict[Member, RunStatus | None] = {}
    for member in plan.members:
        run = folder.run_of(member)
        statuses[member] = RunStatus.on_record(load_run(run)) if run else None
    return statuses


def _task(
    folder: SweepFolder,
    plan: Plan,
    member: Member,
    status: RunStatus | None,
    settings: Mapping[str, Any],
) -> Task:
    """Begin a run, or go on with it with these ``settings``."""
    if status is not None:
        return Task(member, (f"--resume={status.folder}", *as_flags(settings)))
    out = (folder.path / member.place).parent
    return Task(member, (*plan.flags(member), f"--out={out}"))
