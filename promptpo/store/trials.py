"""What a record holds of calls, candidates and rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

from promptpo.llm.messages import Message, Reply
from promptpo.store.tally import Usage
from promptpo.types import Candidate, Key, Note, Rollout, Score


@dataclass(frozen=True)
class Call:
    """One model call: what was sent (empty where the log has it not), what came back if it did."""

    key: Key
    prompt: tuple[Message, ...] = ()
    reply: Reply | None = None


@dataclass(frozen=True)
class Feedback:
    """What was made of a candidate's episodes: a text each, ``by`` "model" or "built-in".

    ``seeds`` are those of the episodes; empty in an older log, where they are all of its first.
    """

    texts: tuple[str, ...]
    by: str
    seeds: tuple[int, ...] = ()


@dataclass
class Trial:
    """A candidate with what it took.

    Attributes:
        key: its round and number.
        candidate: what was last written down of it; one without a source before there is any.
        attempts: what was written down of each attempt, by its number.
        calls: the model calls for it.
        played: its last search episodes, also before the candidate is written down.
        digest: that of its search episodes; empty where there are none.
        recorded_score: the score that was written down with it.
        at: what the run had spent when it ended.
        stage: what it is said to be at, in a run that is watched; empty where that is its state.
    """

    key: Key
    candidate: Candidate
    attempts: dict[int, Candidate] = field(default_factory=dict)
    calls: dict[Key, Call] = field(default_factory=dict)
    played: Rollout | None = None
    digest: str = ""
    recorded_score: Score = field(default_factory=lambda: Score(failed=True))
    at: Usage = field(default_factory=Usage)
    stage: str = ""

    @property
    def name(self) -> str:
        """As its folder, e.g. ``r02_c03``."""
        return self.key.name

    @property
    def state(self) -> str:
        """While it is under way "asked" or "playing", then "scored" or "failed"."""
        if self.attempts:
            return "failed" if self.score.failed else "scored"
        playing = self.played is not None or any(c.reply for c in self.calls.values())
        return "playing" if playing else "asked"

    @property
    def ended(self) -> bool:
        """Whether it has come to its end, good or bad."""
        return bool(self.attempts)

    @property
    def score(self) -> Score:
        """The score of its search episodes, also where these are lost."""
        return self.candidate.score if self.candidate.rollout is not None else self.recorded_score

    @property
    def repairs(self) -> int:
        """How often it was sent back."""
        return self.candidate.key.attempt

    @property
    def at_steps(self) -> int:
        """Steps of the run's search when it ended, tuning included."""
        return self.at.searched

    @property
    def cost(self) -> float | None:
        """US dollars of its replies; None where a price is unknown."""
        prices = [c.reply.cost for c in self.calls.values() if c.reply is not None]
        known = [price for price in prices if price is not None]
        return sum(known) if len(known) == len(prices) else None


@dataclass(frozen=True)
class RoundRecord:
    """One round; ``winner`` is None while it is under way and where every candidate failed.

    ``calls`` are those that belong to no single candidate.
    """

    number: int
    trials: tuple[Trial, ...]
    done: bool
    winner: Trial | None = None
    notes: tuple[Note, ...] = ()
    calls: tuple[Call, ...] = ()
