"""Parts of a run as its log tells it: usage, model calls, candidates and rounds with their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from promptpo.llm.messages import Message, Reply, cached_of, dollars, tokens_of
from promptpo.store.events import Event
from promptpo.types import Candidate, Key, Note, Rollout, Score, Stream


@dataclass(frozen=True)
class Usage:
    """Running totals of a run. Tokens and ``cost`` are None once those of any call are unknown.

    ``cached_tokens``: the ``prompt_tokens`` that providers reported to come from their caches;
    None where no call reported any.
    """

    calls: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: float | None = 0.0
    steps: Mapping[Stream, int] = field(default_factory=dict)
    cached_tokens: int | None = None

    @property
    def searched(self) -> int:
        """Environment steps of the search: those of tuning are part of it."""
        return searched(self.steps)

    @property
    def has_tokens(self) -> bool:
        """True where the tokens of every call are known."""
        return self.prompt_tokens is not None and self.completion_tokens is not None


def searched(steps: Mapping[Stream, int]) -> int:
    """Return the steps of search and tuning among environment steps by stream."""
    return steps.get("search", 0) + steps.get("tuning", 0)


class Tally:
    """Counts calls, tokens, dollars and steps; a total is unknown once any part of it is.

    ``known_tokens`` and ``known_cost`` are the known parts, the least that was spent.
    """

    def __init__(self) -> None:
        self.usage = Usage(steps={"search": 0, "tuning": 0, "selection": 0, "test": 0})
        self.known_tokens = 0
        self.known_cost = 0.0

    def apply(self, event: Event) -> None:
        """Count what an event tells of."""
        if event.type == "reply":
            self.count(event.data.get("usage"), event.data.get("cost"))
        elif event.type == "rollout":
            self.step(event.data["stream"], event.data["steps"])
        elif event.type == "tuning":
            self.step("tuning", sum(run["steps"] for run in event.data["runs"]))

    def count(self, usage: object, cost: object) -> None:
        """Add one reply."""
        prompt, completion = tokens_of(usage)
        price, cached = dollars(cost), cached_of(usage)
        before = self.usage
        self.usage = replace(
            before,
            calls=before.calls + 1,
            prompt_tokens=_sum(before.prompt_tokens, prompt),
            completion_tokens=_sum(before.completion_tokens, completion),
            cost=None if before.cost is None or price is None else before.cost + price,
            cached_tokens=before.cached_tokens
            if cached is None
            else (before.cached_tokens or 0) + cached,
        )
        self.known_tokens += (prompt or 0) + (completion or 0)
        self.known_cost += price or 0.0

    def step(self, stream: Stream, steps: int) -> None:
        """Add environment steps."""
        before = self.usage.steps
        self.usage = replace(self.usage, steps={**before, stream: before[stream] + steps})


def _sum(total: int | None, part: int | None) -> int | None:
    return None if total is None or part is None else total + part


@dataclass(frozen=True)
class Call:
    """One model call: what was sent, when (empty and 0 where it is lost), and the reply, if any."""

    key: Key
    prompt: tuple[Message, ...] = ()
    reply: Reply | None = None
    asked: float = 0.0


@dataclass(frozen=True)
class FeedbackTexts:
    """Texts on a candidate's episodes, one for each of ``seeds``; ``by`` "model" or "built-in".

    ``seeds`` is empty in an older log, where the texts are on all of its first episodes.
    """

    texts: tuple[str, ...]
    by: str
    seeds: tuple[int, ...] = ()


@dataclass
class Trial:
    """A candidate with its cost and its attempts.

    Attributes:
        key: its round and number.
        candidate: the last attempt that was recorded; without a source before there is one.
        attempts: the attempts that were recorded, by number.
        calls: the model calls for it.
        played: its last search episodes, also before the candidate is recorded.
        digest: that of its search episodes; empty where there are none.
        recorded_score: the score that was recorded with it.
        at: the run's usage when it ended, and ``seconds`` the time that the run had taken.
        stage: its state as a watched run last reported it; empty where ``state`` holds.
    """

    key: Key
    candidate: Candidate
    attempts: dict[int, Candidate] = field(default_factory=dict)
    calls: dict[Key, Call] = field(default_factory=dict)
    played: Rollout | None = None
    digest: str = ""
    recorded_score: Score = field(default_factory=lambda: Score(failed=True))
    at: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    stage: str = ""

    @property
    def name(self) -> str:
        """The name of its folder, e.g. ``r02_c03``."""
        return self.key.name

    @property
    def state(self) -> str:
        """While it is under way "asked" or "playing", then "scored" or "failed"."""
        if self.ended:
            return "failed" if self.score.failed else "scored"
        playing = self.played is not None or any(c.reply for c in self.calls.values())
        return "playing" if playing else "asked"

    @property
    def ended(self) -> bool:
        """True once it has been recorded, scored or failed."""
        return bool(self.attempts)

    @property
    def score(self) -> Score:
        """The score of its search episodes, also where these are lost."""
        return self.candidate.score if self.candidate.rollout is not None else self.recorded_score

    @property
    def repairs(self) -> int:
        """The number of times that it was sent back."""
        return self.candidate.key.attempt

    @property
    def at_steps(self) -> int:
        """Steps of the run's search when it ended, tuning included."""
        return self.at.searched

    @property
    def cost(self) -> float | None:
        """US dollars of its replies; None where a price is unknown."""
        total = 0.0
        for call in self.calls.values():
            if call.reply is not None:
                if call.reply.cost is None:
                    return None
                total += call.reply.cost
        return total


@dataclass(frozen=True)
class RoundRecord:
    """One round with its trials.

    ``winner`` is None while the round is under way and where every candidate failed. ``calls`` are
    those that belong to no single candidate.
    """

    number: int
    trials: tuple[Trial, ...]
    done: bool
    winner: Trial | None = None
    notes: tuple[Note, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Point:
    """The best search score once so much was spent: steps of search and tuning, calls, US dollars.

    ``cost`` is None once the price of a reply is unknown.
    """

    steps: int
    calls: int
    cost: float | None
    best: Score
