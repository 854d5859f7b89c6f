"""The vocabulary: small frozen records that the parts of promptpo hand to each other."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Literal

from promptpo.common import text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Stream = Literal["search", "selection", "test"]
Verdict = Literal[
    "independent", "depends on other episodes", "does not repeat itself", "not applicable"
]

#: What a candidate is: written by a model, proposed or revised by one, a policy with other
#: numbers, drawn at random, a trained network, or one that knows nothing of the task.
Kind = Literal["policy", "proposal", "revision", "tuned", "sample", "network", "probe"]


@dataclass(frozen=True, order=True)
class Key:
    """Names a thing done within a run: a candidate, an attempt at one, a model call.

    ``round`` counts from 1 (0: before the first round); ``candidate`` counts from 1 (0: what
    belongs to the whole round); ``attempt`` is 0, or the number of the repair. ``role`` says what
    a model is called for, in a word of the method's own; it is empty for what is no call.
    """

    round: int = 0
    candidate: int = 0
    attempt: int = 0
    role: str = ""

    @property
    def name(self) -> str:
        """The candidate or the round, e.g. ``r02_c03``, ``r02``: its folder, its name on pages."""
        return f"r{self.round:02d}" + (f"_c{self.candidate:02d}" if self.candidate else "")

    @classmethod
    def named(cls, name: str) -> Key:
        """The inverse of ``name``."""
        numbers = [int(digits) for digits in re.findall("[0-9]+", name)]
        return cls(numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def __str__(self) -> str:
        """As used in file names, e.g. ``r02_c03_repair1``."""
        return "_".join(filter(None, (self.name, self.role))) + (f"{self.attempt or ''}")


def _ordered(value: float) -> float:
    return float("-inf") if math.isnan(value) else value


@total_ordering
@dataclass(frozen=True, eq=False)
class Score:
    """How good a candidate is: success rate where the task defines success, ties by mean return.

    A failed candidate (``failed``) is worse than every one that ran.
    """

    mean_return: float = float("-inf")
    success_rate: float | None = None
    failed: bool = False

    @property
    def key(self) -> tuple[bool, float, float]:
        """Sorts scores from worst to best; a NaN, which has no order, stands below all numbers."""
        rate = self.success_rate if self.success_rate is not None else 0.0
        return (not self.failed, _ordered(rate), _ordered(self.mean_return))

    @property
    def value(self) -> float:
        """The number that ``--target`` speaks of: the success rate, else the mean return."""
        return self.mean_return if self.success_rate is None else self.success_rate

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Score) and self.key == other.key

    def __lt__(self, other: Score) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return text.score(vars(self))


@dataclass(frozen=True)
class Episode:
    """How one episode ended: its return, its length in steps, its success (None: undefined).

    ``error`` says what ended it before its time; its return and length count up to there.
    """

    seed: int
    return_: float
    length: int
    success: bool | None = None
    error: str | None = None


@dataclass(frozen=True)
class Trajectory:
    """One episode of T steps: ``observations`` (T+1, n), ``actions`` (T, m), ``rewards`` (T,).

    Actions are those that the environment received. ``success`` is None where the task defines
    none. ``trace``: what the attributes that the policy's ``TRACE`` names were after each act, T
    values by name; None for what was no number and no short string.
    """

    observations: NDArray[np.float64]
    actions: NDArray[np.float64]
    rewards: NDArray[np.float64]
    seed: int
    terminated: bool
    truncated: bool
    success: bool | None
    trace: Mapping[str, tuple[float | bool | str | None, ...]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Rollout:
    """What a policy did over some episodes of one stream.

    ``seeds`` are those that were asked for, ``episodes`` those that ended, in the seeds' order.
    ``error`` is the text for the model if the policy failed; then some episodes may be missing,
    and ``steps`` is what was played all the same.
    ``clipped`` is the share of actions that lay outside the action space and were clipped.
    ``mark``: what a proof found against the policy, so that each episode was played alone in a
    process of its own; empty where nothing was found, and episodes shared processes.
    """

    stream: Stream
    seeds: tuple[int, ...]
    episodes: tuple[Episode, ...] = ()
    steps: int = 0
    clipped: float = 0.0
    output: str = ""
    error: str | None = None
    error_kind: str | None = None
    mark: str = ""

    @property
    def whole(self) -> tuple[Episode, ...]:
        """The episodes that came to an end of their own."""
        return tuple(e for e in self.episodes if e.error is None)

    @property
    def returns(self) -> tuple[float, ...]:
        """The returns of the whole episodes."""
        return tuple(e.return_ for e in self.whole)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the whole episodes, in steps."""
        return tuple(e.length for e in self.whole)

    @property
    def successes(self) -> tuple[bool | None, ...]:
        """The successes of the whole episodes; None each where the task defines none."""
        return tuple(e.success for e in self.whole)

    @property
    def score(self) -> Score:
        """Mean return and success rate, or the worst score for a failure."""
        returns, successes = self.returns, self.successes
        if self.error is not None or not returns:
            return Score(failed=True)
        rate = None
        if successes[0] is not None:
            rate = sum(map(bool, successes)) / len(successes)
        return Score(sum(returns) / len(returns), rate)

    @classmethod
    def pooled(cls, parts: Sequence[Rollout]) -> Rollout:
        """Several rollouts of one policy as one; what an earlier one played counts once.

        A part that failed is a failure of the whole.
        """
        seen: dict[int, Rollout] = {}
        for part in parts:
            for seed in part.seeds:
                seen.setdefault(seed, part)
        failed = next((p for p in parts if p.error is not None), parts[0])
        steps = sum(p.steps for p in parts)
        return cls(
            stream=parts[0].stream,
            seeds=tuple(seen),
            episodes=tuple(e for p in parts for e in p.episodes if seen.get(e.seed) is p),
            steps=steps,
            clipped=sum(p.clipped * p.steps for p in parts) / max(steps, 1),
            output=failed.output,
            error=failed.error,
            error_kind=failed.error_kind,
            mark=parts[0].mark,
        )

    def __repr__(self) -> str:
        return (
            f"<Rollout of {text.plural(len(self.seeds), f'{self.stream} episode')}: {self.score}>"
        )


@dataclass(frozen=True)
class SummaryRun:
    """One text per episode, or the error for the model that will repair its class."""

    texts: tuple[str, ...] = field(default=())
    error: str | None = None


@dataclass(frozen=True)
class Proof:
    """Whether a policy acts the same when each episode is alone in a fresh process, bit for bit.

    ``seeds`` are the episodes of the ``stream`` that were fed to it again, ``differing`` those
    whose actions were others then. The first difference of the first of these: in the episode of
    ``seed``, at ``step`` (from 1), it did ``action`` in company and ``action_alone`` alone, or
    failed with ``error``. ``score`` is that of the episodes in company, where it does not stand.

    "does not repeat itself" is a policy whose actions differ from one time alone to the next;
    "not applicable" a task whose policies are to remember earlier episodes.
    """

    verdict: Verdict
    stream: Stream
    seeds: tuple[int, ...] = ()
    differing: tuple[int, ...] = ()
    seed: int | None = None
    step: int | None = None
    action: tuple[float, ...] = ()
    action_alone: tuple[float, ...] = ()
    error: str | None = None
    score: Mapping[str, Any] | None = None

    @property
    def mark(self) -> str:
        """The verdict where it is one against the policy, else empty."""
        return "" if self.verdict in ("independent", "not applicable") else self.verdict


@dataclass(frozen=True)
class Note:
    """Something worth reading beside a candidate or a round: a title, and what was noted."""

    title: str
    text: str


@dataclass(frozen=True, repr=False)
class Candidate:
    """One policy: where it stands in the run, its source, how it did, and what became of it.

    ``key`` has the attempt that it is; ``parents`` are the names of the candidates that it was
    made from. ``error``: why it cannot be used.

    ``rollout`` are the search episodes that all candidates of its round began with, ``later`` those
    that it has played since, to be told from others; all of them are its score. ``hard`` are
    episodes in which others had failed, which it played besides; they are no part of any score.
    """

    key: Key
    source: str | None
    rollout: Rollout | None = None
    error: str | None = None
    kind: Kind = "policy"
    parents: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    later: tuple[Rollout, ...] = ()
    hard: Rollout | None = None

    @property
    def name(self) -> str:
        """As the folder under ``candidates/``, e.g. ``r02_c03``."""
        return self.key.name

    @property
    def pooled(self) -> Rollout | None:
        """All search episodes behind its score, as one rollout; None where it has not played."""
        if self.rollout is None or not self.later:
            return self.rollout
        return Rollout.pooled((self.rollout, *self.later))

    @property
    def score(self) -> Score:
        """The score of all its search episodes; the worst one where there are none."""
        played = self.pooled
        return Score(failed=True) if self.error is not None or played is None else played.score

    @property
    def mark(self) -> str:
        """What a proof found against it; empty where nothing was found."""
        return self.rollout.mark if self.rollout is not None else ""

    def __repr__(self) -> str:
        return f"<Candidate {self.name}: {self.score}>"


def best_of(candidates: Iterable[Candidate]) -> Candidate:
    """The candidate with the best search score; the earliest where several are equal."""
    return max(candidates, key=lambda c: (c.score, -c.key.round, -c.key.candidate))


@dataclass(frozen=True, repr=False)
class Round:
    """One round of candidates, its winner, and what was noted about it."""

    number: int
    candidates: tuple[Candidate, ...]
    winner: Candidate
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        count = text.plural(len(self.candidates), "candidate")
        best = f"{self.winner.name} wins, {self.winner.score}"
        return f"<Round {self.number} of {count}: {best}>"


def best_round(rounds: Sequence[Round]) -> Round:
    """The round whose winner has the best search score; the earlier one where two are equal."""
    return max(rounds, key=lambda r: (r.winner.score, -r.number))


def with_candidate(rounds: Sequence[Round], candidate: Candidate) -> list[Round]:
    """The rounds with what has become of a candidate in its place."""
    found = []
    for round_ in rounds:
        if round_.number != candidate.key.round:
            found.append(round_)
            continue
        same = {c.name: c for c in round_.candidates} | {candidate.name: candidate}
        winner = candidate if round_.winner.name == candidate.name else round_.winner
        found.append(replace(round_, candidates=tuple(same.values()), winner=winner))
    return found
