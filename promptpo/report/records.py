"""What a report knows of a run: plain records, gathered from its folder by ``gather``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from promptpo.types import CallKey, Candidate, Message, Proof, Reply, Rollout, Score, Usage

#: How a run stands in words a reader knows; "killed" is a run that nothing is carrying on.
LIVE = "running"


@dataclass(frozen=True)
class Call:
    """One model call: what was sent (empty where the log has it not), what came back if it did."""

    key: CallKey
    prompt: tuple[Message, ...] = ()
    reply: Reply | None = None


@dataclass(frozen=True)
class Trial:
    """One candidate with what it took: its calls, and the search steps of the run when it ended.

    ``state`` is "asked" or "playing" while it is under way, then "scored" or "failed".
    """

    candidate: Candidate
    state: str
    at_steps: int
    calls: tuple[Call, ...] = ()

    @property
    def name(self) -> str:
        """As its folder, e.g. ``r02_c03``."""
        return self.candidate.name

    @property
    def ended(self) -> bool:
        """Whether it has come to its end, good or bad."""
        return self.state in ("scored", "failed")

    @property
    def score(self) -> Score:
        """The score of its search episodes."""
        return self.candidate.score

    @property
    def cost(self) -> float | None:
        """US dollars of its replies; None where a price is unknown."""
        replies = [c.reply for c in self.calls if c.reply is not None]
        prices = [r.cost for r in replies if r.cost is not None]
        return sum(prices) if len(prices) == len(replies) else None


@dataclass(frozen=True)
class RoundRecord:
    """One round; ``winner`` is None while it is under way and where every candidate failed."""

    number: int
    trials: tuple[Trial, ...]
    done: bool
    winner: Trial | None = None
    reflection: str = ""
    feedback: tuple[str, ...] = ()
    feedback_by: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class FieldColumns:
    """Name and unit of an observation field, and its place in the flat vector."""

    name: str
    unit: str
    start: int
    stop: int


@dataclass(frozen=True)
class RunRecord:
    """A run as its folder tells it.

    ``test`` is the best policy's held-out rollout, ``proof`` whether its episodes depend on each
    other (None: not looked at); ``usage`` and ``seconds`` are totals so far;
    ``since`` is where the seconds of a running run count from, in seconds since the epoch (None:
    it has ended); ``opening`` are the calls before the first round; ``videos`` are MP4 files;
    ``unread`` says what of its files cannot be read and is left out here.
    """

    folder: Path
    status: str
    reason: str
    run: Mapping[str, Any]
    config: Mapping[str, Any]
    info: Mapping[str, Any]
    rounds: tuple[RoundRecord, ...]
    best: str | None
    test: Rollout | None
    selection: Sequence[Mapping[str, Any]]
    usage: Usage
    seconds: float
    since: float | None = None
    opening: tuple[Call, ...] = ()
    notices: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    fields: tuple[FieldColumns, ...] = ()
    videos: tuple[Path, ...] = field(default=())
    proof: Proof | None = None

    @property
    def mark(self) -> str:
        """What a proof found against the best policy; empty where nothing was found."""
        return self.proof.mark if self.proof is not None else ""

    @property
    def spec(self) -> str:
        """Name of the task."""
        return str(self.run.get("spec", {}).get("name") or self.folder.parent.name)

    @property
    def title(self) -> str:
        """The task in one line."""
        return str(self.run.get("spec", {}).get("title") or "")

    @property
    def references(self) -> dict[str, Score]:
        """What known behaviours score."""
        known = self.run.get("spec", {}).get("references") or {}
        return {k: Score(v["mean_return"], v.get("success_rate")) for k, v in known.items()}

    @property
    def replayed(self) -> bool:
        """Whether replies came from a recording, so that no model was paid."""
        return str(self.config.get("model") or "").partition(":")[0] == "recorded"

    @property
    def trials(self) -> tuple[Trial, ...]:
        """The candidates of all rounds."""
        return tuple(t for r in self.rounds for t in r.trials)

    @property
    def best_trial(self) -> Trial | None:
        """The candidate that stands as the run's policy."""
        return next((t for t in self.trials if t.name == self.best), None)

    @property
    def defines_success(self) -> bool:
        """Whether the task has a success rate."""
        played = [t.candidate.rollout for t in self.trials if t.candidate.rollout]
        if self.test is not None:
            played.append(self.test)
        return any(s is not None for r in played for s in r.successes)
