"""What a check finds, and how much it may play to find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: ``ok`` and ``FAIL`` are judgements; ``note`` tells what has no right or wrong.
Verdict = Literal["ok", "FAIL", "note"]


@dataclass(frozen=True)
class Finding:
    """One line of the table: what was checked, how it came out, and the figures behind it."""

    check: str
    verdict: Verdict
    detail: str

    @property
    def failed(self) -> bool:
        """Whether the spec and its environment disagree."""
        return self.verdict == "FAIL"

    def __str__(self) -> str:
        return f"{self.verdict:4}  {self.check:22}  {self.detail}"


def judged(check: str, problems: list[str], detail: str) -> Finding:
    """``detail`` where there is no problem, else the problems."""
    return Finding(check, "FAIL", "; ".join(problems)) if problems else Finding(check, "ok", detail)


@dataclass(frozen=True)
class Effort:
    """How much is played.

    Attributes:
        transitions: transitions on which reward and observations are held against the spec.
        reference_steps: environment steps for each reference value, in whole episodes.
        reference_episodes: (fewest, most) episodes for each reference value.
        start_seeds: seeds of the search and of the test stream whose first observations are met.
    """

    transitions: int
    reference_steps: int
    reference_episodes: tuple[int, int]
    start_seeds: int


FULL = Effort(10_000, 20_000, (20, 2000), 50)
QUICK = Effort(1_000, 1_500, (3, 200), 10)
