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
from promptpo.export.folder import keep_spec
from promptpo.rollout import TaskInfo
from promptpo.spec import EnvSpec, layout, spec_text
from promptpo.store.events import EventLog, Listener
from promptpo.store.folder import RunFolder
from promptpo.store.memo import digest
from promptpo.store.shapes import FORMAT
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
) -> tuple[RunFolder, EventLog, Mapping[str, Any]]:
    """The run's folder, its log and its first event: new ones, or those in the folder ``resume``.

    ``stack`` closes them. Raises RunError and FileError.
    """
    fresh = first_event(config, spec, task)
    if resume is None:
        with RunFolder.create(Path(config.out), spec.name) as folder:
            stack.callback(os.close, folder.lock())
            log = EventLog(folder.events)
            stack.callback(log.close)
            log.emit("run", **fresh)
            notices = keep_spec(folder.path, spec)
        log.path = folder.events
        run: Mapping[str, Any] = fresh
    else:
        folder = RunFolder.open(resume)
        stack.callback(os.close, folder.lock())
        log = EventLog(folder.events)
        stack.callback(log.close)
        run, notices = _recorded(folder, log, spec, fresh)
        notices += keep_spec(folder.path, spec)
    log.listeners = [*listeners]
    for companion in companions:
        log.listeners += stack.enter_context(companion(config, folder.path, run, log))
    now: dict[str, Any] = {"config": config.as_dict(), "isolation": task.isolation}
    log.emit("run", transient=True, **{**run, **now, "folder": str(folder.path)})
    if resume is not None:
        log.emit("resumed", events=len(log.past), **now)
    for text in notices:
        log.emit("notice", text=text)
    return folder, log, run


def _recorded(
    folder: RunFolder, log: EventLog, spec: EnvSpec, fresh: dict[str, Any]
) -> tuple[Mapping[str, Any], list[str]]:
    """The first event of a run that goes on, and what the user should know of its files."""
    notices = [log.notice] if log.notice else []
    try:
        folder.read_info()
    except RunError as e:
        notices.append(f"{e}: {_set_aside(folder.path / 'run.json')}; it is written anew")
    run: Mapping[str, Any] = next(log.of_type("run"), {})
    if not run:
        log.emit("run", **fresh)
        notices.append("the run's first event is lost: its spec is taken as it is now")
        return fresh, notices
    if run["spec"]["sha"] != _fingerprint(spec):
        raise RunError(
            f"{spec.where}: the spec has changed since the run began; put it back as it"
            " was, or start a new run"
        )
    return run, notices


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
