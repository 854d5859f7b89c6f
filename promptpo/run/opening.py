"""Opens a run: a new one with its first event, or one that goes on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

from promptpo.config import RunConfig
from promptpo.errors import RunError, file_error
from promptpo.export.spec_copy import keep_spec
from promptpo.rollout import TaskInfo
from promptpo.spec import EnvSpec, layout, spec_text
from promptpo.store.codec import digest
from promptpo.store.events import FORMAT, EventLog, Listener
from promptpo.store.folder import RunFolder
from promptpo.store.journal import Journal
from promptpo.version import __version__

_PACKAGES = ("numpy", "gymnasium", "mujoco", "metaworld", "litellm", "RestrictedPython")

#: What goes along with a run: given its settings, its folder, the data of its first event and its
#: log, it is entered before anything else is told and left when all is done; it may listen.
Companion: TypeAlias = Callable[
    [RunConfig, Path, Mapping[str, Any], EventLog],
    contextlib.AbstractContextManager[Sequence[Listener]],
]


def open_run(
    config: RunConfig,
    spec: EnvSpec,
    task: TaskInfo,
    listeners: Sequence[Listener],
    companions: Sequence[Companion],
    resume: Path | None,
    stack: contextlib.ExitStack,
) -> tuple[RunFolder, Journal]:
    """Return the run's folder and its journal: new ones, or those in the folder ``resume``.

    ``stack`` closes them. Raises RunError and FileError.
    """
    fresh = first_event(config, spec, task)
    notices: list[str] = []
    with contextlib.ExitStack() as making:
        if resume is None:
            folder = making.enter_context(RunFolder.create(Path(config.out), spec.name))
        else:
            folder = RunFolder.open(resume)
        stack.callback(os.close, folder.lock())
        log = EventLog(folder.events)
        stack.callback(log.close)
        journal = Journal(log)
        if resume is not None:
            notices += _check_resumed(folder, journal, spec)
        if not journal.run.header:
            journal.append("run", **fresh)
        notices += keep_spec(folder.path, spec)
    log.path, journal.run.folder = folder.events, folder.path
    header = journal.run.header
    log.listeners = [*listeners]
    for companion in companions:
        log.listeners += stack.enter_context(companion(config, folder.path, header, log))
    now: dict[str, Any] = {"config": config.as_dict(), "isolation": task.isolation}
    journal.tell("run", **{**header, **now, "folder": str(folder.path)})
    if resume is not None:
        journal.append("resumed", events=len(log.past), **now)
    for text in notices:
        journal.notice(text)
    return folder, journal


def _check_resumed(folder: RunFolder, journal: Journal, spec: EnvSpec) -> list[str]:
    """Return notices on the files of a run that goes on. Raises RunError where it cannot."""
    notices = [journal.log.notice] if journal.log.notice else []
    try:
        folder.read_info()
    except RunError as e:
        notices.append(f"{e}: {_set_aside(folder.path / 'run.json')}; it is written anew")
    if not journal.run.header:
        notices.append("the run's first event is lost: its spec is taken as it is now")
    elif journal.run.header["spec"]["sha"] != _fingerprint(spec):
        raise RunError(
            f"{spec.where}: the spec has changed since the run began; put it back as it"
            " was, or start a new run"
        )
    return notices


def _set_aside(file: Path) -> str:
    """Rename a file that cannot be read, so that its bytes are kept; returns a notice."""
    aside = file.with_name(f"{file.name}.damaged")
    try:
        file.replace(aside)
    except OSError as e:
        raise file_error(e, aside) from None
    return f"set aside in {aside.name}"


def first_event(config: RunConfig, spec: EnvSpec, task: TaskInfo) -> dict[str, Any]:
    """What a run is, as its log begins."""
    references = {name: asdict(value) for name, value in spec.reference_scores.items()}
    return {
        "format": FORMAT,
        "config": config.as_dict(),
        "spec": {
            "name": spec.name,
            "title": spec.title,
            "sha": _fingerprint(spec),
            "horizon": spec.horizon,
            "references": references,
            "facts": bool(spec.facts),
            "twin_of": spec.twin_of,
            "observation": [
                {"name": f.name, "shape": f.shape, "unit": f.field.unit}
                for f in layout(spec.observation)
            ],
        },
        "model": config.model,
        "versions": _versions(),
        "isolation": task.isolation,
    }


def _fingerprint(spec: EnvSpec) -> str:
    return digest(spec_text(spec))


def _versions() -> dict[str, str]:
    versions = {"promptpo": __version__, "python": sys.version.split()[0]}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions
