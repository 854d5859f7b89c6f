"""The seam between a search method and everything that it uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from promptpo.config import RunConfig
from promptpo.rollout.jobs import SummaryRun
from promptpo.spec import EnvSpec
from promptpo.types import CallKey, Candidate, Message, Reply, Rollout, Round


class SearchEnd(Exception):
    """The search is over; says why."""


class GoalReached(SearchEnd):
    """The target is met, or the patience is at its end."""


class LimitReached(SearchEnd):
    """A limit of the run (cost, tokens, calls, steps, time) forbids the next step."""


@dataclass(frozen=True)
class Search:
    """What a search found: its rounds, why it ended, and whether a limit ended it."""

    rounds: tuple[Round, ...]
    reason: str
    limited: bool = False


class Services(Protocol):
    """What a method may do. Whatever was done before an interruption is not done again."""

    spec: EnvSpec
    config: RunConfig

    async def ask(self, key: CallKey, messages: Sequence[Message]) -> Reply:
        """One model call. Raises LimitReached, ModelError or ModelUnavailable."""
        ...

    async def roll_out(self, round_: int, index: int, attempt: int, source: str) -> Rollout:
        """Search episodes of one attempt; every candidate of a round meets the same seeds."""
        ...

    async def prove(self, candidate: Candidate) -> Candidate | None:
        """None where the candidate acts the same with each of its episodes alone in a process.

        Else the candidate with the score that it has so; that one needs no proof.
        """
        ...

    async def review(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds as they stand before the next one.

        In a run that goes on after its end, a winner may have been found out since.
        """
        ...

    async def summarize(self, candidate: Candidate, feedback: str | None) -> SummaryRun:
        """Texts on a candidate's search episodes, by a Feedback source or (None) the built-in."""
        ...

    def report(self, event: str, **data: object) -> None:
        """Tell whoever watches; nothing depends on it."""
        ...

    def record_candidate(self, candidate: Candidate, attempt: int) -> None:
        """Write down one attempt at a candidate."""
        ...

    def record_round(self, rounds: Sequence[Round]) -> None:
        """Write down the round that has just ended."""
        ...

    def may_start(self, rounds: Sequence[Round]) -> int:
        """How many candidates the limits allow in the next round.

        Raises SearchEnd where it is none, or where the target or the patience is reached.
        """
        ...


class Method(Protocol):
    """A search for a policy."""

    def __init__(self, services: Services) -> None:
        """A method gets its services and nothing else."""
        ...

    async def search(self) -> Search:
        """Run to the end."""
        ...
