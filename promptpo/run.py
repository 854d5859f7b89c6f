"""A whole run: open everything, search, select, test, and leave a folder that tells all."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, cast

from promptpo.config import RunConfig, build
from promptpo.errors import PromptPOError, RunError
from promptpo.limits import Ledger
from promptpo.llm import (
    ModelSettings,
    check_configured,
    default_model,
    find_recording,
    load_header,
    open_model,
    recorded_policy_seed,
)
from promptpo.methods import METHODS
from promptpo.outcome import Outcome, Result, Status
from promptpo.rollout import LocalExecutor, Settings, TaskInfo
from promptpo.services import RunServices
from promptpo.spec import EnvSpec, layout, load_spec
from promptpo.spec.loading import spec_text
from promptpo.spec.published import PUBLISHED
from promptpo.store.events import EventLog, read_events
from promptpo.store.folder import RunFolder
from promptpo.store.past import digest
from promptpo.trackers import check_ready, tracking
from promptpo.types import Listener
from promptpo.version import __version__

__all__ = ["Result", "configure", "execute", "settings_of"]

_PACKAGES = ("numpy", "gymnasium", "mujoco", "metaworld", "litellm", "RestrictedPython")


def configure(*layers: Mapping[str, Any]) -> RunConfig:
    """Settings from layers, later ones winning, with the model settled.

    Below the layers and their preset stand the spec's own target and, where replies are replayed,
    the settings that the recording was made with. Raises UsageError, SpecError or ModelError.
    """
    config = build(*layers)
    spec = load_spec(config.spec, published=config.published_prompt)
    model = config.model or default_model(spec.name, os.environ)
    recording = _recording_path(model, spec.name)
    header = load_header(recording) if recording else None
    recorded = ("seed", "rounds", "candidates", "episodes") if header else ()
    below = {"target": spec.target} | {k: getattr(header, k) for k in recorded}
    return build(*layers, {"model": model}, below=below)


def execute(
    config: RunConfig, *, listener: Listener | None = None, resume: Path | None = None
) -> Result:
    """Carry out a run, or continue the one in the folder ``resume``.

    Every event reaches ``listener``. Ctrl-C and SIGTERM end the run with the status
    "interrupted" and leave it ready to be resumed; every PromptPOError does the latter too.
    """
    run = _Run(config, [listener] if listener else [], resume)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run.main())
    with ThreadPoolExecutor(1) as thread:  # in a notebook, whose event loop is running
        return thread.submit(asyncio.run, run.main()).result()


def settings_of(folder: RunFolder) -> dict[str, Any]:
    """The settings that a run goes by: those of its start, or of the last time it was resumed.

    Raises RunError where the log does not tell.
    """
    events, _ = read_events(folder.events)
    configs = [e.data["config"] for e in events if e.type in ("run", "resumed")]
    if not configs:
        raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
    settings: dict[str, Any] = configs[-1]
    return settings


def with_ref(config: RunConfig, spec: EnvSpec) -> RunConfig:
    """The settings with what finds their spec from any folder."""
    ref = spec.ref.removesuffix(PUBLISHED)
    published = config.published_prompt or ref != spec.ref
    return replace(config, spec=ref, published_prompt=published)


@dataclass
class _Run:
    config: RunConfig
    listeners: list[Listener]
    resume: Path | None

    async def main(self) -> Result:
        if self.config.model is None:
            self.config = configure(self.config.as_dict())
        check_configured(self.config.model or "", self.config.api_base)
        check_ready(self.config.trackers)
        spec = load_spec(self.config.spec, published=self.config.published_prompt)
        self.config = with_ref(self.config, spec)
        if self.config.policy_seed is None and self.resume is None:
            self.config = replace(self.config, policy_seed=_policy_seed(self.config, spec))
        executor = LocalExecutor(executor_settings(self.config, spec), self.config.workers)
        with contextlib.closing(executor), contextlib.ExitStack() as stack:
            task = await executor.describe()
            folder, log, started = self._open_folder(spec, task, stack)
            ledger = Ledger(self.config, spec.horizon, log.past, log.elapsed())
            model = open_model(_model_settings(self.config, spec, folder, log))
            services = RunServices(spec, self.config, model, executor, log, folder, ledger)
            try:
                return await _supervised(services, Outcome(services, started))
            finally:
                _write_report(services)

    def _open_folder(
        self, spec: EnvSpec, task: TaskInfo, stack: contextlib.ExitStack
    ) -> tuple[RunFolder, EventLog, Mapping[str, Any]]:
        """The run's folder, its log and its first event: new ones, or those to resume."""
        if self.resume is None:
            run = _first_event(self.config, spec, task)
            with RunFolder.create(Path(self.config.out), spec.name) as folder:
                stack.callback(os.close, folder.lock())
                log = EventLog(folder.events)
                log.emit("run", **run)
        else:
            folder = RunFolder.open(self.resume)
            stack.callback(os.close, folder.lock())
            log = EventLog(folder.events)
            run = next(log.of_type("run"), {})
            if not run:
                raise RunError(f"{folder.events}: no run is recorded in it; start a new one")
            if run["spec"]["sha"] != _fingerprint(spec):
                raise RunError(
                    f"{spec.where}: the spec has changed since the run began; put it back as it"
                    " was, or start a new run"
                )
        stack.callback(log.close)
        trackers = tracking(self.config, folder.path, run, log)
        log.listeners = [*self.listeners, *stack.enter_context(trackers)]
        now: dict[str, Any] = {"config": self.config.as_dict(), "isolation": task.isolation}
        log.emit("run", transient=True, **{**run, **now, "folder": str(folder.path)})
        if self.resume is not None:
            log.emit("resumed", events=len(log.past), **now)
        if log.dropped:
            log.emit(
                "notice",
                text=f"the last event was half-written and is dropped ({log.dropped} bytes)",
            )
        return folder, log, run


async def _supervised(services: RunServices, outcome: Outcome) -> Result:
    """Search and finish; whatever ends the run early is written down."""
    outcome.write("running")
    try:
        with _sigterm_interrupts():
            result = await _search(services)
    except asyncio.CancelledError:
        result = outcome.interrupted()
    except PromptPOError as e:
        outcome.write("failed", str(e))
        services.report("finished", status="failed", reason=str(e), best=None, score=None)
        raise
    finally:
        await services.model.close()
    outcome.finish(result)
    return result


def _write_report(services: RunServices) -> None:
    """The page that shows the run; where it cannot be written, the run has still succeeded."""
    try:
        from promptpo.report import write_report

        write_report([services.folder.path])
    except Exception as e:  # whatever it is, it is no reason to lose a run
        services.report("notice", text=f"report.html could not be written: {e}")


async def _search(services: RunServices) -> Result:
    found = await METHODS[services.config.method](services).search()
    best = await services.select(found.rounds)
    test = await services.test(best) if best else None
    status: Status = "stopped" if found.limited else "finished"
    reason = found.reason if best else f"{found.reason}; no candidate got through its episodes"
    folder, usage = services.folder.path, services.ledger.usage
    proof = services.proof_on(best) if best else None
    return Result(folder, status, reason, best, test, usage, found.rounds, proof)


def executor_settings(config: RunConfig, spec: EnvSpec) -> Settings:
    """What the environment processes of a run need to know."""
    return Settings(
        spec=spec.ref,
        sandbox=cast('Literal["auto", "strict"]', config.sandbox),  # RunConfig has checked it
        act_timeout=config.act_timeout,
        episode_timeout=config.episode_timeout,
        env_timeout=config.env_timeout,
        policy_seed=config.policy_seed,
    )


def _policy_seed(config: RunConfig, spec: EnvSpec) -> int:
    """That of the recording; else drawn: what nobody can know, no policy can compute with."""
    recording = _recording_path(config.model or "", spec.name)
    return recorded_policy_seed(recording) if recording else secrets.randbits(53)


def _model_settings(
    config: RunConfig, spec: EnvSpec, folder: RunFolder, log: EventLog
) -> ModelSettings:
    return ModelSettings(
        name=config.model or "",
        api_base=config.api_base,
        temperature=config.temperature,
        max_concurrency=config.concurrency,
        call_timeout=config.call_timeout,
        folder=folder.prompts,
        recording=_recording_path(config.model or "", spec.name),
        notify=lambda text: log.emit("notice", text=text),
    )


def _recording_path(model: str, spec_name: str) -> Path | None:
    if model == "recorded":
        return find_recording(spec_name)
    return Path(model.partition(":")[2]) if model.startswith("recorded:") else None


def _first_event(config: RunConfig, spec: EnvSpec, task: TaskInfo) -> dict[str, Any]:
    references = {name: asdict(value) for name, value in spec.reference_scores.items()}
    return {
        "config": config.as_dict(),
        "spec": {
            "name": spec.name,
            "title": spec.title,
            "sha": _fingerprint(spec),
            "horizon": spec.horizon,
            "references": references,
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


@contextlib.contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does, where this is the main thread."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - this runs inside a task
    try:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    except (RuntimeError, ValueError, NotImplementedError):
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
