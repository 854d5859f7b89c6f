"""Carries out the runs of a sweep, side by side within the cores."""

from __future__ import annotations

import os
import queue
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Protocol

from promptpo.common.interrupts import heard_by
from promptpo.errors import EXIT_INTERRUPTED
from promptpo.rollout.cores import available_cores
from promptpo.sweep.machines import Machines
from promptpo.sweep.plan import Member
from promptpo.sweep.process import Message, RunProcess
from promptpo.ui.status import RunStatus

#: Statuses of a run that needs nothing more.
DONE = ("finished", "stopped")


@dataclass(frozen=True)
class Task:
    """A run that is to begin or to go on, and the command line of its process."""

    member: Member
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Slot:
    """What a run may use: environment processes, and the cores that it keeps to (None: all)."""

    workers: int
    cores: frozenset[int] | None


class Watcher(Protocol):
    """Is told how the runs of a sweep stand."""

    def show(self, member: Member, status: RunStatus) -> None:
        """A run has changed."""
        ...

    def notice(self, member: Member, text: str) -> None:
        """A run has said something that somebody should read."""
        ...


#: Seconds after the first interruption in which another one is the same.
_AGAIN = 1.0

#: Runs whose episodes are played on other machines, for each core of this one.
_RUNS_A_CORE = 4


def slots(runs: int, workers: int | None = None, cores: int | None = None) -> list[Slot]:
    """Places for runs side by side: together no more environment processes than ``workers``.

    Where they are as many as the cores (which is the default), each place has its own cores: its
    environment processes then keep to one each, as they do in a run by itself. ``cores`` are those
    of a cluster, on which episodes are then played.
    """
    available = available_cores()
    total = workers or (available if cores is None else max(cores, 1))
    count = max(min(runs, total), 1)
    if cores is not None:
        count = min(count, _RUNS_A_CORE * available)
    sizes = [total // count + (number < total % count) for number in range(count)]
    if cores is not None or total != available or not hasattr(os, "sched_getaffinity"):
        return [Slot(size, None) for size in sizes]
    own = iter(sorted(os.sched_getaffinity(0)))
    return [Slot(size, frozenset(next(own) for _ in range(size))) for size in sizes]


@dataclass(frozen=True)
class Outcome:
    """How the runs ended that were carried out, and an exit code."""

    code: int
    statuses: Mapping[Member, RunStatus]


class _Stop:
    """Somebody wants the sweep to end."""


def carry_out(
    tasks: Sequence[Task],
    workers: int | None,
    lock: int,
    watcher: Watcher,
    machines: Machines,
    check: Callable[[], None],
) -> Outcome:
    """Carry out all tasks.

    Ctrl-C, SIGTERM and SIGHUP end all runs so that they can be resumed; one that comes more than a
    second later kills them. A run that fails ends no other; the exit code is that of the first that
    failed, 130 where runs were interrupted, else 0. ``lock`` is a descriptor that all runs inherit.
    ``check`` is called before each run begins, and raises where none may.
    """
    places = slots(len(tasks), workers, machines.cores)
    return _Schedule(tasks, places, lock, watcher, machines.environ, check).run()


class _Schedule:
    def __init__(
        self,
        tasks: Sequence[Task],
        places: Sequence[Slot],
        lock: int,
        watcher: Watcher,
        environ: Mapping[str, str],
        check: Callable[[], None],
    ) -> None:
        self._check = check
        self._waiting = deque(tasks)
        self._free = deque(places)
        self._lock = lock
        self._environ = environ
        self._watcher = watcher
        self._messages: queue.SimpleQueue[tuple[Member, Message] | type[_Stop]] = (
            queue.SimpleQueue()  # which signal handlers may use
        )
        self._running: dict[Member, tuple[RunProcess, Slot]] = {}
        self._statuses: dict[Member, RunStatus] = {}
        self._stops = 0
        self._codes: list[int] = []

    def run(self) -> Outcome:
        """Until all runs have ended."""
        try:
            # Messages: no run is lost between its start and its entry.
            stop = partial(self._messages.put, _Stop)
            with heard_by(stop, stop, _AGAIN):
                while self._waiting or self._running:
                    while self._waiting and self._free:
                        self._start(self._waiting.popleft(), self._free.popleft())
                    self._hear(self._messages.get())
        finally:
            for process, _ in self._running.values():
                process.stop()
        failed = [code for code in self._codes if code != EXIT_INTERRUPTED]
        return Outcome((failed or self._codes or [0])[0], self._statuses)

    def _start(self, task: Task, slot: Slot) -> None:
        member = task.member
        self._check()
        self._set(member, RunStatus())
        arguments = (*task.arguments, f"--workers={slot.workers}")

        def hear(said: Message) -> None:
            self._messages.put((member, said))

        process = RunProcess(arguments, slot.cores, self._lock, hear, self._environ)
        self._running[member] = (process, slot)

    def _hear(self, message: tuple[Member, Message] | type[_Stop]) -> None:
        if isinstance(message, type):
            self._stop()
            return
        member, said = message
        if said is None:
            self._end(member)
        elif "notice" in said:
            self._watcher.notice(member, str(said["notice"]))
        else:
            known = {field.name for field in fields(RunStatus)}
            self._set(member, RunStatus(**{k: v for k, v in said.items() if k in known}))

    def _end(self, member: Member) -> None:
        process, slot = self._running.pop(member)
        self._free.append(slot)
        code, complaint = process.close()
        status = self._statuses[member]
        if code == EXIT_INTERRUPTED or (self._stops and status.status not in DONE):
            self._codes.append(EXIT_INTERRUPTED)
            self._set(member, status.ended("interrupted", status.reason))
        elif code:
            self._codes.append(max(code, 1))
            self._set(member, status.ended("failed", complaint))

    def _stop(self) -> None:
        self._stops += 1
        if self._waiting:
            self._codes.append(EXIT_INTERRUPTED)
            self._waiting.clear()
        for process, _ in self._running.values():
            if self._stops > 1:
                process.kill()
            process.stop()

    def _set(self, member: Member, status: RunStatus) -> None:
        self._statuses[member] = status
        self._watcher.show(member, status)
