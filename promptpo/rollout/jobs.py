"""What an executor is asked and what it answers: plain frozen records, cheap to send.

Both are made on the trusted side and can be pickled, so that they can go to another machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from promptpo.common.lives import in_lives
from promptpo.policies import Actions, CoverageRun
from promptpo.types import Episode, SummaryRun, Trajectory

Controller = Literal["zero action", "random"]
Baseline = Literal["zero action", "random", "expert"]
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Settings:
    """What every worker of an executor needs to know. Times are in seconds.

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
    """What an executor is asked for; its answer is of the type that the job's class names."""


@dataclass(frozen=True)
class TaskInfo:
    """What a worker found when it opened the environment and the sandbox."""

    observation_size: int
    action: str
    isolation: dict[str, Any]
    actions: Actions


@dataclass(frozen=True)
class DescribeJob(Job[TaskInfo]):
    """Open the environment and the sandbox."""


class Phase(IntEnum):
    """What happens to a group of episodes in a round, in this order."""

    LOAD = 0
    ENV_RESET = 1
    POLICY_RESET = 2
    ACT = 3
    ACTION = 4
    ENV_STEP = 5


class Moment(NamedTuple):
    """When something happens to episodes that step together; earlier ones are less.

    Round 0 begins the episodes, round t is their step t. ``slot`` is an episode's place among the
    seeds of the whole job.
    """

    round: int
    phase: Phase
    slot: int

    def steps_before(self, slot: int) -> int:
        """How many steps the environment of a slot has taken by then, unless its episode ended."""
        return max(0, self.round - (self.phase < Phase.ENV_STEP or slot >= self.slot))


@dataclass(frozen=True)
class PlayJob(Job["PlayRun"]):
    """Play one episode per seed with one policy.

    With a ``life`` of 1 each has a policy object of its own, and as many are in lockstep as the
    executor chooses; with ``alone`` each has a process of its own, too. With more the episodes of
    a life follow each other on one object, and every life has a process of its own. ``keep`` are
    the seeds of the episodes to bring back whole. ``prepared`` are the values that policies are
    made with, as ``sandbox`` packs them; empty where the program prepares nothing.

    An executor divides a job: ``first`` is the slot of its first seed in the whole, and nothing
    from the moment ``before`` on need be played.
    """

    source: str
    seeds: tuple[int, ...]
    life: int = 1
    keep: tuple[int, ...] = ()
    alone: bool = False
    first: int = 0
    before: Moment | None = None
    prepared: bytes = b""

    @property
    def in_turn(self) -> bool:
        """Whether its episodes follow each other on one object."""
        return self.life > 1

    @property
    def lives(self) -> list[tuple[int, ...]]:
        """Its seeds, those of a life together."""
        return in_lives(self.seeds, self.life, int)


#: The error of an episode that did not end because another one failed.
BYSTANDER = "another episode failed"


def bystander(seed: int, length: int = 0) -> Episode:
    """An episode that did not end because another one failed; its return is not known."""
    return Episode(seed, math.nan, length, error=BYSTANDER)


@dataclass(frozen=True)
class PlayRun:
    """What became of a PlayJob; it does not depend on which episodes shared a process.

    After a failure all is told as if every episode had been stepped together, and the failure had
    ended them all; of lives, as if they had been played one after another until it.

    Attributes:
        results: one for each of the job's seeds, in their order.
        steps: environment steps, those of episodes that did not end included.
        clipped: how many actions of each result lay outside their bounds and were clipped; 0 of
            one that did not end.
        output: what the policy printed.
        error: why the policy failed, as its author is told; None if it did not.
        error_kind: that of a ``sandbox.ProgramError``, or "environment", or "disturbed".
        failed_at: when, where that is known and episodes were stepped together.
        episodes: those that ended, of the ones to be kept.
    """

    results: tuple[Episode, ...] = ()
    steps: int = 0
    clipped: tuple[int, ...] = ()
    output: str = ""
    error: str | None = None
    error_kind: str | None = None
    failed_at: Moment | None = None
    episodes: tuple[Trajectory, ...] = ()


@dataclass(frozen=True)
class InstanceRun:
    """What became of one vector of constants.

    Attributes:
        results: the episodes that came to an end, in the order of the seeds.
        steps: environment steps, those of episodes that did not end included.
        error: why this instance failed; None if it did not.
        bound: the mean return that it could have reached at best when it was given up, below the
            bar; None where it was played to the end.
        pace: the highest mean reward of a few steps in a row (``rollout.instances.PACE``).
    """

    results: tuple[Episode, ...] = ()
    steps: int = 0
    error: str | None = None
    bound: float | None = None
    pace: float = -math.inf


@dataclass(frozen=True)
class InstancesJob(Job[tuple[InstanceRun, ...]]):
    """Play one episode per seed with each vector of constants, at their ``places`` in a policy.

    A place is a line, a column, where both end, and whether the number is whole, as
    ``sandbox.Place`` has them. With a ``bar`` an instance is given up once its mean return cannot
    reach it, if no step brings more than ``pace``; steps to come never count less than 0.
    """

    source: str
    places: tuple[tuple[int, int, int, int, bool], ...]
    constants: tuple[tuple[float, ...], ...]
    seeds: tuple[int, ...]
    life: int = 1
    bar: float | None = None
    pace: float = math.inf
    prepared: bytes = b""

    @property
    def lives(self) -> list[tuple[int, ...]]:
        """The seeds, those of a life together: they follow each other on one object."""
        return in_lives(self.seeds, self.life, int)


@dataclass(frozen=True)
class RehearsalJob(Job[None]):
    """Play the seeds without a policy; SpecError is raised where the environment fails even so.

    ``controller`` is one of those of ``promptpo.spec.running.references``.
    """

    seeds: tuple[int, ...]
    controller: Controller

    @property
    def words(self) -> str:
        """What is done, in words."""
        return "random actions" if self.controller == "random" else "zero actions"


@dataclass(frozen=True)
class BaselineJob(Job["PlayRun"]):
    """Play one episode per seed with a behaviour that is part of the task, and no policy.

    ``controller`` is a name in ``promptpo.spec.running.references.MEASURED``.
    """

    seeds: tuple[int, ...]
    controller: Baseline
    life: int | None = None


@dataclass(frozen=True)
class ProofJob(Job["ProofRun"]):
    """Feed a recorded episode to a policy that is alone in a fresh process.

    ``company`` is how many episodes may have shared a process when it was recorded: alone it has
    the time that all of them had, so that no limit fails it that did not then.
    """

    source: str
    episode: Trajectory
    company: int
    prepared: bytes = b""


@dataclass(frozen=True)
class ProofRun:
    """How the lone policy's actions differ from the recorded ones, if they do.

    ``step`` (from 1) is where they first differ or the policy failed, None where they never do;
    ``action_alone`` is what it did there, ``error`` why it failed. ``repeats``: it did the same
    when it was alone a second time.
    """

    step: int | None = None
    action_alone: tuple[float, ...] = ()
    error: str | None = None
    repeats: bool = True


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
