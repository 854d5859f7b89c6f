"""A whole run: open everything, search, select, test, and leave a folder that tells all."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from promptpo.builtin import Synthesizer
from promptpo.common.concurrency import run_to_end
from promptpo.common.text import near_path, plural
from promptpo.config import RunConfig
from promptpo.errors import FileError, known_error
from promptpo.export.folder import spec_of_run
from promptpo.export.policy_file import PolicyFile
from promptpo.llm import ModelSettings, check_configured, open_model
from promptpo.llm.providers import check_priced
from promptpo.llm.recording import load_recording
from promptpo.methods import find_method
from promptpo.rollout import TaskInfo, open_executor
from promptpo.run import phases
from promptpo.run.limits import Ledger
from promptpo.run.record import Companion, fail, finish, open_run, standing, write_info
from promptpo.run.services import RunServices
from promptpo.run.settings import configure, recording_path
from promptpo.spec import EnvSpec, layout, load_spec
from promptpo.spec.validation import PUBLISHED
from promptpo.store.events import Event, Listener
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
    searching: bool = True,
) -> Run:
    """Carry out a run, or continue the one in the folder ``resume``.

    Without ``searching`` the latter goes on with selection and held-out test: what is recorded is
    all that counts.

    Every event reaches ``listener``, and what the ``companions`` listen with. Ctrl-C, SIGTERM and
    SIGHUP end the run with the status "interrupted" and leave it ready to be resumed; every
    PromptPOError does the latter too.
    """
    try:
        listeners = [listener] if listener else []
        return run_to_end(_carried_out(config, companions, listeners, resume, searching=searching))
    except Exception as e:
        error = known_error(e)
        if error is None or error is e:
            raise
        raise error from e


async def _carried_out(
    config: RunConfig,
    companions: Sequence[Companion],
    listeners: Sequence[Listener],
    resume: Path | None,
    *,
    searching: bool,
) -> Run:
    def opening(words: str) -> None:
        event = Event("opening", {"text": words}, time.time(), transient=True)
        for listener in listeners:
            listener(event)

    if searching and find_method(config.method).needs_model:
        opening("checking the model")
        if config.model is None:
            config = configure(config.as_dict())
        check_configured(config.model or "", config.api_base)
        check_priced(config.model or "", config.max_cost)
        if resume is None and (config.model or "").startswith("file:"):
            PolicyFile.read(Path((config.model or "").removeprefix("file:")))
    ref, note = (config.spec, "") if resume is None else spec_of_run(resume, config.spec)
    opening("loading the spec")
    spec = load_spec(ref, published=config.published_prompt, limit=config.env_timeout)
    config = config.for_spec(spec)
    if resume is None:
        config = with_ref(config, spec)
        config = replace(config, policy_seed=_policy_seed(config, spec))
    executor = open_executor(config, spec)
    with contextlib.closing(executor), contextlib.ExitStack() as stack:
        opening("starting the workers")
        task = await executor.describe(soon=1 if resume else config.candidates)
        opening("opening the run's folder" if resume is None else "reading the log")
        folder, journal = open_run(config, spec, task, listeners, companions, resume, stack)
        if note:
            journal.notice(note)
        executor.tell(_teller(journal))
        ledger = Ledger(config, spec.horizon, journal.log.past, journal.run.seconds)
        opening("opening the model")
        asked = _model_settings(config, spec, task, folder, journal)
        model = open_model(asked if searching else replace(asked, name="", recording=None))
        services = RunServices(spec, config, task, model, executor, journal, folder, ledger)
        stack.callback(services.preparer.close)
        await _supervised(services, searching=searching)
        return services.run


def with_ref(config: RunConfig, spec: EnvSpec) -> RunConfig:
    """Return the settings with a reference that finds their spec from any folder."""
    ref = spec.ref.removesuffix(PUBLISHED)
    published = config.published_prompt or ref != spec.ref
    return replace(config, spec=ref, published_prompt=published)


async def _supervised(services: RunServices, *, searching: bool) -> None:
    """Search and finish; record what ends the run early, as far as that can be."""
    try:
        write_info(services, "running", "", *standing(services))
        try:
            end = await _results(services, searching=searching)
        except asyncio.CancelledError:
            end = "interrupted", "interrupted", *standing(services)
        finally:
            # Of a notice; and an interruption that comes now has nothing left to interrupt.
            with contextlib.suppress(FileError, asyncio.CancelledError):
                await services.model.close()
        finish(services, *end)
    except Exception as e:
        error = known_error(e)
        if error is None:  # a mistake of this program's own: the run does not go on all the same
            fail(services, f"{type(e).__name__}: {e}"[:500])
            raise
        if lost := services.journal.log.lost:
            error = FileError(lost)
        elif isinstance(error, FileError):
            command = f"promptpo --resume {shlex.quote(near_path(services.folder.path))}"
            error = FileError(f"{error}; then {command} goes on")
        fail(services, str(error))
        raise error from e


async def _results(
    services: RunServices, *, searching: bool
) -> tuple[str, str, Candidate | None, Rollout | None]:
    """Return status, reason, best policy and its held-out episodes."""
    method, ended = find_method(services.config.method)(services), services.run.finished
    if searching:
        search = await method.run()
    else:
        services.rounds = rounds = services.run.rounds_so_far
        many = plural(services.config.rounds, "round")
        reason = f"finished early, after {services.run.rounds_done} of {many}"
        search = method.so_far(rounds, ended["reason"] if ended else reason)
    best = await phases.select(services, search.finalists)
    test = await phases.test(services, best) if best else None
    status = "stopped" if search.limited else "finished"
    if not searching and ended:
        status = ended["status"]
    reason = search.reason if best else f"{search.reason}; no candidate got through its episodes"
    return status, reason, best, test


def _policy_seed(config: RunConfig, spec: EnvSpec) -> int:
    """Return the given seed, else that of the recording, else one that no policy can know.

    Raises ModelError for a recording that cannot be read.
    """
    recording = recording_path(config.model or "", spec.name, config.method)
    header = load_recording(recording).header if recording else None
    if config.policy_seed is not None:
        return config.policy_seed
    if recording:
        return header.policy_seed if header else 0
    return secrets.randbits(53)


def _model_settings(
    config: RunConfig, spec: EnvSpec, task: TaskInfo, folder: RunFolder, journal: Journal
) -> ModelSettings:
    kind, _, path = (config.model or "").partition(":")

    def write(key: Key) -> str:
        """Answer where no language model does: the policy in a file, or a synthesizer."""
        if kind == "file":
            return PolicyFile.read(Path(path)).fenced
        declared = config.tune and find_method(config.method).tunes
        fields = layout(spec.observation)
        return Synthesizer(fields, task.actions, config.candidates, declared=declared).reply(key)

    return ModelSettings(
        name=(config.model or "") if find_method(config.method).needs_model else "",
        api_base=config.api_base,
        temperature=config.temperature,
        max_concurrency=config.max_concurrency or config.candidates,
        call_timeout=config.call_timeout,
        max_reply_tokens=config.max_reply_tokens,
        folder=folder.prompts,
        recording=recording_path(config.model or "", spec.name, config.method),
        write=write,
        notify=journal.notice,
        check=journal.log.check_kept,
    )


def _teller(journal: Journal) -> Callable[..., None]:
    """Return a function by which other threads tell the user, as long as the run goes on.

    Notices are recorded unless they are ``passing``.
    """
    loop = asyncio.get_running_loop()

    def tell_here(text: str, passing: bool) -> None:
        if journal.log.is_open:  # a worker that ends with the run may be told of after it
            (journal.tell if passing else journal.append)("notice", text=text)

    def tell(text: str, *, passing: bool = False) -> None:
        with contextlib.suppress(RuntimeError):  # the run has ended
            loop.call_soon_threadsafe(tell_here, text, passing)

    return tell
