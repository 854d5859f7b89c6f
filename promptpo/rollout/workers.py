"""Environment processes of this machine, one for each job that is under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from itertools import chain
from typing import Any

from promptpo.errors import PromptPOError, SpecError
from promptpo.rollout.division import of_instances
from promptpo.rollout.jobs import (
    DescribeJob,
    InstanceRun,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    RehearsalJob,
    Settings,
    TaskInfo,
    unplayed,
)
from promptpo.rollout.serving import serve
from promptpo.rollout.watched import Lost, Watched


class Workers:
    """Processes on this machine, started as jobs need them; each has a job to itself.

    So one that dies takes no other job with it. A simulator can crash, hang or end its process:
    then the process is replaced, and the job given out once more. Workers end with this process
    even when it is killed.

    Args:
        settings: what each needs to know.
        own_core: each keeps to a core of its own, where one is free.
        label: what errors call the spec, if not as ``settings`` do.
        environ: environment variables, if not those of this process.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        own_core: bool,
        label: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._own_core = own_core
        self._label = label or settings.spec
        self._environ = environ
        self._lock = threading.Lock()
        self._idle: deque[Watched] = deque()
        self._all: set[Watched] = set()
        self._closed = False
        self._sound: set[RehearsalJob] = set()
        self._rehearsing = threading.Lock()

    def answer(self, job: Job[Any]) -> Any:  # noqa: ANN401 - what the job's class names
        """What comes of a job, in any thread. Raises SpecError and what else a worker raises."""
        if isinstance(job, DescribeJob):
            return self._describe(job)
        if isinstance(job, PlayJob):
            return self._play(job)
        if isinstance(job, InstancesJob):
            return self._play_instances(job)
        if isinstance(job, RehearsalJob):
            return self._rehearse(job)
        return self._repeated(job)

    def _describe(self, job: DescribeJob) -> TaskInfo:
        try:
            found: TaskInfo = self._answer(job)
        except Lost as lost:
            if not lost.killed:
                raise self._spec_error(lost) from None
            found = self._repeated(job)
        return found

    def _play(self, job: PlayJob) -> PlayRun:
        run = PlayRun()
        for fresh in (False, True):
            try:
                run = self._answer(job, fresh=fresh)
            except Lost as lost:
                if fresh and lost.call in ("import", "make"):
                    raise self._spec_error(lost) from None
                error = f"the environment failed under this policy: {lost.words}"
                run = PlayRun(
                    tuple(map(unplayed, job.seeds)),
                    steps=lost.steps,
                    clipped=(0,) * len(job.seeds),
                    error=error,
                    error_kind="environment",
                )
            if run.error_kind != "environment":
                return run
        return run

    def _play_instances(self, job: InstancesJob) -> tuple[InstanceRun, ...]:
        """In halves where a worker is lost, to find the instance under which it is."""
        try:
            found: tuple[InstanceRun, ...] = self._answer(job)
        except Lost:
            if len(job.constants) > 1:
                halves = of_instances(job, 1, parts=2)
                return tuple(chain.from_iterable(map(self._play_instances, halves)))
            try:
                found = self._answer(job, fresh=True)
            except Lost as lost:
                error = f"the environment failed under this policy: {lost.words}"
                found = (InstanceRun((), lost.steps, error),)
        return found

    def _rehearse(self, job: RehearsalJob) -> None:
        """In a worker that has done nothing before; what has gone well is not done again."""
        with self._rehearsing:
            if job in self._sound:
                return
            try:
                self._answer(job, fresh=True)
            except Lost as lost:
                raise self._spec_error(lost, f" with {job.words}") from None
            self._sound.add(job)

    def _spec_error(self, lost: Lost, when: str = "") -> SpecError:
        return SpecError(f"{self._label}: {lost.words}{when}{lost.location}")

    def _repeated(self, job: Job[Any]) -> Any:  # noqa: ANN401 - what the job's class names
        """The answer of the first worker that lives to give it, of two."""
        try:
            return self._answer(job)
        except Lost:
            try:
                return self._answer(job, fresh=True)
            except Lost as lost:
                raise PromptPOError(
                    f"{self._label}: an environment process was lost twice under the same"
                    f" job: {lost.words}{lost.location}; fewer --workers need less memory"
                ) from None

    def _answer(self, job: Job[Any], *, fresh: bool = False) -> Any:  # noqa: ANN401
        """What a worker answers; ``fresh``: one that has done nothing before. Raises Lost."""
        member = self._take(fresh=fresh)
        keep = False
        try:
            member.send(job)
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
            limit, environ = self._settings.env_timeout, self._environ
            member = Watched(serve, *arguments, limit=limit, environ=environ)
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
