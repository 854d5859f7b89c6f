"""The vocabulary: small frozen records that the parts of promptpo hand to each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta

from promptpo.common import text
from promptpo.outcomes import Episode, Preparation, Rollout, Score, Stream, Trajectory

__all__ = [
    "Candidate",
    "Episode",
    "Key",
    "Kind",
    "MethodTable",
    "Note",
    "Preparation",
    "Rollout",
    "Round",
    "Score",
    "Stream",
    "SummaryRun",
    "Trajectory",
    "best_of",
    "best_round",
    "by_score",
    "identity",
    "with_candidate",
]

#: What a candidate is: written by a model, proposed or revised by one, a policy with other
#: numbers, drawn at random, a trained network, or one that knows nothing of the task.
Kind = Literal["policy", "proposal", "revision", "tuned", "sample", "network", "probe"]


_NUMBER = Meta(ge=0, lt=10**9)


@dataclass(frozen=True, order=True)
class Key:
    """Names a thing done within a run: a candidate, an attempt at one, a model call.

    ``round`` counts from 1 (0: before the first round); ``candidate`` counts from 1 (0: what
    belongs to the whole round); ``attempt`` is 0, or the number of the repair. ``role`` says what
    a model is called for, in a word of the method's own; it is empty for what is no call.
    """

    round: Annotated[int, _NUMBER] = 0
    candidate: Annotated[int, _NUMBER] = 0
    attempt: Annotated[int, _NUMBER] = 0
    role: str = ""

    @property
    def name(self) -> str:
        """The candidate or the round, e.g. ``r02_c03``, ``r02``: its folder, its name on pages."""
        return f"r{self.round:02d}" + (f"_c{self.candidate:02d}" if self.candidate else "")

    @classmethod
    def named(cls, name: str) -> Key:
        """Return the key of a name."""
        numbers = [int(digits) for digits in re.findall("[0-9]+", name)]
        return cls(numbers[0], numbers[1] if len(numbers) > 1 else 0)

    def __str__(self) -> str:
        """Return the name used in file names, e.g. ``r02_c03_repair1``."""
        return "_".join(filter(None, (self.name, self.role))) + (f"{self.attempt or ''}")


@dataclass(frozen=True)
class SummaryRun:
    """One text per episode, or the error for the model that will repair its class."""

    texts: tuple[str, ...] = field(default=())
    error: str | None = None


@dataclass(frozen=True)
class Note:
    """Something worth reading beside a candidate or a round: a title, and what was noted."""

    title: str
    text: str


@dataclass(frozen=True, repr=False)
class Candidate:
    """One policy: its place in the run, its source, its episodes, its error.

    ``key`` has the attempt that it is; ``parents`` are the names of the candidates that it was
    made from. ``error``: why it cannot be used.

    ``rollout`` are the search episodes that all candidates of its round began with, ``later`` those
    that it has played since, to be told from others; all of them are its score. ``hard`` are
    episodes in which others had failed, which it played besides; they are no part of any score.
    ``preparation`` is what came of its ``prepare``; None where it defines none.
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
    preparation: Preparation | None = None

    @property
    def prepared(self) -> str | None:
        """The digest of the values that its policies are made with; None where there are none."""
        return self.preparation.values if self.preparation is not None else None

    @property
    def identity(self) -> str | tuple[str, str] | None:
        """All that decides how it acts: its source and the digest of what it has prepared."""
        return identity(self.source, self.prepared)

    @property
    def name(self) -> str:
        """Name of the folder under ``candidates/``, e.g. ``r02_c03``."""
        return self.key.name

    @property
    def parts(self) -> tuple[Rollout, ...]:
        """All search episodes behind its score, in the parts in which it played them."""
        return self.later if self.rollout is None else (self.rollout, *self.later)

    @cached_property
    def pooled(self) -> Rollout | None:
        """All search episodes behind its score, as one rollout; None where it has not played."""
        if self.rollout is None or not self.later:
            return self.rollout
        return Rollout.pooled(self.parts)

    @cached_property
    def score(self) -> Score:
        """The score of all its search episodes; the worst one where there are none."""
        played = self.pooled
        return Score(failed=True) if self.error is not None or played is None else played.score

    def __repr__(self) -> str:
        return f"<Candidate {self.name}: {self.score}>"


def identity(source: str | None, prepared: str | None) -> str | tuple[str, str] | None:
    """Return a policy's name for digests and lookups: two with the same one act the same."""
    return (source, prepared) if source is not None and prepared else source


def by_score(candidate: Candidate) -> tuple[Score, int, int]:
    """Return the order of candidates: the search score; of equal ones the earliest is the best."""
    return candidate.score, -candidate.key.round, -candidate.key.candidate


def unique(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates without those that are the same policy as an earlier one."""
    policies: dict[object, Candidate] = {}
    for candidate in candidates:
        policies.setdefault(candidate.identity, candidate)
    return list(policies.values())


def best_of(candidates: Iterable[Candidate]) -> Candidate:
    """Return the candidate with the best search score; the earliest where several are equal."""
    return max(candidates, key=by_score)


@dataclass(frozen=True, repr=False)
class Round:
    """One round of candidates, its winner, and notes on it."""

    number: int
    candidates: tuple[Candidate, ...]
    winner: Candidate
    notes: tuple[Note, ...] = ()

    def __repr__(self) -> str:
        count = text.plural(len(self.candidates), "candidate")
        best = f"{self.winner.name} wins, {self.winner.score}"
        return f"<Round {self.number} of {count}: {best}>"


@dataclass(frozen=True)
class MethodTable:
    """Facts of a method's own as they stand after a round, shown without knowing the method.

    Cells are texts, numbers, or None for no value. A table replaces the one of an earlier round
    with the same ``title``; with ``adds`` its rows follow those of earlier rounds. ``text`` is a
    summary of a few words.
    """

    round: int
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    text: str = ""
    adds: bool = False


def best_round(rounds: Sequence[Round]) -> Round:
    """Return the round whose winner has the best search score; the earlier one of two equals."""
    return max(rounds, key=lambda r: (r.winner.score, -r.number))


def with_candidate(rounds: Sequence[Round], candidate: Candidate) -> list[Round]:
    """Return the rounds with a candidate's latest state in its place."""

    def updated(round_: Round) -> Round:
        if round_.number != candidate.key.round:
            return round_
        same = {c.name: c for c in round_.candidates} | {candidate.name: candidate}
        winner = candidate if round_.winner.name == candidate.name else round_.winner
        return replace(round_, candidates=tuple(same.values()), winner=winner)

    return [updated(round_) for round_ in rounds]
