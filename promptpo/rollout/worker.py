"""The inside of an environment process: live environments, and a sandbox for the policies.

The process is trusted; the policy is not, and lives in a process of its own behind ``sandbox``.
"""

from __future__ import annotations

import hashlib
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from promptpo.common import bounds
from promptpo.common.lives import in_lives
from promptpo.errors import IsolationError
from promptpo.policies import Actions, CoverageRun
from promptpo.rollout.cores import claim_core
from promptpo.rollout.jobs import (
    BASE,
    MOST,
    BaselineJob,
    CoverageJob,
    DescribeJob,
    InstancesJob,
    Job,
    PlayJob,
    PlayRun,
    PrepareJob,
    PrepareRun,
    RehearsalJob,
    Settings,
    SummaryJob,
    TaskInfo,
    best_width,
)
from promptpo.rollout.playing import play
from promptpo.rollout.watched import CUT, portable
from promptpo.spec.baselines import MEASURED, play_episode
from promptpo.spec.calls import CALL, IDLE, EnvironmentFault, activity
from promptpo.types import Episode, SummaryRun

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import sandbox
    from promptpo.spec import EnvSpec, Task

T = TypeVar("T")
#: How many jobs of instances an environment is opened for, at the least.
_SERVES = 100
#: Seconds that an act with one of many vectors of constants may take, at the least.
_LEAST = 0.1
#: How much longer than usual a policy may take while its lines are counted.
_SLOWER = 20
#: How often a job is begun at most: when the sandbox fails, and when something outside kills or
#: stops the program's process.
_TRIES, _DISTURBED = 3, 2


def steadily(job: Callable[[], T], disturbed: Callable[[T], bool] = lambda _: False) -> T:
    """Do a job, from its beginning again where the program is not at fault.

    A sandbox that fails again and again ends the run, which can be resumed, and never the program:
    no program should be able to bring that about, so if one does, somebody has to look before
    anything else is run.

    Args:
        job: what is done.
        disturbed: whether its result says the same as ``sandbox.Disturbed``.

    Raises:
        IsolationError: the sandbox does not work, or not as strictly as asked.
        sandbox.ProgramError: the program failed.
        sandbox.Disturbed: something outside ended its process, for the second time.
    """
    import sandbox

    failures = disturbances = 0
    while True:
        try:
            result = job()
            disturbances += 1
            if disturbances == _DISTURBED or not disturbed(result):
                return result
        except sandbox.Disturbed:
            disturbances += 1
            if disturbances == _DISTURBED:
                raise
        except sandbox.SandboxFailed as e:
            failures += 1
            if failures == _TRIES:
                raise IsolationError(
                    f"the sandbox failed {failures} times in a row: {e.message};"
                    " resume when it is clear why"
                ) from None
        except sandbox.IsolationUnavailable as e:
            raise IsolationError(str(e)) from None


def actions_of(task: Task) -> Actions:
    """Return the action space of a task as plain numbers."""
    import sandbox

    space = task.action
    if isinstance(space, sandbox.Discrete):
        return Actions((), counts=(space.n,), starts=(space.start,))
    if isinstance(space, sandbox.MultiDiscrete):
        return Actions((space.size,), counts=space.nvec, starts=space.start)
    low, high = (task.received(np.full(space.size, end)) for end in (-np.inf, np.inf))
    return Actions(space.shape, tuple(low.tolist()), tuple(high.tolist()))


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
        """Return the answer to a job."""
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
        """The interface between this task and its policies."""
        import sandbox
        from promptpo.spec import standalone_source

        (task,) = self.open_tasks(1)
        return sandbox.Interface(
            observation_size=task.observation_size,
            observation_source=standalone_source(self.spec.observation),
            action=task.action,
        )

    def limits(self, episodes: int) -> sandbox.Limits:
        """Return the limits for so many episodes: times are the run's, the others the sandbox's."""
        import sandbox

        return sandbox.Limits(
            act_seconds=self.settings.act_timeout,
            init_seconds=max(10.0, self.settings.act_timeout),
            total_seconds=self.settings.episode_timeout * episodes,
            text_chars=bounds.SUMMARY,
        )

    def describe(self, job: DescribeJob) -> TaskInfo:
        """Open everything once, so that what is missing is said before any model call."""
        interface = self.interface
        host = self.host
        self.rehearse(RehearsalJob((0,), "zero action"), job.steps)
        (task,) = self.open_tasks(1)
        return TaskInfo(
            task.observation_size,
            str(interface.action),
            asdict(host.isolation),
            actions_of(task),
        )

    def play(self, job: PlayJob) -> PlayRun:
        """Play a job's episodes; a policy that fails is a result, never an exception."""
        (run,) = self._play(job, self.limits(job.life))
        return run

    def play_instances(self, job: InstancesJob) -> tuple[PlayRun, ...]:
        """Play a policy with other constants; a vector that fails is a result."""
        limits = self.limits(job.life)
        # Many vectors are tried: a bad one must not take the time of a policy.
        limits = replace(
            limits,
            act_seconds=max(limits.act_seconds / MOST, _LEAST),
            init_seconds=max(limits.init_seconds / MOST, _LEAST),
        )
        # The same environments serve many jobs of this kind: opening them costs each a little.
        return self._play(job, limits, len(job.constants), job.places, serves=_SERVES)

    def _play(
        self,
        job: PlayJob | InstancesJob,
        limits: sandbox.Limits,
        vectors: int = 1,
        places: Sequence[tuple[int, int, int, int, bool]] = (),
        serves: int = 1,
    ) -> tuple[PlayRun, ...]:
        import sandbox

        lives = vectors * len(job.lives)
        (task, *_) = self.open_tasks(min(lives, BASE))
        opening, episodes = self._opening / serves, vectors * len(job.seeds)
        width = min(lives, best_width(episodes, len(self.tasks), opening, task.horizon))
        made, at = self._made(job.source), [sandbox.Place(*place) for place in places]
        program = sandbox.Program(job.source, self.interface, limits, *made, job.prepared, at)
        return steadily(
            lambda: play(job, width, _Pool(self, program)),
            lambda runs: any(run.error_kind == sandbox.Disturbed.kind for run in runs),
        )

    def rehearse(self, job: RehearsalJob, steps: int | None = None) -> None:
        """Play whole episodes without a policy, or so many ``steps`` of them.

        Raises EnvironmentFault where the environment fails.
        """
        (task,) = self.open_tasks(1)
        for seed in job.seeds:
            try:
                task.reset(seed)
                choose = MEASURED[job.controller](task, seed)
                over, left = False, steps if steps is not None else task.horizon
                while left and not over:
                    row = np.asarray(choose(task.raw), dtype=np.float64).reshape(-1)
                    flat, _, terminated, truncated, _ = task.step(row)
                    task.require_finite(flat)
                    over, left = terminated or truncated, left - 1
                if over:
                    task.outcome(False)  # its metrics may add up to something wrong
            except EnvironmentFault as fault:
                moment = f"at step {task.steps}" if task.steps else "in the reset"
                place = f"{moment} of seed {seed}, with {job.words}"
                raise fault.at(place) from fault

    def play_baseline(self, job: BaselineJob) -> PlayRun:
        """Play whole episodes with a behaviour of the task.

        Raises SpecError where the environment or the expert fails.
        """
        (task,) = self.open_tasks(1)
        controller = MEASURED[job.controller]
        played = [(seed, play_episode(task, controller, seed, job.life)) for seed in job.seeds]
        results = tuple(
            Episode(seed, p.total, p.length, p.success, metrics=p.metrics) for seed, p in played
        )
        return PlayRun(results, steps=sum(episode.length for episode in results))

    def _made(self, source: str) -> tuple[tuple[str, ...], bytes]:
        """Return the extra imports of a program, and the key that hides episodes' seeds from it.

        The key follows from the run's policy seed, without one from the program's own text.
        """
        seed = self.settings.policy_seed
        text = source if seed is None else str(seed)
        return tuple(self.spec.extra_imports), hashlib.blake2b(text.encode()).digest()

    def count_lines(self, job: CoverageJob) -> CoverageRun:
        """Feed episodes to a policy whose lines are counted; one that fails is a result."""
        import sandbox

        limits = self.limits(_SLOWER * len(job.episodes))
        limits = replace(
            limits,
            act_seconds=_SLOWER * limits.act_seconds,
            init_seconds=_SLOWER * limits.init_seconds,
        )
        program = sandbox.Program(
            job.source,
            self.interface,
            limits,
            *self._made(job.source),
            job.prepared,
            role="counting",
        )

        def count() -> CoverageRun:
            with self.host.open(program) as policy:
                for life in in_lives(job.episodes, job.life, lambda episode: episode.seed):
                    for number, episode in enumerate(life):
                        policy.begin(episode.seed, fresh=not number)
                        for row in episode.observations[:-1]:
                            policy.act(row)
                steps = sum(len(episode.rewards) for episode in job.episodes)
                return CoverageRun(policy.line_hits(), steps)

        try:
            return steadily(count)
        except (sandbox.ProgramError, sandbox.Disturbed) as e:
            return CoverageRun(error=e.message)

    def prepare(self, job: PrepareJob) -> PrepareRun:
        """Run a program's ``prepare`` in a process of its own; one that fails is a result."""
        import sandbox

        limits = replace(self.limits(1), prepare_seconds=job.seconds)
        made = self._made(job.source)
        data = os.open(job.data, os.O_RDONLY | os.O_CLOEXEC)
        try:
            done = steadily(
                lambda: self.host.prepare(job.source, data, self.interface, limits, *made)
            )
        except (sandbox.ProgramError, sandbox.Disturbed) as e:
            printed, seconds = getattr(e, "output", ""), getattr(e, "seconds", 0.0)
            return PrepareRun(output=printed, seconds=seconds, error=e.message, error_kind=e.kind)
        finally:
            os.close(data)
        return PrepareRun(done.values, done.output, done.seconds)

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

    def open_lockstep(self, count: int) -> sandbox.Lockstep | None:
        """Start a process that plays so many episodes at a time, where the policy allows it."""
        activity.mend()
        return self.worker.host.lockstep(self.program, count)


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


def serve(connection: Connection, settings: Settings, own_core: bool) -> None:
    """Answer the jobs that come, as ("done", answer) or ("raised", exception), until the end.

    ``own_core``: keep to a core of its own where one is free.
    """
    jobs: queue.SimpleQueue[Job[Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, jobs), daemon=True).start()
    if own_core:
        claim_core()
    worker = Worker(settings)
    while True:
        job = jobs.get()
        activity.mend()
        try:
            answer: tuple[str, object] = ("done", worker.do(job))
        except BaseException as error:
            answer = ("raised", portable(error))
        activity.cells[CALL] = IDLE
        connection.send(answer)


def _receive(connection: Connection, jobs: queue.SimpleQueue[Job[Any]]) -> None:
    """Take jobs in; the process ends when the other end is closed, however that comes."""
    while True:
        try:
            jobs.put(connection.recv())
        except EOFError:
            os._exit(0)
        except OSError:
            os._exit(CUT)
