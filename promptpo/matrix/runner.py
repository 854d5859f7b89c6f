"""Runs what is missing of a plan: processes side by side within the cores."""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import IO, Any, TextIO

from promptpo.common.interrupts import heard_by
from promptpo.errors import EXIT_INTERRUPTED
from promptpo.llm.waiting import TURNS
from promptpo.matrix.overview import Overview, Statuses, open_overview
from promptpo.matrix.plan import Plan, PlanFolder, PlannedRun, as_flags
from promptpo.rollout.cores import available_cores
from promptpo.store.run import load_run
from promptpo.ui.status import RunStatus

#: Statuses of a run that needs nothing more.
_DONE = ("finished", "stopped")

#: Seconds after the first interruption in which another one is the same.
_AGAIN = 1.0

#: Runs whose episodes are played on other machines, for each core of this one.
_RUNS_A_CORE = 4

_FIELDS = {field.name for field in fields(RunStatus)}

#: Prefix of the line in which a command states an error.
_ERROR = "promptpo: error: "


@dataclass(frozen=True)
class Outcome:
    """Exit code, and statuses of all runs of a plan; None: not begun."""

    code: int
    statuses: Statuses

    @property
    def unfinished(self) -> bool:
        """True where there is something to resume."""
        return any(s is None or s.status not in _DONE for s in self.statuses.values())

    @property
    def failed(self) -> list[tuple[PlannedRun, str]]:
        """Runs that failed, with their reasons."""
        statuses = self.statuses.items()
        return [(run, s.reason) for run, s in statuses if s is not None and s.status == "failed"]


def run_plan(
    folder: PlanFolder,
    plan: Plan,
    stream: TextIO,
    announce: Callable[[int, int | None], None],
    changed: Mapping[str, Any] = MappingProxyType({}),
    chosen: Callable[[PlannedRun], bool] = lambda _: True,
    again: Callable[[PlannedRun], Mapping[str, Any]] = lambda _: {},
) -> Outcome:
    """Carry out what is missing of a plan, of the ``chosen`` runs, and show it on a stream.

    ``announce`` is called before it begins, with the number of runs and the cores of the cluster
    that plays their episodes (None: this machine does). ``changed`` settings reopen ended runs;
    an unfinished run is resumed with the settings that ``again`` returns.

    A run that fails ends no other. Ctrl-C, SIGTERM and SIGHUP end all runs so that they can be
    resumed; one that comes more than a second later kills them. The exit code is that of the first
    run that failed, 130 where runs were interrupted, else 0. Raises RunError where another process
    runs the plan, FileError where its folder is deleted.
    """
    lock = folder.lock()
    try:
        folder.write(plan)
        folder.tidy(plan)
        statuses = statuses_of(folder, plan)
        commands = {
            run: _command(folder, plan, run, status, {**again(run), **changed})
            for run, status in statuses.items()
            if chosen(run) and (status is None or status.status not in _DONE or changed)
        }
        with _machines(plan.settings, folder) as (cores, environ):
            announce(len(commands), cores)
            with open_overview(statuses, stream) as overview:
                scheduler = _Scheduler(folder, lock, commands, environ, overview)
                code = scheduler.run(slots(len(commands), plan.workers, cores))
        folder.check_lock(lock)
    finally:
        os.close(lock)
    return Outcome(code, {**statuses, **scheduler.statuses})


def statuses_of(folder: PlanFolder, plan: Plan) -> Statuses:
    """Return the status of each run of a plan, as its folder records it."""
    folders = {run: folder.run_of(run) for run in plan.runs}
    return {run: RunStatus.of(load_run(path)) if path else None for run, path in folders.items()}


def _command(
    folder: PlanFolder,
    plan: Plan,
    run: PlannedRun,
    status: RunStatus | None,
    settings: Mapping[str, Any],
) -> list[str]:
    """Return the arguments that begin a run, or resume it with ``settings``."""
    if status is not None:
        return [f"--resume={status.folder}", *as_flags(settings)]
    return [*plan.flags(run), f"--out={(folder.path / run.place).parent}"]


def on_ray(settings: Mapping[str, Any]) -> bool:
    """Return whether episodes are played on a Ray cluster."""
    return (settings.get("executor") or ("ray" if settings.get("ray_address") else "")) == "ray"


@contextlib.contextmanager
def _machines(
    settings: Mapping[str, Any], folder: PlanFolder
) -> Iterator[tuple[int | None, dict[str, str]]]:
    """Connect to the cluster, if any; yield its cores and the environment variables of runs.

    Model calls in flight are counted over all runs where ``max_concurrency`` is set. Raises
    UsageError and ClusterError where a cluster is asked for and cannot be had.
    """
    environ: dict[str, str] = {}
    if settings.get("max_concurrency"):
        environ[TURNS] = str((folder.path / ".turns").resolve())
    if not on_ray(settings):
        yield None, environ
        return
    from promptpo.rollout.cluster import connect

    address, workers = settings.get("ray_address") or "", settings.get("workers")
    with contextlib.closing(connect(address, workers)) as connection:
        yield connection.cores, {**environ, "RAY_ADDRESS": connection.reach}


@dataclass(frozen=True)
class Slot:
    """Share of one run at a time: environment processes, and cores to keep to (None: all)."""

    workers: int
    cores: frozenset[int] | None


def slots(runs: int, workers: int | None = None, cores: int | None = None) -> list[Slot]:
    """Return places for runs side by side, with together at most ``workers`` processes.

    Where these are as many as the cores (the default), each place has its own cores, and its
    environment processes keep to one each, as those of a single run do. ``cores`` are those of a
    cluster that plays the episodes.
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


def at_once(runs: int, workers: int | None, cores: int | None = None) -> str:
    """Return how many of so many runs go side by side, in words; empty where there are none."""
    places = slots(runs, workers, cores)
    each = sorted({place.workers for place in places})
    processes = f"environment process{'es' if each[-1] > 1 else ''} each"
    return f"{len(places)}, {' or '.join(map(str, each))} {processes}" if runs else ""


#: Seconds within which a signal that has ended a run reaches this process, too, where it was sent
#: to the whole group, as a terminal does.
_GROUP = 0.5


class _Scheduler:
    """Runs commands, one thread for each slot. ``lock`` is a descriptor that all runs inherit."""

    def __init__(
        self,
        folder: PlanFolder,
        lock: int,
        commands: Mapping[PlannedRun, Sequence[str]],
        environ: Mapping[str, str],
        overview: Overview,
    ) -> None:
        self.statuses: dict[PlannedRun, RunStatus] = {}
        self._folder = folder
        self._lock = lock
        self._commands = commands
        self._environ = {**os.environ, **environ}
        self._overview = overview
        self._shown = threading.Lock()
        self._waiting = deque(commands)
        self._running: dict[PlannedRun, subprocess.Popen[bytes]] = {}
        self._codes: list[int] = []
        self._stops = 0

    def run(self, places: Sequence[Slot]) -> int:
        """Run all commands and return an exit code."""
        with (
            concurrent.futures.ThreadPoolExecutor(len(places)) as threads,
            heard_by(self._stop, self._stop, _AGAIN),
        ):
            futures = [threads.submit(self._work, slot) for slot in places]
            concurrent.futures.wait(futures)
        for future in futures:
            future.result()
        if self._stops and self._waiting:
            self._codes.append(EXIT_INTERRUPTED)
        failed = [code for code in self._codes if code != EXIT_INTERRUPTED]
        return (failed or self._codes or [0])[0]

    def _work(self, slot: Slot) -> None:
        """Run one command after another in this thread."""
        try:
            if slot.cores is not None:
                os.sched_setaffinity(0, slot.cores)  # of this thread and of what it starts
            while not self._stops:
                try:
                    run = self._waiting.popleft()
                except IndexError:
                    return
                self._run(run, slot.workers)
        except BaseException:
            if not self._stops:
                self._stop()
            raise

    def _run(self, run: PlannedRun, workers: int) -> None:
        """Start a process, follow it to its end, and record its exit code."""
        self._folder.check_lock(self._lock)
        self._set(run, RunStatus())
        command = [*_interpreter(), "run", *self._commands[run], f"--workers={workers}"]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(  # noqa: S603 - our own program
                [*command, "--json", "--attached"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=(self._lock,),
                env=self._environ,
            ) as process,
        ):
            self._running[run] = process
            if self._stops:  # since this process was decided on
                self._end(process)
            for line in process.stdout or ():
                self._hear(run, line)
            code = process.wait()
            if (code < 0 or code == EXIT_INTERRUPTED) and not self._stops:
                time.sleep(_GROUP)
            del self._running[run]
            complaint = _complaint(errors, code)
        status = self.statuses[run]
        if code == EXIT_INTERRUPTED or (self._stops and status.status not in _DONE):
            self._codes.append(EXIT_INTERRUPTED)
            self._set(run, status.ended("interrupted", status.reason))
        elif code:
            self._codes.append(max(code, 1))
            self._set(run, status.ended("failed", complaint))

    def _hear(self, run: PlannedRun, line: bytes) -> None:
        """Show what a process has printed: its status, or a notice."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return  # printed by a library
        if not isinstance(message, dict):
            return
        if "notice" in message:
            with self._shown:
                self._overview.notice(run, str(message["notice"]))
        else:
            self._set(run, RunStatus(**{k: v for k, v in message.items() if k in _FIELDS}))

    def _set(self, run: PlannedRun, status: RunStatus) -> None:
        with self._shown:
            self.statuses[run] = status
            self._overview.show(run, status)

    def _stop(self) -> None:
        """End all runs; a signal handler, so it waits for nothing."""
        self._stops += 1
        for process in list(self._running.values()):
            self._end(process)

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Let a process end as with Ctrl-C, which closing its input does; the second time kill."""
        if self._stops > 1:
            process.kill()
        with contextlib.suppress(OSError, ValueError):
            if process.stdin is not None:
                process.stdin.close()


def _interpreter() -> list[str]:
    """Return Python as this process was started: with the current folder on its path, or not."""
    here = os.getcwd()  # noqa: PTH109 - as it stands in sys.path
    safely = [] if {"", here} & set(sys.path) else ["-P"]
    return [sys.executable, *safely, "-m", "promptpo"]


def _complaint(errors: IO[bytes], code: int) -> str:
    """Return the error that a process has printed, in one line."""
    if code < 0:
        return f"its process was ended by signal {-code}"
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    own = [line for line in lines if line.startswith(_ERROR)]  # a spec may print more at exit
    return (own or lines or [""])[-1].removeprefix(_ERROR) or f"it ended with exit code {code}"
