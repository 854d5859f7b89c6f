"""Plans of several runs, and the folders that hold them.

A sweep lies in ``OUT/sweeps/DATE-TIME``, a benchmark in ``OUT/bench/NAME``; ``sweep.json`` holds
the plan. A run belongs to the plan in whose folder it lies, and is the one of its label, spec and
seed. Nothing else is written down, so that nothing is lost when a process is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePath
from typing import Any

from promptpo import config
from promptpo.common.files import fate, write_atomically
from promptpo.common.plaintext import shown
from promptpo.config import RunConfig
from promptpo.errors import FileError, PromptPOError, RunError, UsageError, file_error
from promptpo.run.settings import REMOVED, fields

_SETTINGS = config.fields(RunConfig)

#: Settings that end a run, and their defaults; each run of a plan has them for itself.
LIMITS = {name: s.default for name, s in _SETTINGS.items() if s.group == "limits"}

#: Runs of a plan, at most.
MOST = 1000

#: Folders of sweeps and of benchmarks among those of runs.
SWEEPS, BENCHMARKS = "sweeps", "bench"

#: File that is in the folder of a benchmark besides the plan.
SUITE_FILE = "suite.json"

#: Places of runs below the folder of all runs: single ones, those of sweeps, those of benchmarks.
DEPTHS = ("*/*", f"{SWEEPS}/*/*/*", f"{BENCHMARKS}/*/*/*/*")

#: Seconds that the runs of a process that was killed may take to end.
_PATIENCE = 20


@dataclass(frozen=True)
class PlannedRun:
    """One run of a plan: ``spec`` is the value of ``--spec``, ``name`` the spec's name.

    Runs of a benchmark also have the ``label`` of their method. Label and name are folders.
    """

    spec: str
    name: str
    seed: int
    label: str = ""

    def __str__(self) -> str:
        task = f"{self.name} seed {self.seed}"
        return f"{self.label}: {task}" if self.label else task

    @property
    def place(self) -> PurePath:
        """Folder of the run's folder, relative to that of the plan."""
        return PurePath(self.label, self.name)


@dataclass(frozen=True)
class Plan:
    """Runs and their settings: fields of ``RunConfig``, options of methods, maybe a ``preset``.

    ``settings`` hold for all runs, ``own`` for single ones; the latter win.
    """

    runs: tuple[PlannedRun, ...]
    settings: Mapping[str, Any]
    own: Mapping[PlannedRun, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        runs: Iterable[PlannedRun],
        settings: Mapping[str, Any],
        own: Mapping[PlannedRun, Mapping[str, Any]] | None = None,
    ) -> Plan:
        """Plan each run once. Raises UsageError for two specs of one name, and too many runs."""
        unique = tuple(dict.fromkeys(runs))
        specs: dict[str, str] = {}
        for run in unique:
            other = specs.setdefault(run.name, run.spec)
            if other != run.spec:
                raise UsageError(
                    f"{other} and {run.spec} are both called {run.name}, and would share a folder;"
                    " rename one, or run it by itself"
                )
        if len(unique) > MOST:
            raise UsageError(f"{len(unique):,} runs are more than {MOST:,}; name fewer --seeds")
        return cls(unique, settings, own or {})

    @property
    def workers(self) -> int | None:
        """Environment processes of all runs together; None: one for each core."""
        return self.settings.get("workers")

    def settings_of(self, run: PlannedRun) -> dict[str, Any]:
        """Return the settings of a run, without its spec and seed."""
        return {**self.settings, **self.own.get(run, {})}

    def flags(self, run: PlannedRun) -> list[str]:
        """Return the settings of a run as command-line options, without ``workers``."""
        return as_flags({**self.settings_of(run), "spec": run.spec, "seed": run.seed})


def as_flags(settings: Mapping[str, Any]) -> list[str]:
    """Return settings as command-line options, without ``workers`` and what is None."""
    flags = []
    for name, value in settings.items():
        if name == "workers" or value is None:
            continue
        text = str(value).lower() if isinstance(value, bool) else value
        if name == "preset" or (name in config.OPTIONS and not isinstance(value, bool)):
            flags.append(f"--{name.replace('_', '-')}={text}")
        else:
            flags += ["--set", f"{name}={text}"]
    return flags


def limits_of(settings: Mapping[str, Any]) -> str:
    """Return the limits that are set, as one types them: ``--max-cost 2 --patience 4``."""
    limits = {
        name: f"{value:.15g}" if isinstance(value, float) else value
        for name, default in LIMITS.items()
        if (value := settings.get(name, default)) != default
    }
    words = as_flags(limits)
    return " ".join(w.replace("=", " ") if w.startswith("--") else w for w in words)


def read_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds that ``0..4``, ``0,3,7`` or ``0..4,10`` names, each once.

    Raises UsageError for other texts.
    """
    seeds: list[int] = []
    for part in text.split(","):
        numbers = re.fullmatch(r"\s*([0-9]{1,19})(?:\.\.([0-9]{1,19}))?\s*", part, re.ASCII)
        if not numbers:
            raise UsageError(f"--seeds: write it as 0..4 or 0,3,7, not {shown(text)}")
        first, last = int(numbers[1]), int(numbers[2] or numbers[1])
        if last < first:
            raise UsageError(f"--seeds: {first}..{last} goes backwards; write {last}..{first}")
        if last - first >= MOST:
            raise UsageError(f"--seeds: {first}..{last} are more than {MOST:,} seeds")
        seeds += range(first, last + 1)
    for seed in seeds:
        _SETTINGS["seed"].check(seed)
    return tuple(dict.fromkeys(seeds))


@dataclass(frozen=True)
class PlanFolder:
    """A folder with a plan and its runs."""

    path: Path

    @classmethod
    def create(cls, out: Path, plan: Plan) -> PlanFolder:
        """Make the folder of a new sweep. Raises RunError where it cannot be made."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        names = itertools.chain([stamp], (f"{stamp}-{number}" for number in itertools.count(2)))
        path = next(path for name in names if not (path := out / SWEEPS / name).exists())
        try:
            path.mkdir(parents=True)
        except FileExistsError:  # another process has just made it
            return cls.create(out, plan)
        except OSError as e:
            words = f"{out}: {e.strerror}; give --out a folder that can be written"
            raise RunError(words) from None
        folder = cls(path)
        folder.write(plan)
        return folder

    @classmethod
    def find(cls, name: str, out: Path) -> PlanFolder | None:
        """Return the folder that a path, a path under ``out`` or a name means; None: no plan."""
        for path in (Path(name), out / name, out / SWEEPS / name, out / BENCHMARKS / name):
            if (path / "sweep.json").is_file():
                return cls(path)
        return None

    @classmethod
    def around(cls, run: Path) -> PlanFolder | None:
        """Return the folder of the plan that a run belongs to; None for a single run."""
        outer = (run.parent.parent, run.parent.parent.parent)
        return next((cls(path) for path in outer if (path / "sweep.json").is_file()), None)

    @classmethod
    def all_in(cls, out: Path) -> list[PlanFolder]:
        """Return the folders under ``out`` whose plans can be read, oldest first."""
        folders = []
        files = [file for name in (BENCHMARKS, SWEEPS) for file in out.glob(f"{name}/*/sweep.json")]
        for file in sorted(files):
            with contextlib.suppress(PromptPOError):
                cls(file.parent).read()
                folders.append(cls(file.parent))
        return folders

    @property
    def file(self) -> Path:
        """File of the plan."""
        return self.path / "sweep.json"

    @property
    def page(self) -> Path:
        """Report of all runs of a sweep."""
        return self.path / "report.html"

    def write(self, plan: Plan) -> None:
        """Replace the plan."""
        runs = [{**asdict(run), "settings": plan.own.get(run, {})} for run in plan.runs]
        data = {"settings": plan.settings, "runs": runs}
        write_atomically(self.file, json.dumps(data, indent=2) + "\n", sync=True)

    def read(self) -> Plan:
        """Return the plan. Raises RunError where it cannot be read."""
        try:
            data = json.loads(self.file.read_bytes())
            own = {}
            for run in data["runs"]:
                settings = run.pop("settings", {})
                own[PlannedRun(**run)] = settings
            plan = Plan(tuple(own), data["settings"], own)
            _check(plan)
        except OSError as e:
            raise RunError(str(file_error(e, self.file))) from None
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
            UsageError,
        ) as e:
            what = f"not what promptpo writes there ({e})"
            raise RunError(f"{self.file}: {what}; its runs can be resumed one by one") from None
        return plan

    def run_of(self, run: PlannedRun) -> Path | None:
        """Return the folder of a run; None where it has not begun. Raises RunError."""
        logs = sorted((self.path / run.place).glob("*/events.jsonl"))
        return next((log.parent for log in logs if _seed_of(log) == run.seed), None)

    def runs(self) -> list[Path]:
        """Return the folders of all runs that have begun, in the order of the plan."""
        return [folder for run in self.read().runs if (folder := self.run_of(run))]

    def lock(self) -> int:
        """Keep other processes from the folder until the descriptor, and all copies, are closed.

        Runs inherit it: while one of them lives, the folder is in use. Those of a process that was
        killed are given time to end. Raises RunError where the folder is in use, FileError.
        """
        file = self.path / ".lock"
        try:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as e:
            raise file_error(e, file) from None
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(0.1)
                    continue
                os.close(descriptor)
                what = "another process is running it; wait for it or stop it"
                raise RunError(f"{self.path}: {what}") from None
            return descriptor

    def check_lock(self, lock: int) -> None:
        """Raise FileError where the folder of a lock that is held has been deleted or moved."""
        file = self.path / ".lock"
        try:
            what = fate(lock, file)
        except OSError as e:
            raise file_error(e, file) from None
        if what:
            words = f"{what} while the sweep went on, which ends; begin it again"
            raise FileError(f"{file}: {words}")

    def tidy(self, plan: Plan) -> None:
        """Remove folders of runs that were killed while they began; needs the lock."""
        for place in {run.place for run in plan.runs}:
            for path in (self.path / place).glob(".new-*"):
                shutil.rmtree(path, ignore_errors=True)


def _seed_of(log: Path) -> object:
    """Return the seed of a run, by the first line of its log, else by the rest of its folder."""
    from promptpo.run.settings import settings_of
    from promptpo.store.folder import RunFolder

    with contextlib.suppress(OSError, ValueError, LookupError, TypeError), log.open("rb") as file:
        return json.loads(file.readline())["config"]["seed"]
    return settings_of(RunFolder(log.parent)).get("seed")


def _check(plan: Plan) -> None:
    """Raise UsageError for a plan with settings or names of folders that are none."""
    layers = [(plan.settings, plan.settings)]
    layers += [(plan.own.get(run, {}), plan.settings_of(run)) for run in plan.runs]
    for settings, merged in layers:
        method = merged.get("method", RunConfig.method)
        for name, value in settings.items():
            if name != "preset" and name not in REMOVED:
                fields(method)[name].check(value)
    for run in plan.runs:
        _SETTINGS["spec"].check(run.spec)
        _SETTINGS["seed"].check(run.seed)
        for name in (run.name, run.label or run.name):
            if not isinstance(name, str) or Path(name).name != name:
                raise UsageError(f"no name of a folder: {name!r}")
