"""The folder of a sweep: ``OUT/sweeps/DATE-TIME``, with ``sweep.json`` and the runs in it.

A run belongs to the sweep in whose folder it lies, and is the one of its label, spec and seed:
nothing else is written down, so that nothing is lost when something is killed. The sweep of a
benchmark lies in ``OUT/bench/NAME``.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from promptpo import config
from promptpo.common.files import fate, write_atomically
from promptpo.config import RunConfig
from promptpo.errors import FileError, PromptPOError, RunError, UsageError, file_error
from promptpo.run.settings import REMOVED, fields
from promptpo.sweep.plan import Member, Plan

#: The folder of sweeps among those of runs, and that of the sweeps of benchmarks.
SWEEPS, BENCHMARKS = "sweeps", "bench"

#: Where runs lie below those of runs: by themselves, in a sweep, in one that has labels.
DEPTHS = ("*/*", f"{SWEEPS}/*/*/*", f"{BENCHMARKS}/*/*/*/*")

#: Seconds that the runs of a sweep whose process was killed may take to end.
_PATIENCE = 20


@dataclass(frozen=True)
class SweepFolder:
    """Where a sweep lies."""

    path: Path

    @classmethod
    def create(cls, out: Path, plan: Plan) -> SweepFolder:
        """A new folder with the plan in it. Raises RunError where it cannot be made."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        for number in itertools.count(1):
            path = out / SWEEPS / (stamp if number == 1 else f"{stamp}-{number}")
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as e:
                words = f"{out}: {e.strerror}; give --out a folder that can be written"
                raise RunError(words) from None
            folder = cls(path)
            folder.write(plan)
            return folder
        raise AssertionError

    @classmethod
    def find(cls, name: str, out: Path) -> SweepFolder | None:
        """The sweep that a path, a path under ``out`` or a name is; None where it is none."""
        for path in (Path(name), out / name, out / SWEEPS / name, out / BENCHMARKS / name):
            if (path / "sweep.json").is_file():
                return cls(path)
        return None

    @classmethod
    def around(cls, run: Path) -> SweepFolder | None:
        """The sweep that a run belongs to; None for a run by itself."""
        outer = (run.parent.parent, run.parent.parent.parent)
        return next((cls(path) for path in outer if (path / "sweep.json").is_file()), None)

    @property
    def file(self) -> Path:
        """The plan."""
        return self.path / "sweep.json"

    @property
    def page(self) -> Path:
        """The report of all runs."""
        return self.path / "report.html"

    def write(self, plan: Plan) -> None:
        """Replace the plan."""
        runs = [{**asdict(m), "settings": plan.own.get(m, {})} for m in plan.members]
        data = {"settings": plan.settings, "runs": runs}
        write_atomically(self.file, json.dumps(data, indent=2) + "\n", sync=True)

    def read(self) -> Plan:
        """The plan. Raises RunError where it cannot be read."""
        try:
            data = json.loads(self.file.read_bytes())
            own = {}
            for run in data["runs"]:
                settings = run.pop("settings", {})
                own[Member(**run)] = settings
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

    def run_of(self, member: Member) -> Path | None:
        """The folder of a member's run; None where it has not begun. Raises RunError."""
        logs = sorted((self.path / member.place).glob("*/events.jsonl"))
        return next((log.parent for log in logs if _seed_of(log) == member.seed), None)

    def runs(self) -> list[Path]:
        """The folders of all runs that have begun, in the order of the plan."""
        return [run for member in self.read().members if (run := self.run_of(member))]

    def lock(self) -> int:
        """Keep other processes from the sweep until the descriptor, and all copies, are closed.

        Its runs inherit it: while one of them lives, the sweep is going on. Those of a process that
        was killed are given time to end. Raises RunError where the sweep goes on, FileError.
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

    def check_kept(self, lock: int) -> None:
        """Raise FileError where the folder of a lock that is held has been deleted or moved."""
        file = self.path / ".lock"
        try:
            what = fate(lock, file)
        except OSError as e:
            raise file_error(e, file) from None
        if what:
            words = f"{what} while the sweep went on, which ends; begin it again"
            raise FileError(f"{file}: {words}")

    def tidy(self) -> None:
        """Remove what runs that were killed while they began have left; needs the lock."""
        for place in {member.place for member in self.read().members}:
            for path in (self.path / place).glob(".new-*"):
                shutil.rmtree(path, ignore_errors=True)


def _seed_of(log: Path) -> object:
    """The seed of a run, by the first line of its log, or where that is lost by what is left."""
    from promptpo.run.settings import settings_of
    from promptpo.store.folder import RunFolder

    with contextlib.suppress(OSError, ValueError, LookupError, TypeError), log.open("rb") as file:
        return json.loads(file.readline())["config"]["seed"]
    return settings_of(RunFolder(log.parent)).get("seed")


def _check(plan: Plan) -> None:
    _check_settings(plan.settings, plan.settings.get("method", RunConfig.method))
    for member in plan.members:
        config.fields(RunConfig)["spec"].check(member.spec)
        config.fields(RunConfig)["seed"].check(member.seed)
        for name in (member.name, member.label or member.name):
            if not isinstance(name, str) or Path(name).name != name:
                raise UsageError(f"no name of a folder: {name!r}")
        method = plan.settings_of(member).get("method", RunConfig.method)
        _check_settings(plan.own.get(member, {}), method)


def _check_settings(settings: Mapping[str, Any], method: str) -> None:
    for name, value in settings.items():
        if name != "preset" and name not in REMOVED:
            fields(method)[name].check(value)


def sweeps_in(out: Path) -> list[SweepFolder]:
    """The sweeps under ``out`` whose plans can be read, oldest first."""
    found = []
    files = [file for name in (BENCHMARKS, SWEEPS) for file in out.glob(f"{name}/*/sweep.json")]
    for file in sorted(files):
        with contextlib.suppress(PromptPOError):
            folder = SweepFolder(file.parent)
            folder.read()
            found.append(folder)
    return found
