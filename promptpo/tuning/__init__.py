"""Tuning of a policy's constants, and the record of it for prompts, reports and the log."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import UNSET, UnsetType


@dataclass(frozen=True)
class ConstantFound:
    """One constant, before and after.

    ``matters``: its share, from 0 to 1, of the differences between samples; None where these were
    too few. ``at``: the end of its range at which its value lies, "low" or "high"; else empty.
    """

    name: str
    line: int
    low: float
    high: float
    before: float
    after: float
    log: bool = False
    declared: bool = False
    matters: float | None = None
    at: str = ""


@dataclass(frozen=True)
class Standpoint:
    """The score of the incumbent values after so many environment steps.

    ``error`` is the standard error of the mean return; None of fewer than two episodes.
    ``worst_tenth`` is the mean return of the worst tenth, where that ranks.
    """

    steps: int
    mean_return: float | None
    error: float | None
    success_rate: float | None
    episodes: int
    worst_tenth: float | UnsetType = UNSET

    @property
    def by_tail(self) -> bool:
        """True where the worst tenth ranks."""
        return self.worst_tenth is not UNSET

    @property
    def ranked(self) -> float | None:
        """The return that ranks."""
        return self.mean_return if isinstance(self.worst_tenth, UnsetType) else self.worst_tenth


@dataclass(frozen=True)
class TuningAccount:
    """The record of a tuning.

    ``kept``: the values found were better beyond noise than the written ones, on ``final`` episodes
    of their own; ``difference`` is by how much there, with its standard error. ``open``: they were
    neither better nor worse beyond noise, and their mean is the better one. ``samples`` vectors
    were tried in ``steps`` environment steps; ``failures`` counts those that failed, by error.
    """

    kept: bool
    constants: tuple[ConstantFound, ...]
    history: tuple[Standpoint, ...]
    steps: int
    samples: int
    restarts: int = 0
    final: int = 0
    before: Standpoint | None = None
    after: Standpoint | None = None
    difference: float | None = None
    difference_error: float | None = None
    failures: tuple[tuple[str, int], ...] = ()
    open: bool = False

    @property
    def plays_on(self) -> bool:
        """True where the policy with the values found is a candidate of its own."""
        return self.kept or self.open
