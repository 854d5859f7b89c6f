"""What runs inside an environment process: live environments, and a sandbox for the policies.

The process is trusted; the policy is not, and lives in a process of its own behind ``sandbox``.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from promptpo.common import bounds
from promptpo.policies import CoverageRun
from promptpo.rollout.action_space import actions_of
from promptpo.rollout.division import BASE, MOST, best_width
from promptpo.rollout.jobs import (
    BaselineJob,
    CoverageJob,
    DescribeJob,
    InstanceRun,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    RehearsalJob,
    Settings,
    SummaryJob,
    TaskInfo,
)
from promptpo.rollout.playing import play, play_instances
from promptpo.rollout.preparing import PrepareJob, PrepareRun, prepared
from promptpo.rollout.steady import steadily
from promptpo.spec.calls import activity
from promptpo.types import SummaryRun

if TYPE_CHECKING:
    import sandbox
    from promptpo.spec import EnvSpec, Task

#: How many jobs of instances an environment is opened for, at the least.
_SERVES = 100

#: Seconds that an act with one of many vectors of constants may take, at the least.
_LEAST = 0.1


@dataclass
class Worker:
    """The environments and the sandbox host of one process, opened when first needed."""

    settings: Settings
    tasks: list[Task] = field(default_factory=list)
    _spec: EnvSpec | None = None
    _host: sandbox.Host | None = None
    #: Seconds that it takes to open an environment, once the first has loaded its packages.
    _opening: float = math.inf

    def do(self, job: Job[Any]) -> Any:  # noqa: ANN401 - what the job's class names
        """What a job asks for."""
        return _DOES[type(job)](self, job)

    @property
    def spec(self) -> EnvSpec:
        """The spec, imported once."""
        from promptpo.spec import load_spec

        if self._spec is None:
            self._spec = load_spec(self.settings.spec)
        return self._spec

    @property
    def host(self) -> sandbox.Host:
        """The warm parent of all policy processes.

        Raises IsolationError where the level asked for is not to be had.
        """
        import sandbox

        if self._host is None:
            self._host = steadily(lambda: sandbox.Host(require=self.settings.sandbox))
        return self._host

    def open_tasks(self, count: int) -> Sequence[Task]:
        """At least ``count`` live environments, kept warm from job to job."""
        from promptpo.spec import Task

        while len(self.tasks) < count:
            began = time.perf_counter()
            self.tasks.append(Task.open(self.spec))
            self._opening = min(self._opening, time.perf_counter() - began)
        return self.tasks[:count]

    @property
    def interface(self) -> sandbox.Interface:
        """What crosses between this task and its policies."""
        import sandbox
        from promptpo.spec import standalone_source

        (task,) = self.open_tasks(1)
        return sandbox.Interface(
            observation_size=task.observation_size,
            observation_source=standalone_source(self.spec.observation),
            action=task.action,
        )

    def limits(self, episodes: int) -> sandbox.Limits:
        """The time limits of the run for so many episodes; the other limits are the sandbox's."""
        import sandbox

        return sandbox.Limits(
            act_seconds=self.settings.act_timeout,
            init_seconds=max(10.0, self.settings.act_timeout),
            total_seconds=self.settings.episode_timeout * episodes,
            text_chars=bounds.SUMMARY,
        )

    def describe(self, _: DescribeJob) -> TaskInfo:
        """Open everything once, so that what is missing is said before any model call."""
        interface = self.interface
        host = self.host
        self.rehearse(RehearsalJob((0,), "zero action"), steps=1)
        (task,) = self.open_tasks(1)
        return TaskInfo(
            task.observation_size,
            str(interface.action),
            host.isolation.as_dict(),
            actions_of(task),
        )

    def play(self, job: PlayJob) -> PlayRun:
        """Play a job's episodes; a policy that fails is a result, never an exception."""
        import sandbox

        width = self._width(len(job.seeds), len(job.lives))
        return steadily(
            lambda: play(job, width, self._pool(job, self.limits(job.life))),
            lambda run: run.error_kind == sandbox.Disturbed.kind,
        )

    def play_instances(self, job: InstancesJob) -> tuple[InstanceRun, ...]:
        """Play a policy with other constants; a vector that fails is a result."""
        import sandbox

        limits = self.limits(job.life)
        # Many vectors are tried: a bad one must not take the time of a policy.
        limits = replace(
            limits,
            act_seconds=max(limits.act_seconds / MOST, _LEAST),
            init_seconds=max(limits.init_seconds / MOST, _LEAST),
        )
        count = len(job.constants) * len(job.lives)
        # The same environments serve many jobs of this kind: opening them costs each a little.
        width = self._width(count * job.life, count, serves=_SERVES)
        places = [sandbox.Place(*place) for place in job.places]
        try:
            return steadily(lambda: play_instances(job, width, self._pool(job, limits, places)))
        except sandbox.Disturbed as error:
            return tuple(InstanceRun(error=error.message) for _ in job.constants)

    def _width(self, episodes: int, lives: int, serves: int = 1) -> int:
        """Return how many episodes to play at the same time."""
        (task, *_) = self.open_tasks(min(lives, BASE))
        opening = self._opening / serves
        return min(lives, best_width(episodes, len(self.tasks), opening, task.horizon))

    def _pool(
        self,
        job: PlayJob | InstancesJob,
        limits: sandbox.Limits,
        places: Sequence[sandbox.Place] = (),
    ) -> _Pool:
        import sandbox

        made = self._made(job.source)
        program = sandbox.Program(job.source, self.interface, limits, *made, job.prepared, places)
        return _Pool(self, program)

    def rehearse(self, job: RehearsalJob, steps: int | None = None) -> None:
        """Play without a policy, whole episodes or so many ``steps`` of them."""
        from promptpo.rollout import baselines

        baselines.rehearse(self.open_tasks(1)[0], job, steps)

    def play_baseline(self, job: BaselineJob) -> PlayRun:
        """Play whole episodes with a behaviour of the task."""
        from promptpo.rollout import baselines

        return baselines.play(self.open_tasks(1)[0], job)

    def _made(self, source: str) -> tuple[tuple[str, ...], bytes]:
        """What a program may import besides, and what hides the episodes' seeds from it.

        The latter is the run's, without one the program's own text.
        """
        seed = self.settings.policy_seed
        text = source if seed is None else str(seed)
        return tuple(self.spec.extra_imports), hashlib.blake2b(text.encode()).digest()

    def count_lines(self, job: CoverageJob) -> CoverageRun:
        """Feed episodes to a policy whose lines are counted; one that fails is a result."""
        import sandbox
        from promptpo.rollout.counting import counted

        made = self._made(job.source)

        def open_policy(limits: sandbox.Limits) -> sandbox.Policy:
            program = sandbox.Program(
                job.source, self.interface, limits, *made, job.prepared, role="counting"
            )
            return self.host.open(program)

        return counted(job, self.limits(len(job.episodes)), open_policy)

    def prepare(self, job: PrepareJob) -> PrepareRun:
        """Run a program's ``prepare``; one that fails is a result, never an exception."""
        limits = replace(self.limits(1), prepare_seconds=job.seconds)
        made = self._made(job.source)
        return prepared(
            job, lambda data: self.host.prepare(job.source, data, self.interface, limits, *made)
        )

    def summarize(self, job: SummaryJob) -> SummaryRun:
        """One text per episode from a Feedback class."""
        import sandbox

        try:
            return SummaryRun(steadily(lambda: self._texts(job)))
        except (sandbox.ProgramError, sandbox.Disturbed) as e:
            return SummaryRun(error=e.message)

    def _texts(self, job: SummaryJob) -> tuple[str, ...]:
        import sandbox

        limits = self.limits(len(job.episodes))
        extra = tuple(self.spec.extra_imports)
        with self.host.summarizer(job.source, self.interface, limits, extra) as summarizer:
            return tuple(
                summarizer.summarize(
                    sandbox.Episode(
                        observations=e.observations,
                        actions=e.actions,
                        rewards=e.rewards,
                        terminated=e.terminated,
                        truncated=e.truncated,
                        success=e.success,
                        trace=e.trace,
                    )
                )
                for e in job.episodes
            )


@dataclass
class _Pool:
    """Environments of a worker, and processes of one program."""

    worker: Worker
    program: sandbox.Program
    _taken: list[Task] = field(default_factory=list)

    def take_task(self) -> Task:
        """Return an environment that is free, a new one where there is none."""
        free = [task for task in self.worker.tasks if task not in self._taken]
        task = free[0] if free else self.worker.open_tasks(len(self.worker.tasks) + 1)[-1]
        self._taken.append(task)
        return task

    def give_task(self, task: Task, sound: bool) -> None:
        """Take an environment back; one that has failed is not used again."""
        self._taken.remove(task)
        if not sound:
            self.worker.tasks.remove(task)

    def open_policy(self) -> sandbox.Policy:
        """Start a process of the policy."""
        activity.mend()  # an environment that closes descriptors must not close this one's
        return self.worker.host.open(self.program)


#: What is done for a job, by its type.
_DOES: Mapping[type[Job[Any]], Callable[[Worker, Any], Any]] = {
    DescribeJob: Worker.describe,
    PlayJob: Worker.play,
    RehearsalJob: Worker.rehearse,
    BaselineJob: Worker.play_baseline,
    SummaryJob: Worker.summarize,
    CoverageJob: Worker.count_lines,
    InstancesJob: Worker.play_instances,
    PrepareJob: Worker.prepare,
}
