"""Where jobs run: one interface, and its implementation on the cores of this machine."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, Protocol, TypeVar

from promptpo.errors import PromptPOError, SpecError
from promptpo.rollout import worker
from promptpo.rollout.cores import available_cores
from promptpo.rollout.jobs import (
    PolicyJob,
    PolicyRun,
    ProofJob,
    ProofRun,
    Rehearsal,
    Settings,
    SummaryJob,
    SummaryRun,
    TaskInfo,
)
from promptpo.rollout.watched import Lost, Watched

T = TypeVar("T")
_CONTROLLERS: tuple[Literal["zero action", "random"], ...] = ("zero action", "random")


class Executor(Protocol):
    """Runs jobs somewhere, several at a time."""

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox; raises SpecError or IsolationError."""
        ...

    async def run_policy(self, job: PolicyJob) -> PolicyRun:
        """Play one job's episodes.

        An environment that fails under the policy is asked once more; then it is the job's error,
        of the kind "environment". Raises SpecError where it cannot be made.
        """
        ...

    async def rehearse(self, seeds: tuple[int, ...]) -> None:
        """Play the seeds without a policy; raises SpecError if the environment fails even so."""
        ...

    async def prove(self, job: ProofJob) -> ProofRun:
        """Feed one recorded episode to a policy that is alone."""
        ...

    async def summarize(self, job: SummaryJob) -> SummaryRun:
        """Turn episodes into text."""
        ...

    def close(self) -> None:
        """End every process at once."""
        ...


class LocalExecutor:
    """Processes on this machine, started as jobs need them, up to ``workers`` of them.

    Each has a job to itself, so one that dies takes no other job with it. A simulator can crash,
    hang or end its process: then the process is replaced, and the job given out once more.
    Workers end with this process even when it is killed.

    With a worker for every core each keeps to its own; with fewer, environments may use threads.
    """

    def __init__(self, settings: Settings, workers: int | None = None) -> None:
        self._settings = settings
        count = workers or available_cores()
        self._own_core = count == available_cores()
        self._threads = ThreadPoolExecutor(count, "promptpo-job")
        self._lock = threading.Lock()
        self._idle: deque[Watched] = deque()
        self._all: set[Watched] = set()
        self._closed = False
        self._sound: set[tuple[int, ...]] = set()
        self._rehearsing = threading.Lock()

    async def describe(self) -> TaskInfo:
        """Open the environment and the sandbox in one worker."""
        return await self._run(self._describe)

    async def run_policy(self, job: PolicyJob) -> PolicyRun:
        """Play one job's episodes in one worker."""
        return await self._run(lambda: self._play(job))

    async def rehearse(self, seeds: tuple[int, ...]) -> None:
        """Play zero actions, then, if the environment fails, random ones, each in a new worker."""
        await self._run(lambda: self._rehearse(seeds))

    async def prove(self, job: ProofJob) -> ProofRun:
        """Feed one recorded episode to a policy that is alone, in one worker."""
        return await self._run(lambda: self._repeated("prove", job))

    async def summarize(self, job: SummaryJob) -> SummaryRun:
        """Turn episodes into text in one worker."""
        return await self._run(lambda: self._repeated("summarize", job))

    async def _run(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, job)

    def _describe(self) -> TaskInfo:
        try:
            found: TaskInfo = self._answer("describe")
        except Lost as lost:
            if not lost.killed:
                raise self._spec_error(lost) from None
            found = self._repeated("describe")
        return found

    def _play(self, job: PolicyJob) -> PolicyRun:
        run = PolicyRun()
        for fresh in (False, True):
            try:
                run = self._answer("run_policy", job, fresh=fresh)
            except Lost as lost:
                if fresh and lost.call in ("import", "make"):
                    raise self._spec_error(lost) from None
                error = f"the environment failed under this policy: {lost.words}"
                run = PolicyRun(job.seeds, steps=lost.steps, error=error, error_kind="environment")
            if run.error_kind != "environment":
                return run
        return run

    def _rehearse(self, seeds: tuple[int, ...]) -> None:
        with self._rehearsing:
            if seeds in self._sound:
                return
            error: SpecError | None = None
            for controller in _CONTROLLERS:
                rehearsal = Rehearsal(seeds, controller)
                try:
                    self._answer("rehearse", rehearsal, fresh=True)
                except Lost as lost:
                    error = self._spec_error(lost, f" with {rehearsal.words}")
                except SpecError as fault:
                    error = fault
                else:
                    self._sound.add(seeds)
                    return
        if error is not None:
            raise error

    def _spec_error(self, lost: Lost, when: str = "") -> SpecError:
        return SpecError(f"{self._settings.spec}: {lost.words}{when}{lost.place}")

    def _repeated(self, function: str, *args: object) -> Any:  # noqa: ANN401 - of the function
        """The answer of the first worker that lives to give it, of two."""
        try:
            return self._answer(function, *args)
        except Lost:
            try:
                return self._answer(function, *args, fresh=True)
            except Lost as lost:
                raise PromptPOError(
                    f"{self._settings.spec}: an environment process was lost twice under the same"
                    f" job: {lost.words}{lost.place}; fewer --workers need less memory"
                ) from None

    def _answer(self, function: str, *args: object, fresh: bool = False) -> Any:  # noqa: ANN401
        """What a worker answers; ``fresh``: one that has done nothing before. Raises Lost."""
        member = self._take(fresh=fresh)
        keep = False
        try:
            member.send((function, args))
            kind, answer = member.receive()
            # An environment that has failed may be left in any state.
            keep = kind == "done" and getattr(answer, "error_kind", None) != "environment"
        finally:
            self._give(member, keep=keep)
        if kind == "raised":
            raise answer
        return answer

    def _take(self, *, fresh: bool) -> Watched:
        with self._lock:
            self._require_open()
            member = self._idle.pop() if self._idle else None
        if member is not None and (fresh or not member.alive):
            self._give(member, keep=False)
            member = None
        if member is None:
            arguments = (self._settings, self._own_core)
            member = Watched(worker.serve, *arguments, limit=self._settings.env_timeout)
            with self._lock:
                self._all.add(member)
            if self._closed:  # meanwhile: then nobody else would end it
                self._give(member, keep=False)
                self._require_open()
        return member

    def _require_open(self) -> None:
        if self._closed:
            raise PromptPOError("this executor is closed")

    def _give(self, member: Watched, *, keep: bool) -> None:
        with self._lock:
            keep = keep and not self._closed
            if keep:
                self._idle.append(member)
            else:
                self._all.discard(member)
        if not keep:
            member.close()

    def close(self) -> None:
        """End every worker at once, whatever it is doing."""
        with self._lock:
            self._closed = True
            idle, busy = list(self._idle), self._all - set(self._idle)
            self._idle.clear()
            self._all.clear()
        for member in busy:  # the thread that waits for its answer closes it
            member.kill()
        for member in idle:
            member.close()
        self._threads.shutdown(cancel_futures=True)
