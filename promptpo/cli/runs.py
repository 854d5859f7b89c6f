"""Runs on disk, found by name."""

from __future__ import annotations

import contextlib
import difflib
import shlex
from collections.abc import Iterable
from pathlib import Path

from promptpo.config import RunConfig
from promptpo.errors import PromptPOError, RunError, SpecError

#: Help of an argument that names a run.
NAMES = "a run's folder or name, 'latest', or a spec's name for its latest run"

#: Help of an argument that names several runs.
SEVERAL = f"{NAMES}; a sweep's folder for all of its runs"


def all_runs(out: Path) -> list[Path]:
    """Return the run folders under ``out``, oldest first."""
    return [folder for folder in all_folders(out) if (folder / "events.jsonl").is_file()]


def all_folders(out: Path) -> list[Path]:
    """Return the run folders, and those of runs that have lost their log."""
    from promptpo.matrix.plan import DEPTHS

    files = [f for d in DEPTHS for n in ("events.jsonl", "run.json") for f in out.glob(f"{d}/{n}")]
    return sorted({f.parent for f in files if not f.parent.name.startswith(".")}, key=_age)


def find(name: str, out: Path, spec: str | None = None) -> Path:
    """Return the folder of a run: a path, a path under ``out``, or ``latest`` (of the spec).

    A folder of runs, as ``out`` has one for each spec, stands for the latest of them. Raises
    RunError where there is no such run.
    """
    if name == "latest":
        of_spec = folder_name(spec, out) if spec else None
        folders = [f for f in all_runs(out) if of_spec in (None, f.parent.name)]
        if not folders:
            of = f" of {of_spec}" if spec else ""
            raise RunError(f"{out}: no run{of} here yet; give --out, or the run's folder")
        return folders[-1]
    from promptpo.store.folder import no_run

    places = (Path(name), out / name)
    for folder in places:
        if not no_run(folder):
            return folder
        if inside := sorted((f.parent for f in folder.glob("*/events.jsonl")), key=_age):
            return inside[-1]
    if (called := _called(name, out)) is not None:
        return called
    first = next((place for place in places if place.exists()), places[0])
    raise RunError(f"{first}: {no_run(first)}; {_hint(name, out)}")


def _called(name: str, out: Path) -> Path | None:
    """Return the run of a name; None where there is none. Raises RunError where there are more."""
    from promptpo.store.summary import summary_of

    called = []
    for folder in all_runs(out) if name else ():
        with contextlib.suppress(PromptPOError):
            if summary_of(folder).name == name:
                called.append(folder)
    if len(called) > 1:
        raise RunError(f"{name}: {len(called)} runs have this name; give the folder of one")
    return called[0] if called else None


def find_all(names: Iterable[str], out: Path) -> list[Path]:
    """Return the folders of several runs; a sweep stands for all of its runs that have begun.

    Raises RunError where there is no such run, or no run in a sweep.
    """
    from promptpo.matrix.plan import PlanFolder

    folders: list[Path] = []
    for name in names:
        sweep = PlanFolder.find(name, out)
        if sweep is None:
            folders.append(find(name, out))
        elif inside := sweep.runs():
            folders += inside
        else:
            raise RunError(f"{sweep.path}: none of its runs has begun; resume it")
    return folders


def _hint(name: str, out: Path) -> str:
    """Return the runs under ``out`` with close names, or the command that lists them."""
    spelled: dict[str, Path] = {}  # all that a run may be called by, in part or in whole
    for run in all_runs(out):
        spec = run.parent
        for words in (spec.name, str(spec), run.name, f"{spec.name}/{run.name}", str(run)):
            spelled[words] = run
    near = difflib.get_close_matches(str(Path(name)), spelled, 3, 0.8)
    if near:
        meant = dict.fromkeys(str(spelled[n]) for n in near)
        return f"did you mean {' or '.join(meant)}?"
    where = "" if out == Path(RunConfig.out) else f" --out {shlex.quote(str(out))}"
    return f"`promptpo list{where}` shows the runs"


def folder_name(spec: str, out: Path) -> str:
    """Return the name of the folder of a spec's runs: the spec's. Raises SpecError."""
    from promptpo.spec import load_spec

    try:
        return load_spec(spec).name
    except SpecError:
        if (out / Path(spec).stem).is_dir():  # the spec is gone, its runs are not
            return Path(spec).stem
        raise


def _age(folder: Path) -> tuple[str, int]:
    """Return the order of a folder, named after its start; ``-2``: second of the same second."""
    stamp, _, number = folder.name.partition("-")
    time, _, again = number.partition("-")
    return f"{stamp}-{time}", int(again) if again.isdecimal() else 1
