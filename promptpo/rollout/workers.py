"""Environment processes of this machine, one for each job that is under way."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from promptpo.common.foreign import speaker
from promptpo.errors import PromptPOError, SpecError
from promptpo.rollout.jobs import (
    DescribeJob,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    RehearsalJob,
    Settings,
    TaskInfo,
    of_instances,
    unplayed,
)
from promptpo.rollout.watched import HUNG, Lost, Watched, say_aside
from promptpo.rollout.worker import serve


class Workers:
    """Processes on this machine, started as jobs need them; each has a job to itself.

    So one that dies takes no other job with it. A simulator can crash, hang or end its process:
    then the process is replaced, and the job given out once more. A call that hangs is expensive:
    who is to blame is found with as few of them as can be. Workers end with this process even when
    it is killed.

    Attributes:
        tell: hears in any thread what is waited for (``passing``), and what is tried again.

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
        self.tell: Callable[..., None] = say_aside
        self._rehearsed: dict[RehearsalJob, SpecError | None] = {}
        self._rehearsing = threading.RLock()
        self._verdict: SpecError | bool | None = None

    def answer(self, job: Job[Any]) -> Any:  # noqa: ANN401 - what the job's class names
        """Return the answer to a job, in any thread. Raises what a worker raises, and SpecError."""
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
            info: TaskInfo = self._answer(job)
        except Lost as lost:
            if not lost.killed:
                raise self._spec_error(lost) from None
            info = self._repeated(job)
        return info

    def _play(self, job: PlayJob) -> PlayRun:
        run = PlayRun()
        if isinstance(self._verdict, SpecError):
            raise self._verdict
        for fresh in (False, True):
            try:
                run = self._answer(job, fresh=fresh)
            except Lost as lost:
                if fresh and lost.call in ("import", "make"):
                    raise self._spec_error(lost) from None
                error = f"the environment failed under this policy: {lost.words}"
                results, clipped = tuple(map(unplayed, job.seeds)), (0,) * len(job.seeds)
                run = PlayRun(results, lost.steps, clipped, "", error, "environment")
                if not fresh:
                    if lost.hung and self._hangs_without(job.seeds):
                        return run
                    self._tell_again(lost)
            if run.error_kind != "environment":
                return run
        return run

    def _play_instances(self, job: InstancesJob) -> tuple[PlayRun, ...]:
        """In parts where a worker is lost, to find the instance under which it is.

        In halves, or where a call hung one by one.
        """
        try:
            runs: tuple[PlayRun, ...] = self._answer(job)
        except Lost as lost:
            blameless = lost.hung and self._hangs_without(job.seeds)
            if len(job.constants) > 1:
                parts = of_instances(job, 1, parts=len(job.constants) if lost.hung else 2)
                self._tell_again(lost, f"in {len(parts)} parts")
                if lost.hung:
                    return self._one_by_one(parts)
                return tuple(chain.from_iterable(map(self._play_instances, parts)))
            if blameless:
                return _failed(lost)
            self._tell_again(lost)
            runs = self._play_one(job)
        return runs

    def _one_by_one(self, parts: Sequence[InstancesJob]) -> tuple[PlayRun, ...]:
        """Play each alone, until a call has hung under two: then nothing more is tried."""
        runs: list[PlayRun] = []
        for part in parts:
            hung = [run for run in runs if HUNG in (run.error or "")]
            left = (PlayRun(error=hung[-1].error),) if len(hung) > 1 else ()
            runs += left or self._play_one(part)
        return tuple(runs)

    def _play_one(self, job: InstancesJob) -> tuple[PlayRun, ...]:
        """One instance, in a worker that has done nothing before; it is not tried again."""
        try:
            runs: tuple[PlayRun, ...] = self._answer(job, fresh=True)
        except Lost as lost:
            return _failed(lost)
        return runs

    def _hangs_without(self, seeds: tuple[int, ...]) -> bool:
        """Tell whether a call hangs without a policy, too, under zero actions; tried once.

        Raises SpecError where it does so under random ones as well: then no policy is to blame.
        """
        with self._rehearsing:
            if self._verdict is None:
                self._verdict = self._found_hanging(seeds)
            if isinstance(self._verdict, SpecError):
                raise self._verdict
            return self._verdict

    def _found_hanging(self, seeds: tuple[int, ...]) -> SpecError | bool:
        self.tell(
            f"{self._name}: a call hung; it is played without a policy, to see who is to blame"
        )
        zero = RehearsalJob(seeds, "zero action")
        try:
            self._rehearse(zero)
        except SpecError:
            try:
                self._rehearse(RehearsalJob(seeds, "random"))
            except SpecError as error:
                return error
        return self._rehearsed.get(zero) is not None

    def _rehearse(self, job: RehearsalJob) -> None:
        """In a worker that has done nothing before.

        What has gone well is not done again, nor what has failed with some of the seeds.
        """
        with self._rehearsing:
            for done, error in self._rehearsed.items():
                if error is not None and _includes(job, done):
                    raise error
            if job in self._rehearsed:
                return
            try:
                self._answer(job, fresh=True)
            except Lost as lost:
                if not lost.killed:
                    error = self._spec_error(lost, f" with {job.words}")
                    self._rehearsed[job] = error
                    raise error from None
                self._repeated(job)
            self._rehearsed[job] = None

    def _tell_again(self, lost: Lost, how: str = "in a new process") -> None:
        self.tell(f"{self._name}: {lost.words}; its job is tried again, {how}")

    @property
    def _name(self) -> str:
        return speaker(self._label).name

    def _spec_error(self, lost: Lost, when: str = "") -> SpecError:
        return SpecError(f"{self._label}: {lost.words}{when}{lost.location}")

    def _repeated(self, job: Job[Any]) -> Any:  # noqa: ANN401 - what the job's class names
        """Return the answer of the first worker that lives to give it, of two."""
        try:
            return self._answer(job)
        except Lost as first:
            self._tell_again(first)
            try:
                return self._answer(job, fresh=True)
            except Lost as lost:
                raise PromptPOError(
                    f"{self._label}: an environment process was lost twice under the same"
                    f" job: {lost.words}{lost.location}; fewer --workers need less memory"
                ) from None

    def _answer(self, job: Job[Any], *, fresh: bool = False) -> Any:  # noqa: ANN401
        """Return a worker's answer; ``fresh``: of one that has done nothing before. Raises Lost."""
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
            member = Watched(
                serve,
                self._settings,
                self._own_core,
                limit=self._settings.env_timeout,
                spec=self._label,
                environ=self._environ,
                tell=self._hear,
            )
            with self._lock:
                self._all.add(member)
            if self._closed:  # meanwhile: then nobody else would end it
                self._give(member, keep=False)
                self._require_open()
        return member

    def _hear(self, text: str, *, passing: bool = False) -> None:
        self.tell(text, passing=passing)  # whoever hears it by then

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
        speaker(self._label).end()


def _failed(lost: Lost) -> tuple[PlayRun, ...]:
    error = f"the environment failed under this policy: {lost.words}"
    return (PlayRun(steps=lost.steps, error=error),)


def _includes(job: RehearsalJob, done: RehearsalJob) -> bool:
    return job.controller == done.controller and set(job.seeds) >= set(done.seeds)
