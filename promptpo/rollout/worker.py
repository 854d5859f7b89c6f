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
from promptpo.errors import PromptPOError
from promptpo.policies import CoverageRun
from promptpo.rollout.action_space import actions_of
from promptpo.rollout.division import BASE, best_width
from promptpo.rollout.jobs import (
    BaselineJob,
    CoverageJob,
    DescribeJob,
    InstanceRun,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    ProofJob,
    ProofRun,
    RehearsalJob,
    Settings,
    SummaryJob,
    TaskInfo,
)
from promptpo.rollout.playing import play
from promptpo.rollout.preparing import PrepareJob, PrepareRun, prepared
from promptpo.rollout.steady import steadily
from promptpo.types import SummaryRun

if TYPE_CHECKING:
    import sandbox
    from promptpo.spec import EnvSpec, Task

#: How many jobs of instances an environment is opened for, at the least.
_SERVES = 100

#: Seconds that an act of one of several instances may take, at the least.
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
        return play(
            job,
            self._groups(job),
            self.open_tasks,
            lambda episodes: self._policy(job, self.limits(episodes)),
        )

    def _groups(self, job: PlayJob) -> int:
        """How many groups to play a job's episodes in, one after the other."""
        count = len(job.seeds)
        if job.alone or job.in_turn:
            return len(job.lives)
        (task, *_) = self.open_tasks(min(count, BASE))
        width = best_width(
            count, len(self.tasks), self._opening, task.horizon, task.observation_size
        )
        return math.ceil(count / width)

    def play_instances(self, job: InstancesJob) -> tuple[InstanceRun, ...]:
        """Play a policy with other constants; an instance that fails is a result."""
        from promptpo.rollout.instances import Tools, play_instances

        (task,) = self.open_tasks(1)
        count = len(job.constants) * len(job.lives)
        # The same environments serve many jobs of this kind: opening them costs each a little.
        opening = self._opening / _SERVES
        width = best_width(count, len(self.tasks), opening, task.horizon, task.observation_size)
        together = min(count, width)
        tools = Tools(
            self.open_tasks,
            self.tasks.remove,
            lambda episodes: self._instances(job, self.limits(episodes), together),
        )
        return play_instances(job, width, tools)

    def _instances(
        self, job: InstancesJob, limits: sandbox.Limits, together: int
    ) -> sandbox.Instances:
        """The policy with other constants, in a fresh process of its own.

        So many episodes ``together`` have the time of one: else one bad instance among them could
        take the time of all.
        """
        import sandbox

        shared = replace(
            limits,
            act_seconds=max(limits.act_seconds / together, _LEAST),
            init_seconds=max(limits.init_seconds / together, _LEAST),
        )
        places = [sandbox.Place(*place) for place in job.places]
        return self.host.instances(
            job.source, places, self.interface, shared, *self._made(job.source), job.prepared
        )

    def rehearse(self, job: RehearsalJob, steps: int | None = None) -> None:
        """Play without a policy, whole episodes or so many ``steps`` of them."""
        from promptpo.rollout import baselines

        baselines.rehearse(self.open_tasks(1)[0], job, steps)

    def play_baseline(self, job: BaselineJob) -> PlayRun:
        """Play whole episodes with a behaviour of the task."""
        from promptpo.rollout import baselines

        return baselines.play(self.open_tasks(1)[0], job)

    def _policy(self, job: PlayJob | ProofJob, limits: sandbox.Limits) -> sandbox.Policy:
        """A policy in a fresh process of its own."""
        made = self._made(job.source)
        return self.host.policy(job.source, self.interface, limits, *made, job.prepared)

    def _made(self, source: str) -> tuple[tuple[str, ...], bytes]:
        """What a program may import besides, and what hides the episodes' seeds from it.

        The latter is the run's, without one the program's own text.
        """
        seed = self.settings.policy_seed
        text = source if seed is None else str(seed)
        return tuple(self.spec.extra_imports), hashlib.blake2b(text.encode()).digest()

    def prove(self, job: ProofJob) -> ProofRun:
        """Feed an episode to a lone policy; a policy that fails is a result, never an exception."""
        import sandbox
        from promptpo.rollout.alone import held_against

        limits = self.limits(job.company)
        limits = replace(limits, act_seconds=limits.act_seconds * job.company)
        (task,) = self.open_tasks(1)
        try:
            return steadily(
                lambda: held_against(job.episode, task, lambda: self._policy(job, limits))
            )
        except sandbox.Disturbed as e:
            raise PromptPOError(f"a policy could not be played alone: {e.message}") from None

    def count_lines(self, job: CoverageJob) -> CoverageRun:
        """Feed episodes to a policy whose lines are counted; one that fails is a result."""
        from promptpo.rollout.counting import counted

        made = self._made(job.source)
        return counted(
            job,
            self.limits(len(job.episodes)),
            lambda limits: self.host.counting_policy(
                job.source, self.interface, limits, *made, job.prepared
            ),
        )

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


#: What is done for a job, by its type.
_DOES: Mapping[type[Job[Any]], Callable[[Worker, Any], Any]] = {
    DescribeJob: Worker.describe,
    PlayJob: Worker.play,
    RehearsalJob: Worker.rehearse,
    BaselineJob: Worker.play_baseline,
    ProofJob: Worker.prove,
    SummaryJob: Worker.summarize,
    CoverageJob: Worker.count_lines,
    InstancesJob: Worker.play_instances,
    PrepareJob: Worker.prepare,
}
