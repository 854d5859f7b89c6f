"""A whole run: open everything, search, select, test, and leave a folder that tells all."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from promptpo.builtin import Synthesizer
from promptpo.common.text import near_path
from promptpo.config import RunConfig
from promptpo.errors import FileError, known_error
from promptpo.export.policy_file import PolicyFile
from promptpo.export.spec_copy import spec_of_run
from promptpo.llm import (
    ModelSettings,
    check_configured,
    open_model,
    recorded_policy_seed,
)
from promptpo.llm.prices import check_priced
from promptpo.methods import find_method, tunes
from promptpo.rollout import TaskInfo, open_executor
from promptpo.run import phases
from promptpo.run.limits import Ledger
from promptpo.run.loop import run_to_end
from promptpo.run.opening import Companion, open_run
from promptpo.run.outcome import Outcome
from promptpo.run.services import RunServices
from promptpo.run.settings import configure, recording_path
from promptpo.spec import EnvSpec, layout, load_spec
from promptpo.spec.validation import PUBLISHED
from promptpo.store.events import Listener
from promptpo.store.folder import RunFolder
from promptpo.store.journal import Journal
from promptpo.store.run import Run
from promptpo.types import Candidate, Key, Rollout


def carry_out(
    config: RunConfig,
    companions: Sequence[Companion],
    *,
    listener: Listener | None = None,
    resume: Path | None = None,
) -> Run:
    """Carry out a run, or continue the one in the folder ``resume``.

    Every event reaches ``listener``, and what the ``companions`` listen with. Ctrl-C, SIGTERM and
    SIGHUP end the run with the status "interrupted" and leave it ready to be resumed; every
    PromptPOError does the latter too.
    """
    run = _Run(config, companions, [listener] if listener else [], resume)
    try:
        return run_to_end(run.main())
    except Exception as e:
        error = known_error(e)
        if error is None or error is e:
            raise
        raise error from e


def with_ref(config: RunConfig, spec: EnvSpec) -> RunConfig:
    """The settings with what finds their spec from any folder."""
    ref = spec.ref.removesuffix(PUBLISHED)
    published = config.published_prompt or ref != spec.ref
    return replace(config, spec=ref, published_prompt=published)


@dataclass
class _Run:
    config: RunConfig
    companions: Sequence[Companion]
    listeners: list[Listener]
    resume: Path | None

    async def main(self) -> Run:
        needs_model = find_method(self.config.method).needs_model
        if needs_model and self.config.model is None:
            self.config = configure(self.config.as_dict())
        if needs_model:
            check_configured(self.config.model or "", self.config.api_base)
            check_priced(self.config.model or "", self.config.max_cost)
        spec, note = self._spec()
        self.config = self.config.for_spec(spec)
        if self.resume is None:
            self.config = with_ref(self.config, spec)
            if self.config.policy_seed is None:
                self.config = replace(self.config, policy_seed=_policy_seed(self.config, spec))
        executor = open_executor(self.config, spec)
        with contextlib.closing(executor), contextlib.ExitStack() as stack:
            task = await executor.describe()
            folder, journal = open_run(
                self.config, spec, task, self.listeners, self.companions, self.resume, stack
            )
            if note:
                journal.notice(note)
            executor.tell(_in_this_thread(partial(_notice, journal)))
            ledger = Ledger(self.config, spec.horizon, journal.log.past, journal.run.seconds)
            model = open_model(_model_settings(self.config, spec, task, folder, journal))
            services = RunServices(
                spec, self.config, task, model, executor, journal, folder, ledger
            )
            stack.callback(services.preparer.close)
            await _supervised(services, Outcome(services))
            return services.run

    def _spec(self) -> tuple[EnvSpec, str]:
        """The spec, or what stands in for that of a run that goes on, and what to say of it."""
        c, ref, note = self.config, self.config.spec, ""
        if self.resume is not None:
            ref, note = spec_of_run(self.resume, ref)
        return load_spec(ref, published=c.published_prompt, limit=c.env_timeout), note


async def _supervised(services: RunServices, outcome: Outcome) -> None:
    """Search and finish; whatever ends the run early is written down, as far as that can be."""
    try:
        outcome.write("running")
        try:
            end = await _search(services)
        except asyncio.CancelledError:
            end = "interrupted", "interrupted", *outcome.standing()
        finally:
            # Of a notice; and an interruption that comes now has nothing left to interrupt.
            with contextlib.suppress(FileError, asyncio.CancelledError):
                await services.model.close()
        outcome.finish(*end)
    except Exception as e:
        error = known_error(e)
        if error is None:  # a mistake of this program's own: the run does not go on all the same
            outcome.fail(f"{type(e).__name__}: {e}"[:500])
            raise
        if lost := services.journal.log.lost:
            error = FileError(lost)
        elif isinstance(error, FileError):
            command = f"promptpo --resume {shlex.quote(near_path(services.folder.path))}"
            error = FileError(f"{error}; then {command} goes on")
        outcome.fail(str(error))
        raise error from e


async def _search(services: RunServices) -> tuple[str, str, Candidate | None, Rollout | None]:
    """Return status, reason, best policy and its held-out episodes."""
    search = await find_method(services.config.method)(services).run()
    best = await phases.select(services, search.finalists)
    test = await phases.test(services, best) if best else None
    status = "stopped" if search.limited else "finished"
    reason = search.reason if best else f"{search.reason}; no candidate got through its episodes"
    return status, reason, best, test


def _policy_seed(config: RunConfig, spec: EnvSpec) -> int:
    """That of the recording; else drawn: what nobody can know, no policy can compute with."""
    recording = recording_path(config.model or "", spec.name, config.method)
    return recorded_policy_seed(recording) if recording else secrets.randbits(53)


def _model_settings(
    config: RunConfig, spec: EnvSpec, task: TaskInfo, folder: RunFolder, journal: Journal
) -> ModelSettings:
    return ModelSettings(
        name=(config.model or "") if find_method(config.method).needs_model else "",
        api_base=config.api_base,
        temperature=config.temperature,
        max_concurrency=config.concurrency,
        call_timeout=config.call_timeout,
        max_reply_tokens=config.max_reply_tokens,
        folder=folder.prompts,
        recording=recording_path(config.model or "", spec.name, config.method),
        write=_writer(config, spec, task),
        notify=journal.notice,
        check=journal.log.check_kept,
    )


def _writer(config: RunConfig, spec: EnvSpec, task: TaskInfo) -> Callable[[Key], str]:
    """What answers where no language model does: a synthesizer, or the policy in a file."""
    kind, _, path = (config.model or "").partition(":")
    if kind == "file":
        return lambda _: PolicyFile.read(Path(path)).fenced
    return _synthesizer(config, spec, task).reply


def _synthesizer(config: RunConfig, spec: EnvSpec, task: TaskInfo) -> Synthesizer:
    """What answers where ``builtin`` is the model."""
    declared = config.tune and tunes(config.method)
    fields = layout(spec.observation)
    return Synthesizer(fields, task.actions, config.candidates, declared=declared)


def _notice(journal: Journal, text: str, *, passing: bool = False) -> None:
    """Tell who watches the run, and have it on record if it is not ``passing``."""
    if journal.log.is_open:  # a worker that ends with the run may be told of after it
        (journal.tell if passing else journal.append)("notice", text=text)


def _in_this_thread(hear: Callable[..., object]) -> Callable[..., None]:
    """What another thread may call, and hands on to this one, as long as this one goes on."""
    loop = asyncio.get_running_loop()

    def tell(text: str, **how: bool) -> None:
        with contextlib.suppress(RuntimeError):  # the run has ended
            loop.call_soon_threadsafe(partial(hear, text, **how))

    return tell
