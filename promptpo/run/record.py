"""The records at the start and the end of a run: its first event, ``run.json`` and the last."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from promptpo.config import RunConfig
from promptpo.errors import RunError, file_error
from promptpo.export.folder import keep_spec
from promptpo.rollout import TaskInfo
from promptpo.run.services import RunServices
from promptpo.spec import EnvSpec, layout, spec_text
from promptpo.spec.definition import Bound
from promptpo.stats import ends
from promptpo.store.codec import digest, encode, further_scores, score_data
from promptpo.store.events import FORMAT, EventLog, Listener
from promptpo.store.folder import RunFolder
from promptpo.store.journal import Journal
from promptpo.types import Candidate, Rollout, best_round
from promptpo.version import __version__

_PACKAGES = ("numpy", "gymnasium", "mujoco", "metaworld", "litellm", "RestrictedPython")

#: A companion of a run, such as its trackers or its report: a function of its settings, folder,
#: first event's data and log. Its context is entered before any event is handed on and left at the
#: very end, and gives listeners.
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
    """Rename a file that cannot be read, so that its bytes are kept; return a notice."""
    aside = file.with_name(f"{file.name}.damaged")
    try:
        file.replace(aside)
    except OSError as e:
        raise file_error(e, aside) from None
    return f"set aside in {aside.name}"


def first_event(config: RunConfig, spec: EnvSpec, task: TaskInfo) -> dict[str, Any]:
    """Return the data of a run's first event."""
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
                {
                    "name": f.name,
                    "shape": f.shape,
                    "unit": f.field.unit,
                    "low": _limits(f.field.low, f.shape),
                    "high": _limits(f.field.high, f.shape),
                }
                for f in layout(spec.observation)
            ],
            "action": {
                "low": _limits(task.actions.low, task.actions.shape),
                "high": _limits(task.actions.high, task.actions.shape),
            },
        },
        "model": config.model,
        "versions": _versions(),
        "isolation": task.isolation,
    }


def _limits(bound: Bound, shape: tuple[int, ...]) -> list[float | None] | None:
    """Return a bound as one number per element, None for none; None where there is none at all."""
    if bound is None or np.size(bound) == 0:
        return None
    numbers = np.broadcast_to(np.asarray(bound, dtype=np.float64).reshape(-1), math.prod(shape))
    return [float(n) if math.isfinite(n) else None for n in numbers]


def _fingerprint(spec: EnvSpec) -> str:
    return digest(spec_text(spec))


def _versions() -> dict[str, str]:
    versions = {"promptpo": __version__, "python": sys.version.split()[0]}
    for name in _PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def standing(services: RunServices) -> tuple[Candidate | None, Rollout | None]:
    """Return the policy in ``best/``: the last with held-out episodes, else that of selection.

    Where none has been selected it is the best so far.
    """
    if services.run.tested is not None:
        return services.run.tested
    if services.journal.has("selection"):
        return services.run.best, None
    best = best_round(services.rounds).winner if services.rounds else None
    return (None if best is None or best.score.failed else best), None


def finish(
    s: RunServices, status: str, reason: str, best: Candidate | None, test: Rollout | None
) -> None:
    """Write the best policy and ``run.json``, and record that the run has ended."""
    s.journal.log.check_kept()
    if best is not None:
        s.write_best(best, test)
    write_info(s, status, reason, best, test)
    data: dict[str, Any] = {
        "status": status,
        "reason": reason,
        "best": best.name if best else None,
        "score": score_data(best.score) if best else None,
    }
    if status == "interrupted":  # that is no end
        s.report("finished", **data, test=encode(test))
    else:
        s.journal.write("finished", **data)


def fail(services: RunServices, reason: str) -> None:
    """Record that the run has failed, where anything can still be written."""
    if not services.journal.log.lost:
        with contextlib.suppress(OSError):
            write_info(services, "failed", reason, *standing(services))
    services.report("finished", status="failed", reason=reason, best=None, score=None)


def write_info(
    s: RunServices, status: str, reason: str, best: Candidate | None, test: Rollout | None
) -> None:
    """Replace ``run.json``."""
    header = s.run.header
    info: dict[str, Any] = {
        **{k: v for k, v in header.items() if k != "spec"},
        "format": FORMAT,
        "config": s.config.as_dict(),
        "executor": s.executor.about,
        "spec": s.spec.name,
        "title": s.spec.title,
        "twin_of": s.spec.twin_of,
        "facts": bool(s.spec.facts),
        "references": header["spec"]["references"],
        "status": status,
        "reason": reason,
        "started": _clock(s.run.started),
        "ended": None if status == "running" else _clock(time.time()),
        "seconds": round(s.ledger.elapsed, 1),
        "usage": encode(s.ledger.usage),
    }
    if best is not None:
        info["best"] = {"name": best.name, "search": score_data(best.score)}
    if test is not None:
        info["test"] = _test_data(test)
    s.folder.write_info(info)
    s.run.info = info


def _test_data(test: Rollout) -> dict[str, Any]:
    """Return held-out episodes with their score and its 95% intervals, as plain values."""
    data = {**encode(test), "score": score_data(test.score)}
    data["mean_return_interval"] = ends(test.return_interval)
    data |= further_scores(test)
    data |= {"life_curve": encode(test.life_curve)} if test.life > 1 else {}
    if test.successes and test.successes[0] is not None:
        data["success_rate_interval"] = ends(test.success_interval)
    return data


def _clock(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
