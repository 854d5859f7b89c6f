"""What runs inside an environment process: live environments, and a sandbox for the policies.

The process is trusted; the policy is not, and lives in a process of its own behind ``sandbox``.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from promptpo.errors import PromptPOError
from promptpo.rollout.cores import claim_core
from promptpo.rollout.jobs import (
    SUMMARY_CHARS,
    PolicyJob,
    PolicyRun,
    ProofJob,
    ProofRun,
    Settings,
    SummaryJob,
    SummaryRun,
    TaskInfo,
)
from promptpo.rollout.steady import steadily

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import sandbox
    from promptpo.spec import EnvSpec
    from promptpo.spec.task import Task


@dataclass
class Worker:
    """The environments and the sandbox host of one process, opened when first needed."""

    settings: Settings
    tasks: list[Task] = field(default_factory=list)
    _spec: EnvSpec | None = None
    _host: sandbox.Host | None = None

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
        from promptpo.spec.task import Task

        while len(self.tasks) < count:
            self.tasks.append(Task.open(self.spec))
        return self.tasks[:count]

    @property
    def interface(self) -> sandbox.Interface:
        """What crosses between this task and its policies."""
        import sandbox
        from promptpo.spec.observation import standalone_source

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
            text_chars=SUMMARY_CHARS,
        )

    def describe(self) -> TaskInfo:
        """Open everything once, so that what is missing is said before any model call."""
        interface = self.interface
        host = self.host
        (task,) = self.open_tasks(1)
        task.reset(0)
        task.step(np.zeros(task.action_size))
        return TaskInfo(task.observation_size, str(interface.action), host.isolation.as_dict())

    def run_policy(self, job: PolicyJob) -> PolicyRun:
        """Play a job's episodes; a policy that fails is a result, never an exception."""
        import sandbox

        disturbed = sandbox.Disturbed.kind
        return steadily(lambda: self._play(job), lambda run: run.error_kind == disturbed)

    def _play(self, job: PolicyJob) -> PolicyRun:
        import sandbox
        from promptpo.rollout.lockstep import EnvironmentFault, run_lockstep

        groups = [job.seeds]
        if job.lifetime == "evaluation":
            groups = [(seed,) for seed in job.seeds]
        done = PolicyRun()
        fault: BaseException | None = None
        output = ""
        try:
            with self._policy(job.source, self.limits(len(job.seeds))) as policy:
                for number, seeds in enumerate(groups):
                    tasks = self.open_tasks(len(seeds))
                    part, fault = run_lockstep(
                        tasks, policy, seeds, keep=job.keep, fresh=number == 0
                    )
                    done = _joined(done, part)
                    if fault is not None:
                        break
                output = policy.output
        except (sandbox.ProgramError, sandbox.Disturbed) as e:
            fault = e
        done = replace(done, seeds=job.seeds, output=output)
        if fault is None:
            return done
        if isinstance(fault, sandbox.ProgramError | sandbox.Disturbed):
            return replace(done, error=fault.message, error_kind=fault.kind)
        if isinstance(fault, EnvironmentFault):
            return replace(done, error=str(fault), error_kind="environment")
        raise fault

    def _policy(self, source: str, limits: sandbox.Limits) -> sandbox.Policy:
        """A policy in a fresh process of its own."""
        extra = tuple(self.spec.extra_imports)
        return self.host.policy(source, self.interface, limits, extra, self._seed_key(source))

    def _seed_key(self, source: str) -> bytes:
        """What hides the episodes' seeds from a policy; without one of the run, its own text."""
        seed = self.settings.policy_seed
        text = source if seed is None else str(seed)
        return hashlib.blake2b(text.encode()).digest()

    def prove(self, job: ProofJob) -> ProofRun:
        """Feed an episode to a lone policy; a policy that fails is a result, never an exception."""
        import sandbox
        from promptpo.rollout.alone import held_against

        limits = self.limits(job.company)
        limits = replace(limits, act_seconds=limits.act_seconds * job.company)
        (task,) = self.open_tasks(1)
        try:
            return steadily(
                lambda: held_against(job.episode, task, lambda: self._policy(job.source, limits))
            )
        except sandbox.Disturbed as e:
            raise PromptPOError(f"a policy could not be played alone: {e.message}") from None

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
                    )
                )
                for e in job.episodes
            )


def _joined(a: PolicyRun, b: PolicyRun) -> PolicyRun:
    return PolicyRun(
        seeds=a.seeds + b.seeds,
        returns=a.returns + b.returns,
        lengths=a.lengths + b.lengths,
        successes=a.successes + b.successes,
        steps=a.steps + b.steps,
        clipped=a.clipped + b.clipped,
        episodes=a.episodes + b.episodes,
    )


_worker: Worker | None = None


def start(settings: Settings, leash: Connection, own_core: bool) -> None:
    """Prepare this process; it ends when the other end of ``leash`` closes, however that comes.

    ``own_core``: keep to a core of its own where one is free.
    """
    global _worker  # noqa: PLW0603 - one worker is one process
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(leash,), daemon=True).start()
    if own_core:
        claim_core()
    _worker = Worker(settings)


def _exit_with_parent(leash: Connection) -> None:
    try:
        leash.recv_bytes()
    except (EOFError, OSError):
        os._exit(0)


def _current() -> Worker:
    if _worker is None:
        raise RuntimeError("start() has not run in this process")
    return _worker


def describe() -> TaskInfo:
    """See Worker.describe."""
    return _current().describe()


def run_policy(job: PolicyJob) -> PolicyRun:
    """See Worker.run_policy."""
    return _current().run_policy(job)


def prove(job: ProofJob) -> ProofRun:
    """See Worker.prove."""
    return _current().prove(job)


def summarize(job: SummaryJob) -> SummaryRun:
    """See Worker.summarize."""
    return _current().summarize(job)
