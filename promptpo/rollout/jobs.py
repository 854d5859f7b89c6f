"""Jobs of an executor and their answers: plain frozen records, cheap to send.

Both are made on the trusted side and can be pickled, so that they can go to another machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, Generic, Literal, TypeVar

from promptpo.common.lives import in_lives
from promptpo.policies import Actions, CoverageRun
from promptpo.types import Episode, SummaryRun, Trajectory

Controller = Literal["zero action", "random"]
Baseline = Literal["zero action", "random", "expert"]
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Settings:
    """Settings of every worker of an executor. Times are in seconds.

    ``env_timeout``: how long one call of the environment may take, or the import of the spec.

    ``policy_seed``: with an episode's seed it gives the policy's own random numbers (None: the
    policy's text does).
    """

    spec: str
    sandbox: Literal["auto", "strict"] = "auto"
    act_timeout: float = 5.0
    episode_timeout: float = 20.0
    env_timeout: float = 60.0
    policy_seed: int | None = None


class Job(Generic[R_co]):
    """A request to an executor; its answer is of the type that the job's class names."""


@dataclass(frozen=True)
class TaskInfo:
    """Facts about a task and the sandbox, from a worker that has opened both."""

    observation_size: int
    action: str
    isolation: dict[str, Any]
    actions: Actions


@dataclass(frozen=True)
class DescribeJob(Job[TaskInfo]):
    """Open the environment and the sandbox, and try so many steps."""

    steps: int = 1


@dataclass(frozen=True)
class PlayJob(Job["PlayRun"]):
    """Play one episode per seed with one policy.

    With a ``life`` of 1 each has a policy object of its own; with more the episodes of a life
    follow each other on one object. With ``alone`` every life has a process of its own, so that
    it can depend on no other; without, processes play several lives, one after another. ``keep``
    are the seeds of the episodes to bring back whole. ``prepared`` are the values that policies
    are made with, as ``sandbox`` packs them; empty where the program prepares nothing.

    An executor divides a job: ``first`` is the number of its first seed in the whole.
    """

    source: str
    seeds: tuple[int, ...]
    life: int = 1
    keep: tuple[int, ...] = ()
    alone: bool = False
    first: int = 0
    prepared: bytes = b""

    @property
    def lives(self) -> list[tuple[int, ...]]:
        """Its seeds, those of a life together."""
        return in_lives(self.seeds, self.life, int)


#: The error of an episode that was not played.
UNPLAYED = "not played"


def unplayed(seed: int) -> Episode:
    """Return an episode that was not played; its return is not known."""
    return Episode(seed, math.nan, 0, error=UNPLAYED)


@dataclass(frozen=True)
class PlayRun:
    """Answer to a PlayJob, or to an InstancesJob for one vector of constants.

    Every episode is played to its end, or until it fails, or its vector is given up.

    It does not depend on how the job was divided. An error of the program before its first episode
    (it does not compile) leaves all unplayed, and the episodes of a life that has failed.

    Attributes:
        results: one for each of the job's seeds, in their order.
        steps: environment steps, those of episodes that failed included.
        clipped: how many actions of each result lay outside their bounds and were clipped.
        output: what the policy printed.
        error: why the first episode failed that did, as the author is told; None if none did.
        error_kind: that of a ``sandbox.ProgramError``, or "environment", or "disturbed".
        episodes: those that ended, of the ones to be kept.
        bound: the mean return that a vector could have reached at best when it was given up, below
            the bar; None where it was played to the end.
        pace: the highest mean reward of a few steps in a row (``rollout.playing.PACE``).
    """

    results: tuple[Episode, ...] = ()
    steps: int = 0
    clipped: tuple[int, ...] = ()
    output: str = ""
    error: str | None = None
    error_kind: str | None = None
    episodes: tuple[Trajectory, ...] = ()
    bound: float | None = None
    pace: float = -math.inf


@dataclass(frozen=True)
class InstancesJob(Job[tuple[PlayRun, ...]]):
    """Play one episode per seed with each vector of constants, at their ``places`` in a policy.

    A place is a line, a column, where both end, and whether the number is whole, as
    ``sandbox.Place`` has them. With a ``bar`` an instance is given up once its mean return cannot
    reach it, if no step brings more than ``pace``; steps to come never count less than 0. With
    ``alone`` every life has a process of its own, as in a PlayJob.
    """

    source: str
    places: tuple[tuple[int, int, int, int, bool], ...]
    constants: tuple[tuple[float, ...], ...]
    seeds: tuple[int, ...]
    life: int = 1
    bar: float | None = None
    pace: float = math.inf
    prepared: bytes = b""
    alone: bool = False

    @property
    def lives(self) -> list[tuple[int, ...]]:
        """The seeds, those of a life together: they follow each other on one object."""
        return in_lives(self.seeds, self.life, int)


@dataclass(frozen=True)
class RehearsalJob(Job[None]):
    """Play the seeds without a policy; SpecError is raised where the environment fails even so.

    ``controller`` is one of those of ``promptpo.spec.baselines``.
    """

    seeds: tuple[int, ...]
    controller: Controller

    @property
    def words(self) -> str:
        """The controller, in words."""
        return "random actions" if self.controller == "random" else "zero actions"


@dataclass(frozen=True)
class BaselineJob(Job["PlayRun"]):
    """Play one episode per seed with a behaviour that is part of the task, and no policy.

    ``controller`` is a name in ``promptpo.spec.baselines.MEASURED``.
    """

    seeds: tuple[int, ...]
    controller: Baseline
    life: int | None = None


@dataclass(frozen=True)
class CoverageJob(Job[CoverageRun]):
    """Feed recorded episodes once more to a policy whose lines are counted, in a fresh process.

    Those of one life follow each other on one object; they are the first of it.
    """

    source: str
    episodes: tuple[Trajectory, ...]
    life: int = 1
    prepared: bytes = b""


@dataclass(frozen=True)
class SummaryJob(Job[SummaryRun]):
    """Run one Feedback class over episodes, in order, with one object."""

    source: str
    episodes: tuple[Trajectory, ...]


@dataclass(frozen=True)
class PrepareJob(Job["PrepareRun"]):
    """Run ``prepare`` of a program on the recorded episodes in the file ``data``.

    ``seconds`` are of processor time.
    """

    source: str
    data: str
    seconds: float


@dataclass(frozen=True)
class PrepareRun:
    """Answer to a PrepareJob.

    Attributes:
        values: what it returned, as ``sandbox`` packs it; empty where it failed.
        output: what it printed.
        seconds: processor time.
        error: why it failed, as its author is told; ``error_kind`` as of a PlayRun.
    """

    values: bytes = b""
    output: str = ""
    seconds: float = 0.0
    error: str | None = None
    error_kind: str | None = None


#: Episodes at the same time that have their environments whatever these cost, and at most.
BASE, MOST = 5, 16
#: Seconds that a step of a lone episode waits for its process, and not one of many.
_WAIT = 45e-6


def best_width(episodes: int, opened: int, opening: float, horizon: int) -> int:
    """Return how many of so many episodes to play together, for all to be over soonest.

    More at the same time wait less for each other's processes, but need an environment each: w of
    them take ``w * opening`` seconds, and each of ``episodes * horizon`` steps waits for
    ``_WAIT / w``. ``opened`` environments are there already.
    """
    paying = int(math.sqrt(episodes * horizon * _WAIT / max(opening, 1e-9)))
    return max(1, min(episodes, MOST, max(BASE, opened, paying)))


def divided(job: PlayJob, groups: int) -> list[PlayJob]:
    """Return the job in so many parts of nearly equal size, in order: at most one a life."""
    lives = job.lives
    count = min(groups, len(lives))
    ends = [len(lives) * n // count for n in range(count + 1)]
    parts = []
    start = 0
    for seeds in (tuple(chain(*lives[a:b])) for a, b in pairwise(ends)):
        keep = tuple(seed for seed in seeds if seed in job.keep)
        parts.append(replace(job, seeds=seeds, keep=keep, first=job.first + start))
        start += len(seeds)
    return parts


def of_instances(job: InstancesJob, workers: int, parts: int | None = None) -> list[InstancesJob]:
    """Return the job in so many parts, in order; by default enough to keep workers busy."""
    episodes = len(job.constants) * len(job.seeds)
    parts = parts or max(workers, min(2 * workers, episodes // (2 * BASE)))
    parts = min(parts, len(job.constants))
    ends = [len(job.constants) * n // parts for n in range(parts + 1)]
    return [replace(job, constants=job.constants[i:j]) for i, j in pairwise(ends)]


def joined(runs: Sequence[PlayRun]) -> PlayRun:
    """Return what became of a job, from what became of its parts, in order."""
    failed = next((run for run in runs if run.error is not None), PlayRun())
    return PlayRun(
        results=tuple(chain.from_iterable(run.results for run in runs)),
        steps=sum(run.steps for run in runs),
        clipped=tuple(chain.from_iterable(run.clipped for run in runs)),
        output="".join(run.output for run in runs),
        error=failed.error,
        error_kind=failed.error_kind,
        episodes=tuple(chain.from_iterable(run.episodes for run in runs)),
        pace=max((run.pace for run in runs), default=-math.inf),
    )
