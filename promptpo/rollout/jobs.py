"""What an executor is asked and what it answers: plain frozen records, cheap to send.

Both are made on the trusted side and can be pickled, so that they can go to another machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from promptpo.policies import Actions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Lifetime = Literal["episode", "evaluation"]
Controller = Literal["zero action", "random"]
R_co = TypeVar("R_co", covariant=True)

#: Characters of one episode's summary; prompts say so, the sandbox cuts what is longer.
SUMMARY_CHARS = 1500


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


@dataclass(frozen=True)
class PlayJob(Job["PlayRun"]):
    """Play one episode per seed with one policy.

    Lifetime "episode": all of them in lockstep, each with a policy object of its own;
    "evaluation": one after another on one object. ``keep`` are the seeds of the episodes to bring
    back whole.
    """

    source: str
    seeds: tuple[int, ...]
    lifetime: Lifetime = "episode"
    keep: tuple[int, ...] = ()


@dataclass(frozen=True)
class EpisodeData:
    """One episode of T steps: ``observations`` (T+1, n), ``actions`` (T, m), ``rewards`` (T,).

    Actions are those that the environment received. ``success`` is None where the task defines
    none.
    """

    observations: NDArray[np.float64]
    actions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    seed: int
    terminated: bool
    truncated: bool
    success: bool | None


@dataclass(frozen=True)
class PlayRun:
    """What became of a PlayJob; the lists cover the episodes that ended, in the seeds' order."""

    seeds: tuple[int, ...] = ()
    returns: tuple[float, ...] = ()
    lengths: tuple[int, ...] = ()
    successes: tuple[bool | None, ...] = ()
    steps: int = 0
    clipped: int = 0
    output: str = ""
    error: str | None = None
    error_kind: str | None = None
    episodes: tuple[EpisodeData, ...] = ()


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
class ProofJob(Job["ProofRun"]):
    """Feed a recorded episode to a policy that is alone in a fresh process.

    ``company`` is how many episodes shared a process when it was recorded: alone it has the time
    that all of them had, so that no limit fails it that did not then.
    """

    source: str
    episode: EpisodeData
    company: int


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
class SummaryJob(Job["SummaryRun"]):
    """Run one Feedback class over episodes, in order, with one object."""

    source: str
    episodes: tuple[EpisodeData, ...]


@dataclass(frozen=True)
class SummaryRun:
    """One text per episode, or the error for the model that will repair its class."""

    texts: tuple[str, ...] = field(default=())
    error: str | None = None
