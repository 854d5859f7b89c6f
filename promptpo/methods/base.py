"""The seam between a search method and everything that it uses.

A method is a class in a file of its own: its options as a dataclass at the head, ``search`` as a
loop over the services, and, if it says so, what it will take (``forecast``) and ask
(``all_prompts``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from promptpo.errors import LimitReached, SearchEnd
from promptpo.llm.extraction import ReplyRejected, policy_source
from promptpo.llm.messages import Message, Reply
from promptpo.policies.parametric import Program
from promptpo.prompts.task import Messages
from promptpo.types import Candidate, Key, MethodTable, Rollout, Round, by_score

if TYPE_CHECKING:
    from promptpo.config import RunConfig
    from promptpo.policies.constants import Tunable
    from promptpo.policies.coverage import CoverageRun
    from promptpo.rollout.jobs import TaskInfo
    from promptpo.spec import EnvSpec
    from promptpo.tuning import TuningAccount
    from promptpo.types import SummaryRun, Trajectory

#: Tokens of a typical reply: a policy with some thought before it.
REPLY_TOKENS = 1500


@dataclass(frozen=True)
class NoOptions:
    """The options of a method without any of its own."""


@dataclass(frozen=True)
class Search:
    """Result of a search.

    ``finalists`` are the candidates that meet on selection episodes, in the order of preference
    where those cannot tell them apart. ``limited``: a limit of the run ended it, ``reason`` which.
    """

    rounds: tuple[Round, ...]
    finalists: tuple[Candidate, ...]
    reason: str
    limited: bool = False


@dataclass(frozen=True)
class Demand:
    """The demand of a search: calls, about so many tokens, and environment steps at most.

    ``calls`` is without repairs, ``max_calls`` with every candidate repaired as often as it may
    be; ``finalists`` is how many candidates meet on selection episodes, at most.
    """

    calls: int = 0
    max_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    search_steps: int = 0
    finalists: int = 0


class Services(Protocol):
    """The services of a run to its method. What was done before an interruption is not done again.

    ``config.options`` are the method's own options, an instance of its ``Options``; ``task``
    has the action space of the environment.
    """

    spec: EnvSpec
    config: RunConfig
    task: TaskInfo

    async def ask(
        self, key: Key, messages: Sequence[Message], read: Callable[[Reply], object] | None = None
    ) -> Reply:
        """Call the model once; the key has a role.

        ``read`` takes the text to be played out of the reply, and raises ReplyRejected or
        ValueError where there is none: the run ends after ``max_unreadable`` such replies in a row.
        Of a call without ``read``, unless its role is "policy", only an empty or cut-off reply is
        one.

        Raises LimitReached, for a repair (an attempt above 0) also where a recording that is
        replayed holds no reply; else ModelError or ModelUnavailable.
        """

    def seeds(self, first: int, count: int) -> tuple[int, ...]:
        """Return ``count`` search seeds, from number ``first`` (from 0) on."""

    async def play(
        self,
        program: Program,
        seeds: Sequence[int],
        *,
        keys: Sequence[Key],
        constants: Sequence[Sequence[float]] = ((),),
        keep: bool = True,
    ) -> list[Rollout]:
        """Play search episodes with a program, for each vector of ``constants``: one rollout each.

        ``keys`` say, vector by vector, for whom it is played. The steps that whole episodes would
        take are reserved from the budget before anything is played. Raises LimitReached where they
        are not left; then nothing has been played. What was played already, the same text on the
        same seeds, is not played again and costs nothing. With ``keep`` the trajectories are
        stored; without, ``episodes`` has to play them again.
        """

    async def prepare(self, candidate: Candidate) -> Candidate:
        """Return the candidate with the result of its ``prepare`` on earlier rounds' episodes.

        An error of ``prepare`` is the candidate's. One without ``prepare``, or in a run that has
        no time for it, comes back as it is.
        """

    async def episodes(self, of: Candidate, seeds: Sequence[int] | None = None) -> list[Trajectory]:
        """Return the trajectories of a candidate's search episodes of these seeds, in their order.

        None: those that it began with. Raises RunError.
        """

    async def summarize(
        self, of: Candidate, feedback: str | None, seeds: Sequence[int] | None = None
    ) -> SummaryRun:
        """Return texts on these episodes, by a Feedback source or (None) the built-in summary."""

    async def coverage(self, of: Candidate, seeds: Sequence[int] | None = None) -> CoverageRun:
        """Count in how many steps of the same episodes, the first ten, each line of the policy ran.

        They are fed to it once more, which costs no environment steps.
        ``promptpo.policies.unreached`` says in words what never ran.
        """

    def tuning(self, of: Candidate, tunable: Tunable) -> Tuning:
        """Return a tuning of a candidate's constants. Raises ValueError where it has none."""

    @property
    def tuning_left(self) -> int:
        """Steps of tuning that the run has left; 0 where it does not tune."""

    async def open_round(self, rounds: Sequence[Round], guests: Sequence[Key] = ()) -> int:
        """Return how many candidates the limits allow in the round after these.

        ``guests`` are policies of earlier rounds that play along. Raises SearchEnd
        where no candidate is allowed, or where the target, the best possible score or the patience
        is reached.
        """

    def record(self, fact: Candidate | Round | MethodTable) -> None:
        """Record an attempt at a candidate, a round that has just ended, or own facts."""

    def report(self, event: str, /, **data: object) -> None:
        """Send an event to the views; nothing depends on it."""


class Tuning(Protocol):
    """A tuning of the constants of one candidate, which can go on later with more steps.

    ``of`` is the candidate as it was written.
    """

    of: Candidate

    @property
    def run(self) -> Rollout | None:
        """The rollout of the best values so far; None before any has played."""

    @property
    def steps(self) -> int:
        """Environment steps so far."""

    async def advance(self, steps: int) -> None:
        """Go on until so many steps in all are spent, or a limit of the run is reached.

        Raises LimitReached where nothing at all could be played.
        """

    async def finish(self) -> tuple[Candidate, TuningAccount]:
        """Return the candidate with the best values, of the kind "tuned", and the account.

        Where these are worse, or no better beyond noise, it is the candidate itself; ``account``
        says which. What is left open counts by its estimate.
        """


class Method:
    """A search for a policy; a method is a subclass with ``search``.

    Attributes:
        Options: a frozen dataclass whose fields are made by ``promptpo.config.option``.
        needs_model: False where the method asks no language model.
        asks_for_policies: False where it asks a model for parameters.
        tunes: True where it tunes the constants that policies declare.
        defaults, fixed: settings of every run with values of the method's own; ``fixed`` ones
            cannot be given.
        rounds: the rounds that have ended; ``search`` appends them.
    """

    Options: ClassVar[type[Any]] = NoOptions
    needs_model: ClassVar[bool] = True
    asks_for_policies: ClassVar[bool] = True
    tunes: ClassVar[bool] = False
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    def __init__(self, services: Services) -> None:
        self.services = services
        self.config = services.config
        self.rounds: list[Round] = []

    async def search(self) -> str | None:
        """Search until all is done, and return why it ended; None: all rounds are done.

        A SearchEnd that a service raises ends it, too.
        """
        raise NotImplementedError

    async def next_rounds(self) -> AsyncIterator[tuple[int, int]]:
        """Open one round after the other: yield its number, and how many candidates it may have.

        Once the method has appended the round to ``rounds`` it is recorded, and the next is opened.
        """
        while len(self.rounds) < self.config.rounds:
            count = await self.services.open_round(self.rounds, self.guests())
            yield len(self.rounds) + 1, count
            self.services.record(self.rounds[-1])

    def guests(self) -> Sequence[Key]:
        """Return the policies of earlier rounds that play along in the next one."""
        return ()

    def finalists(self) -> tuple[Candidate, ...]:
        """Return the candidates that meet on selection episodes: the winners of the rounds."""
        return tuple(r.winner for r in self.rounds if not r.winner.score.failed)

    def so_far(self, rounds: Sequence[Round], reason: str) -> Search:
        """Return what earlier sessions have found, without any further search."""
        self.rounds = list(rounds)
        return Search(tuple(rounds), self.finalists(), reason, limited=True)

    async def run(self) -> Search:
        """Search to the end, and return what was found."""
        limited = False
        try:
            reason = await self.search() or "all rounds are done"
        except SearchEnd as end:
            reason, limited = str(end), isinstance(end, LimitReached)
        return Search(tuple(self.rounds), self.finalists(), reason, limited)

    @staticmethod
    def forecast(spec: EnvSpec, config: RunConfig) -> Demand | None:
        """Return what a search with these settings will ask for; None where it does not say."""
        return None

    @staticmethod
    def all_prompts(spec: EnvSpec, config: RunConfig) -> list[tuple[str, Messages]]:
        """Return every kind of prompt, by title, what only a run knows in <brackets>."""
        return []


async def read_policy(
    services: Services,
    key: Key,
    reply: Reply,
    plain: Callable[[Candidate], Candidate] = lambda candidate: candidate,
) -> Candidate:
    """Return the policy in a reply after its ``prepare``, or with the error of either.

    ``plain`` takes the declarations of constants out of it, or refuses them.
    """
    try:
        candidate = plain(Candidate(key, policy_source(reply)))
    except ReplyRejected as e:
        return Candidate(key, None, error=str(e))
    return candidate if candidate.error else await services.prepare(candidate)


async def rolled_out(
    services: Services, candidate: Candidate, seeds: Sequence[int], *, keep: bool = True
) -> Candidate:
    """Return a candidate with its first search episodes. Raises LimitReached."""
    program = Program.of(candidate.source or "", candidate.prepared)
    [run] = await services.play(program, seeds, keys=[candidate.key], keep=keep)
    return replace(candidate, rollout=run, error=run.error)


def recorded(services: Services, candidate: Candidate) -> Candidate:
    """Record a candidate that has played or failed, and report its state."""
    services.record(candidate)
    state = "failed" if candidate.score.failed else "scored"
    services.report("state", name=candidate.name, state=state)
    return candidate


def best_of_all(rounds: Sequence[Round], count: int) -> tuple[Candidate, ...]:
    """Return the candidates with the best search scores of all rounds, the best first.

    Each text once, and so many at most.
    """
    drawn = [c for r in rounds for c in r.candidates]
    pool = {c.identity: c for c in reversed(drawn) if not c.score.failed}
    return tuple(sorted(pool.values(), key=by_score, reverse=True)[:count])
