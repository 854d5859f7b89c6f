"""The policies of a round that are not its winner: how they differ from the best, and what of them
was put into words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from promptpo.report.code import DiffRow, side_by_side
from promptpo.report.standings import paired_words
from promptpo.report.tables import headline
from promptpo.store.run import Run
from promptpo.store.standings import meeting
from promptpo.store.trials import RoundRecord, Trial
from promptpo.types import Note

#: A row of a difference takes about this many bytes beside its text.
_ROW = 150

#: The share of lines that two sources must have in common for their difference to tell anything.
_ALIKE = 0.35


@dataclass(frozen=True)
class OtherView:
    """A policy beside the best one: ``base`` names that, ``words`` what is to be said first.

    ``cut``: how many rows of the difference are left out.
    """

    name: str
    words: str
    base: str
    diff: tuple[DiffRow, ...] = ()
    cut: int = 0
    apart: str = ""
    notes: tuple[Note, ...] = ()


def best_after(run: Run, record: RoundRecord) -> Trial | None:
    """The best policy so far when a round had ended, else the round's winner."""
    best = (run.ends.get(record.number) or {}).get("best") or {}
    return run.trials.get(best.get("name", "")) or record.winner


def others(run: Run, record: RoundRecord, room: int) -> tuple[OtherView, ...]:
    """The losers of a round; the difference of each may take ``room`` bytes."""
    base = best_after(run, record)
    if base is None or base.candidate.source is None:
        return ()
    return tuple(
        _view(run, trial, base, room)
        for trial in record.trials
        if trial not in (base, record.winner) and trial.candidate.source is not None
    )


def _view(run: Run, trial: Trial, base: Trial, room: int) -> OtherView:
    met = meeting(run, trial)
    words = headline(trial)
    if met is not None:
        words += f"; against {met.incumbent.name}: {paired_words(met.difference)}"
    old, new = base.candidate.source or "", trial.candidate.source or ""
    diff: tuple[DiffRow, ...] = ()
    apart, cut = "", 0
    if trial.candidate.parents and trial.candidate.kind == "policy":
        apart = f"The same text as {trial.candidate.parents[0]}."
    elif old == new:
        apart = f"The same text as {base.name}."
    elif _shared(old, new) < _ALIKE:
        apart = f"Written anew: it shares few lines with {base.name}."
    else:
        diff = side_by_side(old, new)
        kept = fitting(diff, room)
        diff, cut = diff[:kept], len(diff) - kept
    return OtherView(trial.name, words, base.name, diff, cut, apart, trial.candidate.notes)


def _shared(old: str, new: str) -> float:
    """The share of lines with something in them that two sources have in common."""
    a, b = (Counter(x.strip() for x in s.splitlines() if x.strip()) for s in (old, new))
    return (a & b).total() / max(a.total(), b.total(), 1)


def fitting(rows: Iterable[DiffRow], room: int) -> int:
    """How many rows of a difference fit."""
    count = 0
    for count, row in enumerate(rows, 1):
        room -= _ROW + sum(len(side.html) for side in (row.before, row.after) if side)
        if room < 0:
            return count - 1
    return count
