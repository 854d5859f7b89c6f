"""Runs on disk, found by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from promptpo.errors import RunError


def all_runs(out: Path) -> list[Path]:
    """The run folders under ``out``, oldest first."""
    return sorted(_run_folders(out), key=_age)


def find(name: str, out: Path, spec: str | None = None) -> Path:
    """The folder of a run: a path, a path under ``out``, or ``latest`` (of the spec, if named).

    Raises RunError where there is no such run.
    """
    if name == "latest":
        of_spec = folder_name(spec) if spec else None
        found = [f for f in all_runs(out) if of_spec in (None, f.parent.name)]
        if not found:
            of = f" of {of_spec}" if spec else ""
            raise RunError(f"{out}: no run{of} here yet; give --out, or the run's folder")
        return found[-1]
    for folder in (Path(name), out / name):
        if (folder / "events.jsonl").is_file():
            return folder
    from promptpo.store.folder import RunFolder

    return RunFolder.open(Path(name)).path


def folder_name(spec: str) -> str:
    """The folder in which runs of a spec lie: the spec's name. Raises SpecError."""
    from promptpo.spec import load_spec

    return load_spec(spec).name


def _run_folders(out: Path) -> Iterator[Path]:
    if out.is_dir():
        logs = out.glob("*/*/events.jsonl")
        yield from (log.parent for log in logs if not log.parent.name.startswith("."))


def _age(folder: Path) -> tuple[str, int]:
    """Folders are named after their start; ``-2`` marks the second one of the same second."""
    stamp, _, number = folder.name.partition("-")
    time, _, again = number.partition("-")
    return f"{stamp}-{time}", int(again) if again.isdecimal() else 1
