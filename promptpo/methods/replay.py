"""A buffer of episodes to learn from: failures first, those that were shown less often before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from promptpo.prompts.inspo import Shown
from promptpo.types import Candidate, Draw, Round


@dataclass(frozen=True)
class Replayed(Shown):
    """What became of a candidate: its error, or its worst episode in words.

    ``score`` is how it did among its round's, -1 to 1; ``failed``: an error, or no success;
    ``times`` is how often a reflection has been shown it.
    """

    failed: bool
    score: float
    times: int = 0


class ReplayBuffer:
    """Holds ``size`` of them at most; what comes last in their order goes first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.held: list[Replayed] = []

    def add(self, round_: Round, draws: Sequence[Draw]) -> None:
        """Take in a round's candidates, as far as there is anything to tell of them."""
        drawn = {d.candidate: d for d in draws if d.score is not None}
        new = [_replayed(c, drawn[c.name]) for c in round_.candidates if c.name in drawn]
        self.held = _ordered([*(r for r in reversed(new) if r.text), *self.held])[: self.size]

    def take(self, count: int) -> list[Replayed]:
        """The first of them, which count as shown from now on."""
        taken = self.held[:count]
        self.held = _ordered([*(replace(r, times=r.times + 1) for r in taken), *self.held[count:]])
        return taken


def _ordered(held: Sequence[Replayed]) -> list[Replayed]:
    """Less often shown, failed, and worse ones first; of equal ones the later."""
    return sorted(held, key=lambda r: (r.times, not r.failed, r.score))


def _replayed(candidate: Candidate, draw: Draw) -> Replayed:
    told = candidate.name, draw.instruction
    score = draw.score or 0.0
    run = candidate.pooled
    if candidate.error is not None or run is None or candidate.score.failed:
        return Replayed(*told, "Failed", (candidate.error or "").strip(), failed=True, score=score)
    missed = any(e.success is False for e in run.whole)
    note = candidate.notes[0] if candidate.notes else None
    title, text = (note.title, note.text) if note else ("", "")
    return Replayed(*told, title, text, failed=missed, score=score)
